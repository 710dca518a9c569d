/** One entity: description, facts with validity and sources, spellings, and the evidence of merges. */

import { address, getJson } from "../api/client";
import type { DocumentStatus, EntityDetails, Fact, Neighbourhood, Relation } from "../api/types";
import { useLoad } from "../load";
import { Busy, ErrorNotice, Facts, State, Tag, Title, noteNavigation } from "../parts/basics";
import { formatRoute } from "../router";
import { count, decimal, documentOf, period, plural, shownOf } from "../text";

const MAX_SOURCES = 12;

export function EntityScreen({ graph, id }: { graph: string; id: string }) {
  const path = address(["v1", "graphs", graph, "entities", id]);
  const details = useLoad(path, (abort) => getJson<EntityDetails>(path, abort));
  const around = useLoad(`${path} around`, (abort) => getJson<Neighbourhood>(`${path}/neighbourhood?hops=1&limit=300`, abort));
  const entity = details.data;
  return (
    <>
      <Title text={entity?.name ?? "Entity"} lead={entity ? [entity.type, plural(entity.mentions, "mention")].filter(Boolean).join(" · ") : ""}>
        {entity ? (
          <a class="button" href={formatRoute(graph, "graph", id)} onClick={noteNavigation}>
            Show in the graph
          </a>
        ) : null}
      </Title>
      {details.error ? <ErrorNotice error={details.error} retry={details.reload} missing={missing(graph)} /> : null}
      {details.isLoading && !entity ? <Busy /> : null}
      {entity ? (
        <>
          {entity.description ? <p class="description">{entity.description}</p> : null}
          <Relations graph={graph} entity={entity} around={around.data} />
          <Sources graph={graph} entity={entity} />
          <Labels graph={graph} entity={entity} />
          <Merges entity={entity} />
          <Communities graph={graph} entity={entity} />
        </>
      ) : null}
    </>
  );
}

function missing(graph: string) {
  const text = "This entity is not in the graph, or no longer: the documents that name it changed, or it became one with another.";
  return { text, href: formatRoute(graph, "entities"), label: "All entities" };
}

function namesOf(entity: EntityDetails, around: Neighbourhood | undefined): ReadonlyMap<string, string> {
  const names = new Map((around?.nodes ?? []).map((node) => [node.id, node.name] as const));
  return names.set(entity.id, entity.name);
}

function Relations({ graph, entity, around }: { graph: string; entity: EntityDetails; around: Neighbourhood | undefined }) {
  if (!entity.relations.length) return null;
  const names = namesOf(entity, around);
  const end = (id: string, name?: string) =>
    id === entity.id ? (
      entity.name
    ) : (
      <a href={formatRoute(graph, "entities", id)} onClick={noteNavigation}>
        {name || names.get(id) || "another entity"}
      </a>
    );
  return (
    <section aria-labelledby="relations">
      <h2 id="relations">
        Strongest relations <Tag>{shownOf(entity.relations.length, entity.relation_count)}</Tag>
      </h2>
      <table class="list">
        <caption class="visually-hidden">Relations of {entity.name}</caption>
        <thead>
          <tr>
            <th scope="col">Relation</th>
            <th scope="col">Validity</th>
            <th scope="col" class="figure">
              Weight
            </th>
          </tr>
        </thead>
        <tbody>
          {entity.relations.map((relation) => (
            <tr key={relation.id} class={relation.ended_by ? "ended" : ""}>
              <td>
                {end(relation.source, nameOf(relation, "source_name"))} <em>{relation.predicate}</em> {end(relation.target, nameOf(relation, "target_name"))}
              </td>
              <td data-label="Validity">
                <Validity graph={graph} relation={relation} />
              </td>
              <td class="figure" data-label="Weight">
                {decimal(relation.weight)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Return a name that newer services send with a relation. */
function nameOf(relation: Relation, field: "source_name" | "target_name"): string {
  const value = (relation as unknown as Record<string, unknown>)[field];
  return typeof value === "string" ? value : "";
}

function Validity({ graph, relation }: { graph: string; relation: Relation | Fact }) {
  return (
    <>
      {period(relation.valid_from ?? "", relation.valid_to ?? "")}
      {relation.ended_by ? (
        <span class="ended-by">
          {" "}
          ended by{" "}
          <a href={formatRoute(graph, "documents", relation.ended_by)} onClick={noteNavigation}>
            {relation.ended_by}
          </a>
          {relation.superseding_value ? `: ${relation.superseding_value}` : ""}
        </span>
      ) : null}
    </>
  );
}

/** The facts that documents state about the entity, under any of its spellings. */
function Sources({ graph, entity }: { graph: string; entity: EntityDetails }) {
  const ids = [...new Set(entity.labels.flatMap((label) => label.chunks).map(documentOf))].slice(0, MAX_SOURCES);
  const sources = useLoad(`${graph} ${entity.version} ${ids.join("\n")}`, (abort) =>
    Promise.all(ids.map((id) => getJson<DocumentStatus>(address(["v1", "graphs", graph, "documents", id]), abort).catch(() => null))),
  );
  const spellings = new Set([entity.name, ...entity.labels.map((label) => label.name)].map(folded));
  const found = (sources.data ?? []).filter((each) => each !== null);
  return (
    <section aria-labelledby="sources">
      <h2 id="sources">
        Facts by source <Tag>{ids.length}</Tag>
      </h2>
      {sources.isLoading ? <Busy /> : null}
      <ul class="sources">
        {found.map((document) => {
          const facts = document.facts.filter((fact) => spellings.has(folded(fact.subject)) || spellings.has(folded(fact.object)));
          return (
            <li key={document.doc_id}>
              <h3>
                <a href={formatRoute(graph, "documents", document.doc_id)} onClick={noteNavigation}>
                  {document.title || document.doc_id}
                </a>{" "}
                <span class="place">{[document.source, document.occurred_at].filter(Boolean).join(" · ")}</span> {document.state === "applied" ? null : <State state={document.state} />}
              </h3>
              {facts.length ? null : <p class="place">mentions it</p>}
              <ul class="statements">
                {facts.slice(0, 30).map((fact, index) => (
                  <li key={index} class={fact.ended_by ? "ended" : ""}>
                    {fact.subject} <em>{fact.predicate}</em> {fact.object} <Validity graph={graph} relation={fact} />
                    {fact.evidence ? (
                      <a class="evidence" href={formatRoute(graph, "documents", document.doc_id, { quote: fact.evidence })} onClick={noteNavigation}>
                        {fact.evidence}
                      </a>
                    ) : null}
                  </li>
                ))}
              </ul>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function folded(name: string): string {
  return name.normalize("NFKC").toLowerCase().replace(/\s+/g, " ").trim();
}

function Labels({ graph, entity }: { graph: string; entity: EntityDetails }) {
  return (
    <section aria-labelledby="labels">
      <h2 id="labels">
        Spellings <Tag>{entity.labels.length}</Tag>
      </h2>
      <ul class="rows">
        {entity.labels.map((label, index) => (
          <li key={index} class="row">
            <span>
              {label.name} <span class="place">{label.type}</span>
            </span>
            <span class="place">{plural(label.mentions, "mention")}</span>
            <span class="chips">
              {[...new Set(label.chunks.map(documentOf))].map((id) => (
                <a key={id} class="chip" href={formatRoute(graph, "documents", id)} onClick={noteNavigation}>
                  {id}
                </a>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Merges({ entity }: { entity: EntityDetails }) {
  if (!entity.merges.length) return null;
  return (
    <section aria-labelledby="merges">
      <h2 id="merges">
        Merges <Tag>{entity.merges.length}</Tag>
      </h2>
      <p class="lead">Why spellings count as one entity. Deleting the documents behind a merge undoes it.</p>
      <table class="list">
        <caption class="visually-hidden">Merges of {entity.name}</caption>
        <thead>
          <tr>
            <th scope="col">Spellings</th>
            <th scope="col">Rule</th>
            <th scope="col" class="figure">
              Score
            </th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {entity.merges.map((merge, index) => (
            <tr key={index}>
              <td>
                {merge.a} <span aria-label="and">=</span> {merge.b}
              </td>
              <td data-label="Rule">{merge.rule}</td>
              <td class="figure" data-label="Score">
                {decimal(merge.score, 3)}
              </td>
              <td data-label="Result">{merge.holds ? "merged" : "kept apart by a constraint"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Communities({ graph, entity }: { graph: string; entity: EntityDetails }) {
  if (!entity.communities.length) return null;
  return (
    <Facts
      rows={[
        [
          "Communities",
          entity.communities.map((community, level) => (
            <a key={community} class="chip" href={formatRoute(graph, "communities", String(community))} onClick={noteNavigation}>
              level {count(level)}: {community}
            </a>
          )),
        ],
      ]}
    />
  );
}
