/** Questions to a graph: the answer arrives piece by piece, and each citation opens its passage. */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type Question, type Turn, ask, askAgain, forget, turns } from "../asking";
import { MODES } from "../modes";
import { Button, Field, Select, Title } from "../parts/basics";
import { AnswerView } from "./answer";
import { stats, useWatch } from "../watch";

const draft = signal<Question>({ question: "", mode: "auto", top_k: 5, explain: false, as_of: "", sources: "" });
const isCurrent = signal(false);

export function AskScreen({ graph }: { graph: string }) {
  const shown = turns.value.filter((turn) => turn.graph === graph);
  const [latest, ...earlier] = shown;
  return (
    <>
      <Title text="Ask" lead="Every answer names the passages it rests on." />
      <QuestionForm graph={graph} />
      {latest ? <LatestAnswer turn={latest} /> : null}
      {earlier.length ? <EarlierQuestions turns={earlier} /> : null}
    </>
  );
}

function QuestionForm({ graph }: { graph: string }) {
  const set = (change: Partial<Question>) => (draft.value = { ...draft.value, ...change });
  const submit = (event: Event) => {
    event.preventDefault();
    if (draft.value.question.trim()) void ask(graph, { ...draft.value, question: draft.value.question.trim() });
  };
  return (
    <form class="question" onSubmit={submit}>
      <div class="question-row">
        <label class="field grow">
          <span>Question</span>
          <input
            type="text"
            name="question"
            required
            autocomplete="off"
            placeholder="Who signed the contract?"
            value={draft.value.question}
            onInput={(event) => set({ question: event.currentTarget.value })}
          />
        </label>
        <Button kind="main" type="submit">
          Ask
        </Button>
      </div>
      <details class="options">
        <summary>Options</summary>
        <div class="fields">
          <Select label="Mode" value={draft.value.mode} options={MODES} onChange={(mode) => set({ mode })} />
          <Field label="Passages">
            <input type="number" min={1} max={100} value={draft.value.top_k} onInput={(event) => set({ top_k: Number(event.currentTarget.value) || 5 })} />
          </Field>
          <Field label="As of" hint="A date such as 2019-05: what held then">
            <input type="text" value={draft.value.as_of} onInput={(event) => set({ as_of: event.currentTarget.value.trim() })} />
          </Field>
          <Field label="Sources" hint="Only these, separated by commas">
            <input type="text" value={draft.value.sources} onInput={(event) => set({ sources: event.currentTarget.value })} />
          </Field>
          <label class="check">
            <input type="checkbox" checked={draft.value.explain} onChange={(event) => set({ explain: event.currentTarget.checked })} />
            <span>Explain the retrieval</span>
          </label>
        </div>
      </details>
    </form>
  );
}

function LatestAnswer({ turn }: { turn: Turn }) {
  return (
    <section class="card answer-card" aria-labelledby="latest">
      <div class="card-head">
        <h2 id="latest">{turn.asked.question}</h2>
        <div class="actions">
          <label class="check">
            <input type="checkbox" checked={isCurrent.value} onChange={(event) => (isCurrent.value = event.currentTarget.checked)} />
            <span>Keep current</span>
          </label>
          <Button onClick={() => void askAgain(turn)} disabled={turn.status === "asking"}>
            Ask again
          </Button>
        </div>
      </div>
      {isCurrent.value ? <KeepCurrent turn={turn} /> : null}
      <AnswerView key={turn.number} turn={turn} />
    </section>
  );
}

/** Asks the latest question again after each change of the graph. */
function KeepCurrent({ turn }: { turn: Turn }) {
  useWatch(turn.graph);
  const latest = useRef(turn);
  latest.current = turn;
  const version = stats.value?.version ?? 0;
  useEffect(() => {
    const { status, context } = latest.current;
    if (status === "done" && context && version > context.version) void askAgain(latest.current);
  }, [version, turn.status]);
  return null;
}

function EarlierQuestions({ turns: earlier }: { turns: readonly Turn[] }) {
  return (
    <section aria-labelledby="earlier">
      <h2 id="earlier">Earlier questions</h2>
      <ul class="rows">
        {earlier.map((turn) => (
          <li key={turn.number} class="row">
            <details>
              <summary>{turn.asked.question}</summary>
              <AnswerView turn={turn} />
            </details>
            <Button kind="quiet" label={`Remove the question ${turn.asked.question}`} onClick={() => forget(turn.number)}>
              Remove
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
