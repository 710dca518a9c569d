/** Requests to the service that served this page: same origin, relative addresses, the credential in a header. */

import { signal } from "@preact/signals";
import { type ServerEvent, parseEvents, textOf } from "./events";
import { credential, credentialHeader, signInReason } from "./session";

/** An error response of the service. `status` 0: the service cannot be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field = "",
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export const isReachable = signal(true);
/** The number of times that the service became reachable again; what a screen shows is read again then. */
export const reconnections = signal(0);

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Return the address of a path's segments, each encoded, with the parameters that have a value. */
export function address(segments: readonly (string | number)[], query: Query = {}): string {
  const path = segments.map((each) => encodeURIComponent(String(each))).join("/");
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

export async function getJson<T>(path: string, abort?: AbortSignal): Promise<T> {
  return (await (await send(path, { signal: abort ?? null })).json()) as T;
}

export async function sendJson<T>(method: string, path: string, body?: unknown, abort?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  const text = body === undefined ? null : JSON.stringify(body);
  const response = await send(path, { method, headers, body: text, signal: abort ?? null });
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** Yield the events of a stream until it ends. */
export async function* stream(path: string, init: RequestInit): AsyncGenerator<ServerEvent> {
  const headers = { ...(init.headers as Record<string, string>), accept: "text/event-stream" };
  const response = await send(path, { ...init, headers });
  try {
    yield* parseEvents(textOf(response));
  } catch (error) {
    if (!isAbort(error)) watchReturn();
    throw isAbort(error) ? error : unreachable();
  }
}

export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    const headers = { ...(init.headers as Record<string, string>), ...credentialHeader(credential.value) };
    response = await fetch(path, { ...init, headers, credentials: "same-origin", cache: "no-store", redirect: "error" });
  } catch (error) {
    if (isAbort(error)) throw error;
    watchReturn();
    throw unreachable();
  }
  if (response.ok) return response;
  const error = await errorOf(response);
  if (error.code === "starting") watchReturn();
  if (error.status === 401) signInReason.value = error.message;
  throw error;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function messageOf(error: unknown): string {
  if (error instanceof ApiError && error.field) return `${error.field}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

function unreachable(): ApiError {
  return new ApiError(0, "unreachable", "The service cannot be reached. This page tries again by itself.");
}

async function errorOf(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string; field?: string } };
    return new ApiError(response.status, error.code, error.message, error.field ?? "");
  } catch {
    return new ApiError(response.status, "refused", `The service answered with status ${response.status}.`);
  }
}

const PROBE_MS = [500, 1000, 2000, 4000];
/** Statuses of a service that is starting, and of a proxy whose service is unreachable. */
const UNAVAILABLE = new Set([502, 503, 504]);

/** Probe the service until it answers; one probe runs at a time. */
function watchReturn(): void {
  if (!isReachable.value) return;
  isReachable.value = false;
  void probe(0);
}

async function probe(attempt: number): Promise<void> {
  await new Promise((done) => setTimeout(done, PROBE_MS[Math.min(attempt, PROBE_MS.length - 1)]));
  try {
    const response = await fetch("v1/graphs?limit=1", { cache: "no-store", headers: credentialHeader(credential.value) });
    if (UNAVAILABLE.has(response.status)) throw new Error(String(response.status));
  } catch {
    return probe(attempt + 1);
  }
  isReachable.value = true;
  reconnections.value += 1;
}
