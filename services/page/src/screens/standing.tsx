/** Standing questions: registered ones, their evidence, and the events of its changes. Hidden where there are none.
 *
 * The list is read at intervals, and the events of a question only after its number of events grew: a stream per
 * question would use up the connections that a browser opens to one host. */

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { announce } from "../announce";
import { ApiError, address, getJson, isAbort, messageOf, sendJson, stream } from "../api/client";
import type { QuestionPage, StandingEvent, StandingQuestion } from "../api/types";
import { useLoad } from "../load";
import { Button, Empty, Notice, Tag, noteNavigation } from "../parts/basics";
import { Confirm } from "../parts/confirm";
import { formatRoute } from "../router";
import { plural } from "../text";

const POLL_MS = 2000;
const SHOWN_EVENTS = 20;
const EARLIER_EVENTS = 5;
const READ_TIMEOUT_MS = 20_000;

/** The events read so far, by graph and question, the newest first. */
const events = signal<ReadonlyMap<string, readonly StandingEvent[]>>(new Map());
const seen = new Map<string, number>();

export function StandingQuestions({ graph }: { graph: string }) {
  const path = address(["v1", "graphs", graph, "questions"]);
  const list = useLoad(path, (abort) => readQuestions(graph, path, abort));
  useEffect(() => {
    if (list.isLoading) return; // after a failure, too: the graph may be new, or the service busy for a moment
    const timer = setTimeout(list.reload, POLL_MS);
    return () => clearTimeout(timer);
  }, [list.isLoading, list.data]);
  if (!list.data) return null;
  return (
    <section aria-labelledby="standing">
      <h2 id="standing">
        Standing questions <Tag>{list.data.length}</Tag>
      </h2>
      <Registration graph={graph} onDone={list.reload} />
      {list.data.length ? null : <Empty>No question is registered. Each event names the documents that changed its evidence.</Empty>}
      <ul class="standing">
        {list.data.map((each) => (
          <QuestionRow key={each.id} graph={graph} registered={each} onRemoved={list.reload} />
        ))}
      </ul>
    </section>
  );
}

/** Return the questions; `null` where the service has none or refuses them to this credential. */
async function readQuestions(graph: string, path: string, abort: AbortSignal): Promise<readonly StandingQuestion[] | null> {
  try {
    const { questions } = await getJson<QuestionPage>(`${path}?limit=100`, abort);
    for (const each of questions) void readNewEvents(graph, each);
    return questions;
  } catch (error) {
    if (error instanceof ApiError && [403, 404, 405].includes(error.status)) return null;
    throw error;
  }
}

/** Read the events of a question that are not known, up to its last one, then close the stream. */
async function readNewEvents(graph: string, question: StandingQuestion): Promise<void> {
  const key = `${graph}\n${question.id}`;
  const known = seen.get(key);
  if (known === question.seq || question.seq === 0) {
    seen.set(key, question.seq);
    return;
  }
  seen.set(key, question.seq);
  const after = known !== undefined && known < question.seq ? known : Math.max(0, question.seq - EARLIER_EVENTS);
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), READ_TIMEOUT_MS);
  try {
    const path = address(["v1", "graphs", graph, "questions", question.id, "events"], { after });
    for await (const { name, data } of stream(path, { signal: abort.signal })) {
      if (name !== "change") continue;
      const event = JSON.parse(data) as StandingEvent;
      add(key, event);
      if (known !== undefined) announce(`The evidence changed for: ${question.question}`);
      if (event.seq >= question.seq) break;
    }
  } catch (error) {
    if (!isAbort(error) && known !== undefined) seen.set(key, known);
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

function add(key: string, event: StandingEvent): void {
  const before = (events.value.get(key) ?? []).filter((each) => each.seq !== event.seq);
  const all = [event, ...before].sort((a, b) => b.seq - a.seq).slice(0, SHOWN_EVENTS);
  events.value = new Map(events.value).set(key, all);
}

function Registration({ graph, onDone }: { graph: string; onDone: () => void }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const register = async (event: Event) => {
    event.preventDefault();
    setProblem("");
    try {
      await sendJson("PUT", address(["v1", "graphs", graph, "questions", idOf(text)]), { question: text.trim() });
      announce("The question is registered.");
      setText("");
      onDone();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <>
      <form class="question-row" onSubmit={register}>
        <label class="field grow">
          <span>Report when the evidence changes for</span>
          <input type="text" required value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder="Who is the captain of Meridian?" />
        </label>
        <Button type="submit" disabled={!text.trim()}>
          Register
        </Button>
      </form>
      {problem ? <Notice kind="error">{problem}</Notice> : null}
    </>
  );
}

/** Return an id made of the question's words, with a random part. */
export function idOf(question: string): string {
  const words = question.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 40);
  return `${words || "question"}-${crypto.getRandomValues(new Uint32Array(1))[0]?.toString(36) ?? "0"}`;
}

function QuestionRow({ graph, registered, onRemoved }: { graph: string; registered: StandingQuestion; onRemoved: () => void }) {
  const [isRemoving, setRemoving] = useState(false);
  const [problem, setProblem] = useState("");
  const received = events.value.get(`${graph}\n${registered.id}`) ?? [];
  const remove = async () => {
    try {
      await sendJson("DELETE", address(["v1", "graphs", graph, "questions", registered.id]));
      onRemoved();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <li class="card">
      <div class="card-head">
        <h3>{registered.question}</h3>
        <Button kind="quiet" label={`Remove the standing question ${registered.question}`} onClick={() => setRemoving(true)}>
          Remove
        </Button>
      </div>
      {problem ? <Notice kind="error">{problem}</Notice> : null}
      <Documents graph={graph} label="Evidence" ids={registered.passages.map((each) => each.doc_id)} />
      <p class="place">
        The same since version {registered.changed_version}, current at version {registered.version}
      </p>
      <ol class="feed">
        {received.map((event) => (
          <li key={event.seq}>
            <span class="number">{event.version}</span>
            <span>{changeOf(event)}</span>
            <Documents graph={graph} label="because of" ids={event.causes.map((each) => each.doc_id)} />
            {event.answer ? <p class="place">{event.answer}</p> : null}
          </li>
        ))}
      </ol>
      {isRemoving ? (
        <Confirm title="Remove this standing question?" text={registered.question} action="Remove" onConfirm={remove} onClose={() => setRemoving(false)} />
      ) : null}
    </li>
  );
}

function Documents({ graph, label, ids }: { graph: string; label: string; ids: readonly string[] }) {
  const unique = [...new Set(ids)];
  if (!unique.length) return null;
  return (
    <span class="chips">
      <span class="label">{label}</span>
      {unique.slice(0, 8).map((id) => (
        <a key={id} class="chip" href={formatRoute(graph, "documents", id)} onClick={noteNavigation}>
          {id}
        </a>
      ))}
      {unique.length > 8 ? <span class="place">and {plural(unique.length - 8, "other")}</span> : null}
    </span>
  );
}

/** Describe an event: the documents whose passages became or ceased to be evidence. */
export function changeOf(event: Pick<StandingEvent, "entered" | "left">): string {
  const names = (word: string, passages: StandingEvent["entered"]) => {
    const ids = [...new Set(passages.map((each) => each.title || each.doc_id))];
    return ids.length ? `${word} ${ids.slice(0, 5).join(", ")}${ids.length > 5 ? ` and ${plural(ids.length - 5, "other")}` : ""}` : "";
  };
  return [names("new:", event.entered), names("no longer:", event.left)].filter(Boolean).join("; ") || "another order of the passages";
}
