/** Questions of this tab and their answers, which remain while the user looks at other screens. */

import { signal } from "@preact/signals";
import { announce } from "./announce";
import { address, isAbort, messageOf, stream } from "./api/client";
import type { Answer, AnswerContext } from "./api/types";

export interface Question {
  readonly question: string;
  readonly mode: string;
  readonly top_k: number;
  readonly explain: boolean;
  readonly as_of: string;
  readonly sources: string;
}

export interface Turn {
  readonly number: number;
  readonly graph: string;
  readonly asked: Question;
  readonly status: "asking" | "done" | "failed";
  readonly text: string;
  readonly context: AnswerContext | null;
  readonly error: string;
  /** The text of the answer before the graph changed; empty when it has not changed. */
  readonly before: string;
}

export const turns = signal<readonly Turn[]>([]);

const running = new Map<number, AbortController>();
let asked = 0;

/** Return the body of the request. Empty fields are left out. */
export function bodyOf(question: Question): Record<string, unknown> {
  const sources = question.sources.split(",").map((each) => each.trim()).filter(Boolean);
  const filters = { ...(question.as_of ? { as_of: question.as_of } : {}), ...(sources.length ? { sources } : {}) };
  return {
    question: question.question,
    mode: question.mode,
    top_k: question.top_k,
    ...(question.explain ? { explain: true } : {}),
    ...(Object.keys(filters).length ? { filters } : {}),
  };
}

/** Ask a question; its turn becomes the first of the list. */
export async function ask(graph: string, question: Question): Promise<void> {
  asked += 1;
  const turn: Turn = { number: asked, graph, asked: question, status: "asking", text: "", context: null, error: "", before: "" };
  turns.value = [turn, ...turns.value].slice(0, 50);
  await run(turn);
}

/** Ask the question of a turn again, in its place, and keep the earlier answer if the new one differs. */
export async function askAgain(turn: Turn): Promise<void> {
  if (running.has(turn.number)) return;
  await run(turn, turn.text);
}

export function stop(turn: Turn): void {
  running.get(turn.number)?.abort();
}

export function forget(number: number): void {
  running.get(number)?.abort();
  turns.value = turns.value.filter((each) => each.number !== number);
}

async function run(turn: Turn, before = ""): Promise<void> {
  const abort = new AbortController();
  running.set(turn.number, abort);
  update(turn.number, { status: "asking", error: "", ...(before ? {} : { text: "" }) });
  try {
    await receive(turn, abort.signal, before);
  } catch (error) {
    const message = isAbort(error) ? "Stopped." : messageOf(error);
    update(turn.number, { status: "failed", error: message });
    announce(message);
  } finally {
    running.delete(turn.number);
  }
}

async function receive(turn: Turn, signal: AbortSignal, before: string): Promise<void> {
  let text = "";
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(bodyOf(turn.asked)), signal };
  for await (const event of stream(address(["v1", "graphs", turn.graph, "query"]), init)) {
    if (event.name === "error") throw new Error(problemIn(event.data));
    if (event.name === "context") update(turn.number, { context: JSON.parse(event.data) as AnswerContext });
    if (event.name === "token") {
      text += (JSON.parse(event.data) as { text: string }).text;
      if (!before) update(turn.number, { text });
    }
    if (event.name === "answer") {
      const answer = JSON.parse(event.data) as Answer;
      const changed = before !== "" && before !== answer.answer;
      update(turn.number, { status: "done", text: answer.answer, context: answer, ...(changed ? { before } : {}) });
      announce(changed ? "The answer changed." : before ? "" : "The answer is complete.");
      return;
    }
  }
  throw new Error("The connection ended before the answer was complete. Ask again.");
}

function problemIn(data: string): string {
  return (JSON.parse(data) as { error: { message: string } }).error.message;
}

function update(number: number, change: Partial<Turn>): void {
  turns.value = turns.value.map((each) => (each.number === number ? { ...each, ...change } : each));
}
