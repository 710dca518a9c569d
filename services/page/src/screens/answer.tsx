/** An answer: its text with citations, the passages with the quoted sentences marked, entities, and the trace. */

import { useState } from "preact/hooks";
import { type Turn, stop } from "../asking";
import type { AnswerContext, Citation, Passage, TraceItem, TraceStep } from "../api/types";
import { Button, Marked, Notice, Tag, noteNavigation } from "../parts/basics";
import { formatRoute } from "../router";
import { decimal, documentOf, markSpans, period, placeText, plural, splitCitations, splitCode, toUnits } from "../text";

export function AnswerView({ turn }: { turn: Turn }) {
  const [opened, setOpened] = useState<readonly number[]>([]);
  const { context } = turn;
  const open = (number: number) => {
    setOpened((before) => [...new Set([...before, number])]);
    requestAnimationFrame(() => {
      const passage = document.getElementById(passageId(turn, number));
      passage?.scrollIntoView({ block: "nearest" });
      passage?.querySelector("summary")?.focus({ preventScroll: true });
    });
  };
  return (
    <>
      <div class="answer" aria-busy={turn.status === "asking"}>
        {turn.text ? <AnswerText turn={turn} open={open} /> : turn.status === "asking" ? <p class="busy">Reading the graph …</p> : null}
        {turn.status === "done" && !turn.text ? <p class="empty">No answer was generated.</p> : null}
        {turn.status === "failed" ? <Notice kind="error">{turn.error}</Notice> : null}
        {turn.status === "asking" ? (
          <Button kind="quiet" onClick={() => stop(turn)}>
            Stop
          </Button>
        ) : null}
        {turn.before ? <Before text={turn.before} /> : null}
      </div>
      {context ? <Context turn={turn} context={context} opened={opened} setOpened={setOpened} /> : null}
    </>
  );
}

function passageId(turn: Turn, number: number): string {
  return `passage-${turn.number}-${number}`;
}

function AnswerText({ turn, open }: { turn: Turn; open: (number: number) => void }) {
  return (
    <div class="answer-text">
      {splitCode(turn.text).map(({ text, isCode }, index) =>
        isCode ? <pre key={index}>{text}</pre> : <Cited key={index} text={text} turn={turn} open={open} />,
      )}
    </div>
  );
}

function Cited({ text, turn, open }: { text: string; turn: Turn; open: (number: number) => void }) {
  const passages = turn.context?.passages ?? [];
  return (
    <p>
      {splitCitations(text).map((part, index) => {
        if (typeof part === "string") return part;
        const passage = passages[part - 1];
        if (!passage) return `[${part}]`;
        return (
          <button key={index} type="button" class="cite" onClick={() => open(part)} aria-label={`Source ${part}: ${passage.title || passage.doc_id}`}>
            {part}
          </button>
        );
      })}
    </p>
  );
}

function Before({ text }: { text: string }) {
  return (
    <details class="before">
      <summary>The answer changed</summary>
      <p>
        <span class="label">Before</span> {text}
      </p>
    </details>
  );
}

interface ContextProps {
  readonly turn: Turn;
  readonly context: AnswerContext;
  readonly opened: readonly number[];
  readonly setOpened: (change: (before: readonly number[]) => readonly number[]) => void;
}

function Context({ turn, context, opened, setOpened }: ContextProps) {
  const numbered = context.passages.map((passage, index) => ({ passage, number: index + 1 }));
  const cited = new Set(context.citations.map((each) => each.number));
  const toggle = (number: number, isOpen: boolean) =>
    setOpened((before) => (isOpen ? [...new Set([...before, number])] : before.filter((each) => each !== number)));
  const show = (entry: { passage: Passage; number: number }) => (
    <PassageView
      key={entry.number}
      turn={turn}
      {...entry}
      citations={context.citations.filter((each) => each.number === entry.number)}
      isOpen={opened.includes(entry.number)}
      onToggle={(isOpen) => toggle(entry.number, isOpen)}
    />
  );
  const others = numbered.filter((each) => !cited.has(each.number));
  return (
    <div class="context">
      {cited.size ? <h3>Sources</h3> : null}
      <ol class="passages">{numbered.filter((each) => cited.has(each.number)).map(show)}</ol>
      {others.length ? <h3>{cited.size ? "Also read" : "Passages read"}</h3> : null}
      <ol class="passages">{others.map(show)}</ol>
      <AnswerEntities graph={turn.graph} context={context} />
      {context.trace ? <Trace steps={context.trace as unknown as TraceStep[]} graph={turn.graph} /> : null}
      <p class="meta">{metaOf(context)}</p>
    </div>
  );
}

function metaOf(context: AnswerContext): string {
  const reason = context.mode_reason ? ` (${context.mode_reason})` : "";
  const { llm_calls: calls, prompt_tokens: prompt, completion_tokens: completion, cost } = context.usage;
  const usage = calls ? ` · ${plural(calls, "model call")}, ${plural(prompt + completion, "token")}` : "";
  const price = cost === null || cost === undefined ? "" : ` · cost ${decimal(cost, 4)}`;
  return `Version ${context.version} of the graph · mode ${context.mode}${reason}${usage}${price}`;
}

interface PassageProps {
  readonly turn: Turn;
  readonly passage: Passage;
  readonly number: number;
  readonly citations: readonly Citation[];
  readonly isOpen: boolean;
  readonly onToggle: (isOpen: boolean) => void;
}

function PassageView({ turn, passage, number, citations, isOpen, onToggle }: PassageProps) {
  const spans = citations.map((each) => toUnits(passage.text, each));
  const quote = citations[0]?.quote;
  const quotedPlaces = citations.map((each) => each.place);
  return (
    <li id={passageId(turn, number)} class="passage">
      <details open={isOpen} onToggle={(event) => onToggle(event.currentTarget.open)}>
        <summary>
          <span class="number">{number}</span>
          <span class="passage-title">{passage.title || passage.doc_id}</span>
          <span class="place">{placeText(passage.place, quotedPlaces)}</span>
        </summary>
        <p class="passage-text">
          <Marked pieces={markSpans(passage.text, spans)} />
        </p>
        <p>
          <a href={formatRoute(turn.graph, "documents", passage.doc_id, quote ? { quote } : {})} onClick={noteNavigation}>
            Open the document <span class="id">{passage.doc_id}</span>
          </a>
        </p>
      </details>
    </li>
  );
}

function AnswerEntities({ graph, context }: { graph: string; context: AnswerContext }) {
  const { nodes, edges } = context.subgraph;
  if (!nodes.length) return null;
  const names = new Map(nodes.map((node) => [node.id, node.name]));
  return (
    <details class="part">
      <summary>
        Entities and relations <Tag>{nodes.length}</Tag>
      </summary>
      <p class="chips">
        {nodes.slice(0, 40).map((node) => (
          <a key={node.id} class="chip" href={formatRoute(graph, "entities", node.id)} onClick={noteNavigation}>
            {node.name}
          </a>
        ))}
      </p>
      <ul class="statements">
        {edges.slice(0, 40).map((edge) => (
          <li key={edge.id}>
            {names.get(edge.source) ?? edge.source} <em>{edge.predicate}</em> {names.get(edge.target) ?? edge.target}{" "}
            <span class="place">{period(edge.valid_from, edge.valid_to)}</span>
          </li>
        ))}
      </ul>
      {nodes[0] ? (
        <a href={formatRoute(graph, "graph", nodes[0].id)} onClick={noteNavigation}>
          Show in the graph
        </a>
      ) : null}
    </details>
  );
}

function Trace({ steps, graph }: { steps: readonly TraceStep[]; graph: string }) {
  return (
    <details class="part" open>
      <summary>
        Steps of the retrieval <Tag>{steps.length}</Tag>
      </summary>
      <ol class="trace">
        {steps.map((step, index) => (
          <li key={index}>
            <h4>{step.step}</h4>
            <p>{step.about}</p>
            {step.items?.length ? <TraceItems items={step.items} graph={graph} /> : null}
          </li>
        ))}
      </ol>
    </details>
  );
}

function TraceItems({ items, graph }: { items: readonly TraceItem[]; graph: string }) {
  const most = Math.max(...items.map((item) => item.score), 1e-9);
  return (
    <ul class="trace-items">
      {items.slice(0, 12).map((item) => (
        <li key={item.id}>
          <meter min={0} max={most} value={Math.max(0, item.score)} aria-label={`score ${decimal(item.score, 3)}`} />
          <span class="score">{decimal(item.score, 3)}</span>
          <TraceName item={item} graph={graph} />
        </li>
      ))}
      {items.length > 12 ? <li class="place">and {items.length - 12} more</li> : null}
    </ul>
  );
}

function TraceName({ item, graph }: { item: TraceItem; graph: string }) {
  if (item.id.startsWith("e-")) {
    return (
      <a href={formatRoute(graph, "entities", item.id)} onClick={noteNavigation}>
        {item.name || item.id}
      </a>
    );
  }
  if (item.id.includes("#")) {
    return (
      <a href={formatRoute(graph, "documents", documentOf(item.id))} onClick={noteNavigation}>
        {item.name || documentOf(item.id)}
      </a>
    );
  }
  return <span>{item.name || item.id}</span>;
}
