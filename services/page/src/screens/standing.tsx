/** Standing questions: registered ones, with the events that each fires. Hidden while the service has none. */

import { useEffect, useState } from "preact/hooks";
import { announce } from "../announce";
import { ApiError, address, getJson, isAbort, messageOf, sendJson, stream } from "../api/client";
import { useLoad } from "../load";
import { Button, Empty, Notice, Tag } from "../parts/basics";
import { Confirm } from "../parts/confirm";
import { formatRoute } from "../router";
import { plural } from "../text";

interface Registered {
  readonly id: string;
  readonly question: string;
  readonly mode?: string;
}

interface QuestionEvent {
  readonly seq: number;
  readonly version: number;
  readonly causes?: readonly { doc_id: string; revision: number }[];
  readonly entered?: readonly { doc_id: string; text?: string }[];
  readonly left?: readonly { doc_id: string; text?: string }[];
  readonly answer?: string;
}

export function StandingQuestions({ graph }: { graph: string }) {
  const path = address(["v1", "graphs", graph, "questions"]);
  const list = useLoad(path, (abort) => getJson<{ questions: Registered[] }>(path, abort).catch(onMissing));
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  if (!list.data) return null;
  const add = async (event: Event) => {
    event.preventDefault();
    setProblem("");
    try {
      await sendJson("PUT", address(["v1", "graphs", graph, "questions", idOf(text)]), { question: text.trim() });
      setText("");
      list.reload();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <section aria-labelledby="standing">
      <h2 id="standing">
        Standing questions <Tag>{list.data.questions.length}</Tag>
      </h2>
      <form class="question-row" onSubmit={add}>
        <label class="field grow">
          <span>Notify when the evidence changes for</span>
          <input type="text" required value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder="Who is the captain of Meridian?" />
        </label>
        <Button type="submit" disabled={!text.trim()}>
          Register
        </Button>
      </form>
      {problem ? <Notice kind="error">{problem}</Notice> : null}
      {list.data.questions.length ? null : <Empty>No question is registered.</Empty>}
      <ul class="standing">
        {list.data.questions.map((each) => (
          <QuestionRow key={each.id} graph={graph} registered={each} onRemoved={list.reload} />
        ))}
      </ul>
    </section>
  );
}

/** Return an id made of the question's words, with a random part. */
export function idOf(question: string): string {
  const words = question.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 40);
  return `${words || "question"}-${crypto.getRandomValues(new Uint32Array(1))[0]?.toString(36) ?? "0"}`;
}

function onMissing(error: unknown): { questions: Registered[] } | undefined {
  if (error instanceof ApiError && [403, 404, 405].includes(error.status)) return undefined;
  throw error;
}

function QuestionRow({ graph, registered, onRemoved }: { graph: string; registered: Registered; onRemoved: () => void }) {
  const [events, setEvents] = useState<readonly QuestionEvent[]>([]);
  const [isRemoving, setRemoving] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    void follow(graph, registered.id, abort.signal, (event) => {
      setEvents((before) => [event, ...before.filter((each) => each.seq !== event.seq)].slice(0, 50));
      announce(`The evidence changed for: ${registered.question}`);
    });
    return () => abort.abort();
  }, [graph, registered.id]);
  const remove = async () => {
    await sendJson("DELETE", address(["v1", "graphs", graph, "questions", registered.id])).catch(() => undefined);
    onRemoved();
  };
  return (
    <li class="card">
      <div class="card-head">
        <h3>{registered.question}</h3>
        <Button kind="quiet" label={`Remove the standing question ${registered.question}`} onClick={() => setRemoving(true)}>
          Remove
        </Button>
      </div>
      {events.length ? null : <p class="place">No change of its evidence since this page was opened.</p>}
      <ol class="feed">
        {events.map((event) => (
          <li key={event.seq}>
            <span class="number">{event.version}</span>
            <span>
              {[entries("new", event.entered), entries("no longer", event.left)].filter(Boolean).join("; ") || "another order of passages"}
              {event.answer ? <p class="answer-text">{event.answer}</p> : null}
            </span>
            <span class="chips">
              {(event.causes ?? []).map((cause) => (
                <a key={cause.doc_id} class="chip" href={formatRoute(graph, "documents", cause.doc_id)}>
                  {cause.doc_id}
                </a>
              ))}
            </span>
          </li>
        ))}
      </ol>
      {isRemoving ? (
        <Confirm title="Remove this standing question?" text={registered.question} action="Remove" onConfirm={remove} onClose={() => setRemoving(false)} />
      ) : null}
    </li>
  );
}

function entries(word: string, passages: readonly { doc_id: string }[] | undefined): string {
  if (!passages?.length) return "";
  const ids = [...new Set(passages.map((each) => each.doc_id))];
  return `${word}: ${ids.slice(0, 5).join(", ")}${ids.length > 5 ? ` and ${plural(ids.length - 5, "other")}` : ""}`;
}

async function follow(graph: string, id: string, abort: AbortSignal, receive: (event: QuestionEvent) => void): Promise<void> {
  let lastId = "";
  while (!abort.aborted) {
    try {
      const headers: Record<string, string> = lastId ? { "last-event-id": lastId } : {};
      for await (const event of stream(address(["v1", "graphs", graph, "questions", id, "events"]), { headers, signal: abort })) {
        lastId = event.id || lastId;
        const value = JSON.parse(event.data) as QuestionEvent;
        if (typeof value.seq === "number") receive(value);
      }
    } catch (error) {
      if (isAbort(error) || (error instanceof ApiError && error.status === 404)) return;
      if (error instanceof ApiError && error.status === 410) lastId = "";
    }
    await new Promise((done) => setTimeout(done, 1500));
  }
}
