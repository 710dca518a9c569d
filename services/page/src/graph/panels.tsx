/** The texts beside the drawing: the selected entity, and the list of all entities on display. */

import { useState } from "preact/hooks";
import { Button, Field, Tag, noteNavigation } from "../parts/basics";
import { formatRoute } from "../router";
import { count, decimal, plural } from "../text";
import type { DisplayGraph } from "./model";

const SHOWN = 50;

interface SelectedProps {
  readonly graph: string;
  readonly display: DisplayGraph;
  readonly id: string;
  readonly onExpand: () => void;
  readonly onWiden: () => void;
  readonly onSelect: (id: string) => void;
}

export function SelectedNode({ graph, display, id, onExpand, onWiden, onSelect }: SelectedProps) {
  const node = display.getNodeAttributes(id);
  const edges = display
    .mapEdges(id, (_, attributes, source, target) => ({ ...attributes, other: source === id ? target : source }))
    .sort((a, b) => b.weight - a.weight);
  const neighbours = `${count(edges.length)} of ${plural(node.degree, "neighbour")} on display`;
  const facts = [node.kind, plural(node.mentions, "mention"), neighbours];
  return (
    <section class="card" aria-labelledby="selected">
      <h2 id="selected">{node.label}</h2>
      <p class="place">
        {facts.filter(Boolean).join(" · ")}
      </p>
      <div class="actions">
        <Button onClick={onExpand}>Add neighbours</Button>
        <Button onClick={onWiden}>Add a wide area</Button>
        <a class="button" href={formatRoute(graph, "entities", id)} onClick={noteNavigation}>
          Open
        </a>
      </div>
      <ul class="statements">
        {edges.slice(0, 12).map((edge) => (
          <li key={edge.other}>
            <button type="button" class="link" onClick={() => onSelect(edge.other)}>
              {display.getNodeAttribute(edge.other, "label")}
            </button>{" "}
            <em>{edge.predicates}</em>{" "}
            <span class="place">
              weight {decimal(edge.weight)}, trussness {edge.trussness}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface ListProps {
  readonly display: DisplayGraph;
  readonly visible: ReadonlySet<string>;
  readonly selected: string;
  readonly onExpand: (id: string) => void;
  readonly onShow: (id: string) => void;
}

export function NodeList({ display, visible, selected, onExpand, onShow }: ListProps) {
  const [filter, setFilter] = useState("");
  const [shown, setShown] = useState(SHOWN);
  const wanted = filter.trim().toLowerCase();
  const rows = [...visible]
    .filter((id) => display.hasNode(id))
    .map((id) => ({ id, ...display.getNodeAttributes(id) }))
    .filter((node) => !wanted || node.label.toLowerCase().includes(wanted))
    .sort((a, b) => b.degree - a.degree || a.label.localeCompare(b.label));
  return (
    <section aria-labelledby="nodes">
      <h2 id="nodes">
        Entities on display <Tag>{rows.length}</Tag>
      </h2>
      <div class="filters">
        <Field label="Name contains">
          <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        </Field>
      </div>
      <ul class="rows">
        {rows.slice(0, shown).map((node) => (
          <li key={node.id} class="row" aria-current={node.id === selected ? "true" : undefined}>
            <span class="row-name">
              {node.label} <span class="place">{node.kind}</span>
            </span>
            <span class="place">{count(node.degree)} neighbours</span>
            <span class="actions">
              <Button kind="quiet" label={`Show ${node.label}`} onClick={() => onShow(node.id)}>
                Show
              </Button>
              <Button kind="quiet" label={`Expand ${node.label}`} onClick={() => onExpand(node.id)}>
                Expand
              </Button>
            </span>
          </li>
        ))}
      </ul>
      {rows.length > shown ? <Button onClick={() => setShown(shown + SHOWN)}>Show more</Button> : null}
    </section>
  );
}
