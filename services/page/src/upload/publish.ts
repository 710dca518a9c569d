/** Publishing of files in batches, and the wait until the graph includes them. */

import { signal } from "@preact/signals";
import { announce } from "../announce";
import { ApiError, address, getJson, messageOf, sendJson } from "../api/client";
import type { BatchReceipt, TokenState } from "../api/types";
import { loadGraphs } from "../graphs";
import { plural } from "../text";
import { type FoundFile, type NewDocument, readFile } from "./files";

export interface Problem {
  readonly name: string;
  readonly reason: string;
}

export interface Progress {
  readonly graph: string;
  readonly stage: "reading" | "waiting" | "done" | "failed";
  readonly files: number;
  readonly read: number;
  readonly accepted: number;
  readonly problems: readonly Problem[];
  readonly error: string;
}

export const progress = signal<Progress | null>(null);
/** The number of publications that ended; lists of documents are read again then. */
export const published = signal(0);

const BATCH_DOCUMENTS = 100;
const BATCH_CHARS = 1 << 20;
const WAIT_S = 20;

/** Publish files to a graph and wait until it includes them. */
export async function publishFiles(graph: string, files: readonly FoundFile[]): Promise<void> {
  progress.value = { graph, stage: "reading", files: files.length, read: 0, accepted: 0, problems: [], error: "" };
  try {
    const token = await sendAll(graph, files);
    update({ stage: "waiting" });
    if (token) await waitFor(graph, token);
    update({ stage: "done" });
    const { accepted, problems } = progress.value;
    announce(`${plural(accepted, "document")} in the graph${problems.length ? `, ${plural(problems.length, "file")} refused` : ""}.`);
  } catch (error) {
    update({ stage: "failed", error: messageOf(error) });
  }
  published.value += 1;
  await loadGraphs();
}

/** Return when the graph includes a token. The service waits for some seconds per request. */
export async function waitFor(graph: string, token: string, abort?: AbortSignal): Promise<void> {
  for (;;) {
    const state = await getJson<TokenState>(address(["v1", "graphs", graph, "tokens", token], { wait_s: WAIT_S }), abort).catch(onMissing);
    if (state.reached) return;
  }
}

/** A new graph does not exist before its first document is in it. */
async function onMissing(error: unknown): Promise<TokenState> {
  if (!(error instanceof ApiError) || ![404, 504].includes(error.status)) throw error;
  await new Promise((done) => setTimeout(done, 300));
  return { reached: false, version: 0 };
}

async function sendAll(graph: string, files: readonly FoundFile[]): Promise<string> {
  let token = "";
  let batch: NewDocument[] = [];
  let chars = 0;
  const flush = async () => {
    if (batch.length) token = (await sendBatch(graph, batch)) || token;
    batch = [];
    chars = 0;
  };
  for (const file of files) {
    const result = await readFile(file);
    if ("problem" in result) note({ name: file.path, reason: result.problem });
    else {
      for (const document of result.documents) {
        if (batch.length >= BATCH_DOCUMENTS || (batch.length && chars + document.text.length > BATCH_CHARS)) await flush();
        batch.push(document);
        chars += document.text.length;
      }
    }
    update({ read: (progress.value?.read ?? 0) + 1 });
  }
  await flush();
  return token;
}

async function sendBatch(graph: string, batch: readonly NewDocument[]): Promise<string> {
  try {
    const receipt = await sendJson<BatchReceipt>("POST", address(["v1", "graphs", graph, "documents"]), batch);
    for (const each of receipt.rejected) note({ name: each.id ?? batch[each.index]?.id ?? "", reason: `${each.field} ${each.message}` });
    update({ accepted: (progress.value?.accepted ?? 0) + receipt.accepted });
    return receipt.token;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error;
    for (const each of batch) note({ name: each.id, reason: messageOf(error) });
    return "";
  }
}

function note(problem: Problem): void {
  update({ problems: [...(progress.value?.problems ?? []), problem] });
}

function update(change: Partial<Progress>): void {
  if (progress.value) progress.value = { ...progress.value, ...change };
}
