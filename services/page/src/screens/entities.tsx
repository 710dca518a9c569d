/** The entities of a graph: search, type, order. */

import { useEffect, useState } from "preact/hooks";
import { address, getJson } from "../api/client";
import type { EntityPage, ListedEntity } from "../api/types";
import { useSettled } from "../load";
import { usePages } from "../pages";
import { Busy, Button, Empty, ErrorNotice, Field, Select, Title, noteNavigation } from "../parts/basics";
import { formatRoute, replaceQuery, route } from "../router";
import { count } from "../text";

const ORDERS: readonly (readonly [string, string])[] = [
  ["mentions", "most mentioned"],
  ["degree", "most connected"],
  ["name", "name"],
];

export function EntitiesScreen({ graph }: { graph: string }) {
  const { query } = route.value;
  const [filters, setFilters] = useState({ q: query["q"] ?? "", type: query["type"] ?? "", sort: query["sort"] ?? "mentions" });
  const settled = useSettled(filters);
  useEffect(() => replaceQuery(graph, "entities", settled), [graph, settled]);
  const pages = usePages<ListedEntity>(JSON.stringify([graph, settled]), async (cursor, abort) => {
    const page = await getJson<EntityPage>(address(["v1", "graphs", graph, "entities"], { ...settled, limit: 100, cursor }), abort);
    return { items: page.entities, next: page.next ?? "" };
  });
  const set = (change: Partial<typeof filters>) => setFilters((before) => ({ ...before, ...change }));
  return (
    <>
      <Title text="Entities" lead="People, places, things and dates that the documents mention." />
      <form class="filters" role="search" aria-label="Filter the entities" onSubmit={(event) => event.preventDefault()}>
        <Field label="Name contains">
          <input type="search" value={filters.q} onInput={(event) => set({ q: event.currentTarget.value })} />
        </Field>
        <Field label="Type">
          <input type="text" value={filters.type} onInput={(event) => set({ type: event.currentTarget.value })} />
        </Field>
        <Select label="Order" value={filters.sort} options={ORDERS} onChange={(sort) => set({ sort })} />
      </form>
      {pages.error ? <ErrorNotice error={pages.error} retry={pages.restart} /> : null}
      <EntityTable graph={graph} entities={pages.items} />
      {pages.isLoading ? <Busy /> : null}
      {!pages.isLoading && !pages.items.length && !pages.error ? <Empty>No entity matches.</Empty> : null}
      {pages.hasMore && !pages.isLoading ? <Button onClick={pages.more}>Show more</Button> : null}
    </>
  );
}

function EntityTable({ graph, entities }: { graph: string; entities: readonly ListedEntity[] }) {
  if (!entities.length) return null;
  return (
    <table class="list">
      <caption class="visually-hidden">Entities</caption>
      <thead>
        <tr>
          <th scope="col">Entity</th>
          <th scope="col">Type</th>
          <th scope="col" class="figure">
            Mentions
          </th>
          <th scope="col" class="figure">
            Neighbours
          </th>
        </tr>
      </thead>
      <tbody>
        {entities.map((entity) => (
          <tr key={entity.id}>
            <td>
              <a href={formatRoute(graph, "entities", entity.id)} onClick={noteNavigation}>
                {entity.name}
              </a>
            </td>
            <td data-label="Type">{entity.type}</td>
            <td class="figure" data-label="Mentions">
              {count(entity.mentions)}
            </td>
            <td class="figure" data-label="Neighbours">
              {count(entity.degree)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
