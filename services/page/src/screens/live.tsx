/** What happens in a graph now: counters, lag, the change feed and standing questions. */

import { signal } from "@preact/signals";
import { ErrorNotice, Busy, Empty, Tag, Title, noteNavigation } from "../parts/basics";
import type { Change, Difference, Stats } from "../api/types";
import { formatRoute } from "../router";
import { count, decimal, plural, seconds } from "../text";
import { changes, stats, statsError, useWatch } from "../watch";
import { StandingQuestions } from "./standing";

const COUNTERS: readonly (readonly [string, string])[] = [
  ["documents", "Documents"],
  ["chunks", "Passages"],
  ["entities", "Entities"],
  ["relations", "Relations"],
  ["edges", "Edges"],
  ["merged_labels", "Merged spellings"],
];

const isPaused = signal(false);

export function LiveScreen({ graph }: { graph: string }) {
  useWatch(graph);
  const current = stats.value;
  return (
    <>
      <Title text="Live" lead="Updates by itself while documents stream in." />
      {statsError.value && !current ? <ErrorNotice error={statsError.value} /> : null}
      {current ? <Counters stats={current} /> : statsError.value ? null : <Busy />}
      {changes.value === null ? null : <Feed graph={graph} changes={changes.value} />}
      <StandingQuestions graph={graph} />
    </>
  );
}

function Counters({ stats: current }: { stats: Stats }) {
  return (
    <>
      <dl class="counters">
        {COUNTERS.map(([key, name]) => (
          <div key={key}>
            <dt>{name}</dt>
            <dd>{count(current.counts[key] ?? 0)}</dd>
          </div>
        ))}
      </dl>
      <dl class="counters small">
        <div>
          <dt>Version</dt>
          <dd>{count(current.version)}</dd>
        </div>
        <div>
          <dt>Being processed</dt>
          <dd>{count(current.lag)}</dd>
        </div>
        <div>
          <dt>Oldest of them</dt>
          <dd>{current.lag ? seconds(current.freshness_s) : "–"}</dd>
        </div>
        <div>
          <dt>From event to answer, median</dt>
          <dd>{current.event_to_queryable_ms["p50"] === undefined ? "–" : seconds(current.event_to_queryable_ms["p50"] / 1000)}</dd>
        </div>
      </dl>
    </>
  );
}

const paused = signal<readonly Change[]>([]);

function Feed({ graph, changes: received }: { graph: string; changes: readonly Change[] }) {
  const shown = isPaused.value ? paused.value : received;
  return (
    <section aria-labelledby="feed">
      <div class="card-head">
        <h2 id="feed">
          Changes <Tag>{received.length}</Tag>
        </h2>
        <label class="check">
          <input
            type="checkbox"
            checked={isPaused.value}
            onChange={(event) => {
              paused.value = received;
              isPaused.value = event.currentTarget.checked;
            }}
          />
          <span>Pause the list</span>
        </label>
      </div>
      {shown.length ? null : <Empty>No change since this page was opened.</Empty>}
      <ol class="feed">
        {shown.slice(0, 100).map((change) => (
          <ChangeRow key={change.token + change.version} graph={graph} change={change} />
        ))}
      </ol>
    </section>
  );
}

function ChangeRow({ graph, change }: { graph: string; change: Change }) {
  const documents = change.documents ?? [];
  return (
    <li>
      <span class="number">{change.version}</span>
      <span class="chips">
        {documents.slice(0, 8).map((each) => (
          <a key={each.id} class={`chip ${each.state}`} href={formatRoute(graph, "documents", each.id)} onClick={noteNavigation}>
            {each.state === "deleted" ? "− " : ""}
            {each.id}
          </a>
        ))}
        {documents.length > 8 ? <span class="place">and {documents.length - 8} more</span> : null}
      </span>
      {summaryOf(change) ? (
        <details class="change">
          <summary class="place">{summaryOf(change)}</summary>
          <ChangeDetails graph={graph} change={change} />
        </details>
      ) : null}
    </li>
  );
}

const SHOWN_DETAILS = 30;

function ChangeDetails({ graph, change }: { graph: string; change: Change }) {
  const entities = [...signed("+", change.entities?.added), ...signed("−", change.entities?.removed)];
  const relations = [...signed("+", change.relations?.added), ...signed("−", change.relations?.removed)];
  return (
    <>
      <p class="chips">
        {entities.slice(0, SHOWN_DETAILS).map(([sign, entity]) =>
          sign === "+" ? (
            <a key={entity.id} class="chip" href={formatRoute(graph, "entities", entity.id)} onClick={noteNavigation}>
              + {entity.name}
            </a>
          ) : (
            <span key={entity.id} class="chip deleted">
              − {entity.name}
            </span>
          ),
        )}
      </p>
      <ul class="statements">
        {relations.slice(0, SHOWN_DETAILS).map(([sign, relation]) => (
          <li key={sign + relation.id}>
            {sign} {relation.subject_name} <em>{relation.predicate}</em> {relation.object_name}
          </li>
        ))}
        {(change.merges ?? []).slice(0, SHOWN_DETAILS).map((merge) => (
          <li key={merge.into}>
            merged into {merge.name}:{" "}
            {(merge.evidence ?? []).map((each) => `${each.a} = ${each.b} (${each.rule}, ${decimal(each.score)})`).join("; ")}
          </li>
        ))}
      </ul>
    </>
  );
}

function signed<T>(sign: "+" | "−", items: readonly T[] | undefined): ["+" | "−", T][] {
  return (items ?? []).map((item) => [sign, item]);
}

export function summaryOf(change: Change): string {
  const parts = [
    change.rebuilt ? "rebuilt" : "",
    ...differenceText(change.entities, "entity", "entities"),
    ...differenceText(change.relations, "relation", "relations"),
    change.merges?.length ? plural(change.merges.length, "merge") : "",
    change.splits?.length ? plural(change.splits.length, "split") : "",
  ];
  return parts.filter(Boolean).join(", ");
}

function differenceText(difference: Difference<unknown> | undefined, noun: string, many: string): string[] {
  const text = (sign: string, items: readonly unknown[] | undefined) => (items?.length ? `${sign}${plural(items.length, noun, many)}` : "");
  return [text("+", difference?.added), text("−", difference?.removed), text("~", difference?.changed)];
}
