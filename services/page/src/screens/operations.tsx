/** The state of the service: components, lag, dead letters with retry, and costs. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { announce } from "../announce";
import { ApiError, address, getJson, messageOf, sendJson } from "../api/client";
import { credential, credentialHeader } from "../api/session";
import type { Health, Letter, LetterList, Receipt, Stats } from "../api/types";
import { useLoad } from "../load";
import { usePages } from "../pages";
import { Busy, Button, Empty, ErrorNotice, Facts, Notice, Tag, Title } from "../parts/basics";
import { Confirm } from "../parts/confirm";
import { bytes, count, dateTime, decimal, seconds } from "../text";
import { stats, statsError, useWatch } from "../watch";

export function OperationsScreen({ graph }: { graph: string }) {
  useWatch(graph);
  return (
    <>
      <Title text="Operations" />
      {statsError.value ? <ErrorNotice error={statsError.value} /> : null}
      <Components />
      {stats.value ? <Processing stats={stats.value} /> : null}
      <DeadLetters graph={graph} />
      {stats.value ? <Costs stats={stats.value} /> : null}
      {stats.value ? <Indexes stats={stats.value} /> : null}
    </>
  );
}

/** A service that is not ready answers 503 with the same body. */
async function readHealth(abort: AbortSignal): Promise<Health> {
  const response = await fetch("readyz", { cache: "no-store", signal: abort, headers: credentialHeader(credential.value) });
  return (await response.json()) as Health;
}

function Components() {
  const health = useLoad("health", readHealth);
  return (
    <section aria-labelledby="components">
      <div class="card-head">
        <h2 id="components">Components</h2>
        <Button kind="quiet" onClick={health.reload}>
          Check again
        </Button>
      </div>
      {health.isLoading && !health.data ? <Busy /> : null}
      {health.data ? <Notice kind={health.data.ready ? "good" : "error"}>{health.data.ready ? "The service is ready." : "The service is not ready."}</Notice> : null}
      <Facts rows={Object.entries(health.data?.components ?? {})} />
    </section>
  );
}

function Processing({ stats: current }: { stats: Stats }) {
  const times = current.event_to_queryable_ms;
  const time = (name: string) => (times[name] === undefined ? "–" : seconds(times[name] / 1000));
  return (
    <section aria-labelledby="processing">
      <h2 id="processing">Processing</h2>
      <Facts
        rows={[
          ["Being processed", count(current.lag)],
          ["Oldest of them", current.lag ? seconds(current.freshness_s) : "–"],
          ["From event to answer", `p50 ${time("p50")}, p95 ${time("p95")}, p99 ${time("p99")}`],
          ...Object.entries(current.revisions).map(([state, number]) => [`Revisions ${state}`, count(number)] as [string, string]),
        ]}
      />
    </section>
  );
}

function DeadLetters({ graph }: { graph: string }) {
  const [round, setRound] = useState(0);
  const pages = usePages<Letter>(`${graph} ${round}`, async (after, abort) => {
    const page = await getJson<LetterList>(address(["v1", "graphs", graph, "dead-letters"], { limit: 50, after }), abort);
    return { items: page.letters, next: page.next };
  });
  return (
    <section aria-labelledby="letters">
      <h2 id="letters">
        Dead letters <Tag>{pages.items.length}</Tag>
      </h2>
      <p class="lead">Records that could not be processed. Nothing is lost: each can be retried.</p>
      {pages.error ? pages.error instanceof ApiError && pages.error.status === 403 ? <Empty>The credential does not grant access to them.</Empty> : <ErrorNotice error={pages.error} retry={pages.restart} /> : null}
      {!pages.isLoading && !pages.items.length && !pages.error ? <Empty>None.</Empty> : null}
      <ul class="rows">
        {pages.items.map((letter) => (
          <LetterRow key={letter.id} graph={graph} letter={letter} onDone={() => setRound((before) => before + 1)} />
        ))}
      </ul>
      {pages.hasMore ? <Button onClick={pages.more}>Show more</Button> : null}
    </section>
  );
}

function LetterRow({ graph, letter, onDone }: { graph: string; letter: Letter; onDone: () => void }) {
  const [problem, setProblem] = useState("");
  const [isDiscarding, setDiscarding] = useState(false);
  const path = address(["v1", "graphs", graph, "dead-letters", letter.id]);
  const settle = async (send: () => Promise<unknown>, done: string) => {
    try {
      await send();
      announce(done);
      onDone();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <li class="row letter">
      <div>
        <strong>{letter.doc_id || letter.id}</strong> <span class="place">stage {letter.stage}, {letter.attempts} attempts, {dateTime(letter.buried_at)}, {bytes(letter.size_bytes)}</span>
        <p>{letter.reason}</p>
        {problem ? <Notice kind="error">{problem}</Notice> : null}
      </div>
      <div class="actions">
        <Button label={`Retry ${letter.doc_id || letter.id}`} onClick={() => void settle(() => sendJson<Receipt>("POST", `${path}/retry`), "Published again.")}>
          Retry
        </Button>
        <Button kind="quiet" label={`Discard ${letter.doc_id || letter.id}`} onClick={() => setDiscarding(true)}>
          Discard
        </Button>
      </div>
      {isDiscarding ? (
        <Confirm
          title="Discard this dead letter?"
          text="It is marked as resolved and no longer listed. The document is not published again."
          action="Discard"
          onConfirm={() => void settle(() => sendJson("DELETE", path), "Discarded.")}
          onClose={() => setDiscarding(false)}
        />
      ) : null}
    </li>
  );
}

function Costs({ stats: current }: { stats: Stats }) {
  const entries = Object.entries(current.spending);
  return (
    <section aria-labelledby="costs">
      <h2 id="costs">Costs</h2>
      <Facts rows={Object.entries(current.models).map(([role, model]) => [`Model of ${role}`, model] as const)} />
      {entries.length ? (
        <table class="list">
          <caption class="visually-hidden">Use of models by stage</caption>
          <thead>
            <tr>
              <th scope="col">Stage</th>
              <th scope="col">Use</th>
            </tr>
          </thead>
          <tbody>
            {entries.map(([stage, use]) => (
              <tr key={stage}>
                <td>{stage}</td>
                <td>
                  <Uses use={use} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <Empty>No use of models is recorded.</Empty>
      )}
    </section>
  );
}

function Uses({ use }: { use: Readonly<Record<string, unknown>> }): ComponentChildren {
  const text = (value: unknown) => (typeof value === "number" ? decimal(value, 4) : typeof value === "string" ? value : JSON.stringify(value));
  return Object.entries(use)
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${text(value)}`)
    .join(", ");
}

function Indexes({ stats: current }: { stats: Stats }) {
  return (
    <section aria-labelledby="indexes">
      <h2 id="indexes">Indexes</h2>
      <Facts
        rows={Object.entries(current.indexes).map(([name, index]) => [
          name,
          `${String(index["kind"])}, ${count(Number(index["live"] ?? 0))} vectors, ${bytes(Number(index["size_bytes"] ?? 0))}`,
        ])}
      />
    </section>
  );
}
