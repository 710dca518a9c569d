/** The version of a graph, watched while a screen needs it: by the change feed where the service has one, else by its
 * counters. One watcher serves the whole page. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiError, address, getJson, isAbort, isReachable, stream } from "./api/client";
import type { Change, Stats } from "./api/types";

export const stats = signal<Stats | null>(null);
export const statsError = signal<unknown>(null);
/** The changes received since the page was opened, the newest first. `null`: the service has no change feed. */
export const changes = signal<readonly Change[] | null>([]);

const KEPT_CHANGES = 200;
const POLL_MS = 2000;
const RETRY_MS = 1500;

let users = 0;
let watched = "";
let stopWatching: (() => void) | null = null;

/** Keep `stats` and `changes` of a graph current while the calling screen is shown. */
export function useWatch(graph: string): void {
  useEffect(() => {
    users += 1;
    if (watched !== graph || !stopWatching) start(graph);
    return () => {
      users -= 1;
      queueMicrotask(() => {
        if (users === 0) stop();
      });
    };
  }, [graph]);
}

function stop(): void {
  stopWatching?.();
  stopWatching = null;
}

function start(graph: string): void {
  stop();
  if (watched !== graph) {
    stats.value = null;
    changes.value = [];
  }
  watched = graph;
  const abort = new AbortController();
  void poll(graph, abort.signal);
  void follow(graph, abort.signal);
  stopWatching = () => abort.abort();
}

async function poll(graph: string, abort: AbortSignal): Promise<void> {
  while (!abort.aborted) {
    if (document.visibilityState === "visible") {
      try {
        stats.value = await getJson<Stats>(address(["v1", "graphs", graph, "stats"]), abort);
        statsError.value = null;
      } catch (error) {
        if (!isAbort(error)) statsError.value = error;
      }
    }
    await pause(POLL_MS, abort);
  }
}

async function follow(graph: string, abort: AbortSignal): Promise<void> {
  let lastId = "";
  while (!abort.aborted) {
    try {
      const headers: Record<string, string> = lastId ? { "last-event-id": lastId } : {};
      for await (const event of stream(address(["v1", "graphs", graph, "changes"]), { headers, signal: abort })) {
        lastId = event.id || lastId;
        if (event.name === "error") break;
        receive(JSON.parse(event.data) as Change);
      }
    } catch (error) {
      if (isAbort(error)) return;
      if (error instanceof ApiError && (error.status === 404 || error.status === 405 || error.status === 403)) {
        changes.value = null;
        return;
      }
      if (error instanceof ApiError && error.status === 410) lastId = "";
    }
    await pause(isReachable.value ? RETRY_MS : POLL_MS, abort);
  }
}

function receive(change: Change): void {
  if (typeof change.version !== "number") return;
  changes.value = [change, ...(changes.value ?? [])].slice(0, KEPT_CHANGES);
  const known = stats.value;
  if (known && change.version > known.version) stats.value = { ...known, version: change.version };
}

function pause(durationMs: number, abort: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, durationMs);
    abort.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    });
  });
}
