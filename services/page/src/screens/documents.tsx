/** The documents of a graph: list with filters, and publishing of files. */

import { useEffect, useState } from "preact/hooks";
import { address, getJson } from "../api/client";
import type { DocumentPage, ListedDocument } from "../api/types";
import { useSettled } from "../load";
import { usePages } from "../pages";
import { Busy, Button, Empty, ErrorNotice, Field, Select, State, Title, noteNavigation } from "../parts/basics";
import { PublishFiles } from "../parts/publish";
import { formatRoute, replaceQuery, route } from "../router";
import { dateTime } from "../text";
import { published } from "../upload/publish";

const STATES: readonly (readonly [string, string])[] = [
  ["", "all but deleted"],
  ["applied", "in the graph"],
  ["accepted", "being processed"],
  ["failed", "failed"],
  ["superseded", "superseded"],
  ["deleted", "deleted"],
];

export function DocumentsScreen({ graph }: { graph: string }) {
  const { query } = route.value;
  const [filters, setFilters] = useState({ prefix: query["prefix"] ?? "", state: query["state"] ?? "", source: query["source"] ?? "" });
  const settled = useSettled(filters);
  useEffect(() => replaceQuery(graph, "documents", settled), [graph, settled]);
  const key = JSON.stringify([graph, settled, published.value]);
  const pages = usePages<ListedDocument>(key, async (cursor, abort) => {
    const page = await getJson<DocumentPage>(address(["v1", "graphs", graph, "documents"], { ...settled, limit: 100, cursor }), abort);
    return { items: page.documents, next: page.next ?? "" };
  });
  const set = (change: Partial<typeof filters>) => setFilters((before) => ({ ...before, ...change }));
  return (
    <>
      <Title text="Documents" />
      <PublishFiles graph={graph} />
      <form class="filters" role="search" aria-label="Filter the documents" onSubmit={(event) => event.preventDefault()}>
        <Field label="Id begins with">
          <input type="text" value={filters.prefix} onInput={(event) => set({ prefix: event.currentTarget.value })} />
        </Field>
        <Select label="State" value={filters.state} options={STATES} onChange={(state) => set({ state })} />
        <Field label="Source">
          <input type="text" value={filters.source} onInput={(event) => set({ source: event.currentTarget.value })} />
        </Field>
      </form>
      {pages.error ? <ErrorNotice error={pages.error} retry={pages.restart} /> : null}
      <DocumentTable graph={graph} documents={pages.items} />
      {pages.isLoading ? <Busy /> : null}
      {!pages.isLoading && !pages.items.length && !pages.error ? <Empty>No document matches.</Empty> : null}
      {pages.hasMore && !pages.isLoading ? <Button onClick={pages.more}>Show more</Button> : null}
    </>
  );
}

function DocumentTable({ graph, documents }: { graph: string; documents: readonly ListedDocument[] }) {
  if (!documents.length) return null;
  return (
    <table class="list">
      <caption class="visually-hidden">Documents</caption>
      <thead>
        <tr>
          <th scope="col">Document</th>
          <th scope="col">State</th>
          <th scope="col">Source</th>
          <th scope="col">Date</th>
        </tr>
      </thead>
      <tbody>
        {documents.map((document) => (
          <tr key={document.id}>
            <td>
              <a href={formatRoute(graph, "documents", document.id)} onClick={noteNavigation}>
                {document.title || document.id}
              </a>
              {document.title && document.title !== document.id ? <span class="id">{document.id}</span> : null}
            </td>
            <td data-label="State">
              <State state={document.state} />
            </td>
            <td data-label="Source">{document.source}</td>
            <td data-label="Date">{/^\d{4}-\d\d-\d\dT/.test(document.occurred_at) ? dateTime(document.occurred_at) : document.occurred_at}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
