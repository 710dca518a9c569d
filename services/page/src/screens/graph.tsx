/** The graph around an entity: nodes are expanded on click, and the same content is a list for the keyboard. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "../announce";
import { ApiError, address, getJson } from "../api/client";
import type { CommunitySummary, EntityPage, ListedEntity, Neighbourhood } from "../api/types";
import { type DisplayGraph, emptyGraph, largestTrussness, merge, nodesInTruss } from "../graph/model";
import { Layout } from "../graph/layout";
import { type LegendEntry, legendOf, restColor, themeNow } from "../graph/palette";
import { Renderer, type View } from "../graph/renderer";
import { NodeList, SelectedNode } from "../graph/panels";
import { ancestors, readLevels, usefulLevel } from "../hierarchy";
import { useLoad, useSettled } from "../load";
import { Busy, Button, Empty, ErrorNotice, Field, Notice, Select, Title } from "../parts/basics";
import { currentRoute, formatRoute, replaceRoute, route } from "../router";
import { plural } from "../text";

const FIRST = { hops: 2, limit: 120 };
const EXPANSION = { hops: 1, limit: 60 };
const WIDE = { hops: 3, limit: 1000 };

async function firstEntity(graph: string): Promise<string> {
  const page = await getJson<EntityPage>(address(["v1", "graphs", graph, "entities"], { sort: "degree", limit: 1 }));
  return page.entities[0]?.id ?? "";
}

export function GraphScreen({ graph }: { graph: string }) {
  const shown = useMemo(() => ({ graph: emptyGraph(), view: { selected: "", visible: new Set<string>(), leastTrussness: 2 } as View }), [graph]);
  const renderer = useRef<Renderer | null>(null);
  const layout = useRef<Layout | null>(null);
  const canvas = useRef<HTMLDivElement>(null);
  const [, setRound] = useState(0);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(true);
  const [isDrawn, setDrawn] = useState(true);
  const [groupBy, setGroupBy] = useState("community");
  const [level, setLevel] = useState<number | null>(null);
  const [legend, setLegend] = useState<readonly LegendEntry<string | number>[]>([]);
  const levels = useLoad(`${graph} levels`, (abort) => readLevels(graph, abort));

  const paint = () => {
    setLegend(colour(shown.graph, groupBy, levels.data ?? [], level ?? usefulLevel(levels.data ?? [])));
    shown.view.visible = nodesInTruss(shown.graph, shown.view.leastTrussness);
    renderer.current?.refresh();
    setRound((before) => before + 1);
  };
  const painted = useRef(paint);
  painted.current = paint;

  const expand = async (id: string, extent: { hops: number; limit: number } = EXPANSION) => {
    setBusy(true);
    setError(null);
    const asked = route.value;
    try {
      const path = address(["v1", "graphs", graph, "entities", id, "neighbourhood"], extent);
      const added = merge(shown.graph, await getJson<Neighbourhood>(path));
      select(id, asked);
      if (added) layout.current?.start();
      announce(`${shown.graph.getNodeAttribute(id, "label")}: ${plural(added, "new neighbour")}. ${plural(shown.graph.order, "entity", "entities")} on display.`);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
      painted.current();
    }
  };
  const select = (id: string, asked = route.value) => {
    shown.view.selected = id;
    const now = currentRoute();
    if (now.screen === "graph" && now === asked) replaceRoute(formatRoute(graph, "graph", id));
    painted.current();
  };
  const clicked = (id: string) => {
    canvas.current?.setAttribute("data-clicked", id);
    void expanded.current(id);
  };
  const expanded = useRef(expand);
  expanded.current = expand;

  useEffect(() => {
    if (!canvas.current) return;
    try {
      renderer.current = new Renderer(shown.graph, canvas.current, shown.view, (id) => clicked(id), () => painted.current());
      layout.current = new Layout(shown.graph, (isSettled) => canvas.current?.setAttribute("data-settled", String(isSettled)));
    } catch (failure) {
      console.warn("the graph cannot be drawn", failure);
      setDrawn(false);
    }
    return () => {
      layout.current?.close();
      renderer.current?.close();
      layout.current = renderer.current = null;
    };
  }, [shown]);
  useEffect(() => {
    const { id } = route.value;
    if (id && shown.graph.hasNode(id)) return;
    void (async () => {
      try {
        const start = id || (await firstEntity(graph));
        if (start) await expanded.current(start, FIRST);
        else setBusy(false);
      } catch (failure) {
        setError(failure);
        setBusy(false);
      }
    })();
  }, [shown, route.value.id]);
  useEffect(() => painted.current(), [groupBy, level, levels.data]);

  const most = largestTrussness(shown.graph);
  const { selected, leastTrussness } = shown.view;
  const missing = error instanceof ApiError && error.status === 404;
  return (
    <>
      <Title text="Graph" lead="Click an entity to add its neighbours." />
      {missing ? <Notice kind="error">This entity is no longer in the graph.</Notice> : error ? <ErrorNotice error={error} /> : null}
      <div class="filters">
        <FindEntity graph={graph} onFound={(id) => void expand(id)} />
        <Select
          label="Colour"
          value={groupBy === "kind" ? "kind" : String(level ?? usefulLevel(levels.data ?? []))}
          options={[...(levels.data ?? [[]]).map((_, index) => [String(index), `community, level ${index}`] as const), ["kind", "type of entity"] as const]}
          onChange={(value) => {
            setGroupBy(value === "kind" ? "kind" : "community");
            if (value !== "kind") setLevel(Number(value));
          }}
        />
        <Field label={`Trussness at least ${leastTrussness}`}>
          <input
            type="range"
            min={2}
            max={Math.max(3, most)}
            value={leastTrussness}
            onInput={(event) => {
              shown.view.leastTrussness = Number(event.currentTarget.value);
              painted.current();
            }}
          />
        </Field>
      </div>
      <div class="graph-screen">
        <div class="canvas-frame">
          <div
            ref={canvas}
            class="canvas"
            role="img"
            aria-label={`Drawing of ${plural(shown.graph.order, "entity", "entities")} and ${plural(shown.graph.size, "edge")}. The list of entities has the same content.`}
          />
          {isDrawn ? (
            <div class="canvas-tools">
              <Button label="Zoom in" onClick={() => renderer.current?.zoom(1.6)}>
                +
              </Button>
              <Button label="Zoom out" onClick={() => renderer.current?.zoom(1 / 1.6)}>
                −
              </Button>
              <Button onClick={() => renderer.current?.showAll()}>Fit</Button>
            </div>
          ) : (
            <Notice>This browser cannot draw the graph (WebGL is off). The list has the same content.</Notice>
          )}
          {isBusy ? <Busy label="Reading neighbours" /> : null}
        </div>
        <div class="graph-side">
          <p class="meta" data-nodes={shown.graph.order}>
            {plural(shown.view.visible.size, "entity", "entities")} of {shown.graph.order} on display, {plural(shown.graph.size, "edge")}
          </p>
          {selected && shown.graph.hasNode(selected) ? (
            <SelectedNode graph={graph} display={shown.graph} id={selected} onExpand={() => void expand(selected)} onWiden={() => void expand(selected, WIDE)} onSelect={select} />
          ) : null}
          <Legend legend={legend} levels={levels.data ?? []} />
          {!isBusy && !shown.graph.order && !error ? <Empty>The graph has no entities yet.</Empty> : null}
        </div>
      </div>
      <NodeList
        display={shown.graph}
        visible={shown.view.visible}
        selected={selected}
        onExpand={(id) => void expand(id)}
        onShow={(id) => {
          select(id);
          canvas.current?.setAttribute("data-centred", "false");
          canvas.current?.scrollIntoView({ block: "nearest" });
          void renderer.current?.centre(id).then(() => canvas.current?.setAttribute("data-centred", "true"));
        }}
      />
    </>
  );
}

/** Colour the nodes by community or type; return the legend. */
function colour(display: DisplayGraph, groupBy: string, levels: readonly CommunitySummary[][], level: number): LegendEntry<string | number>[] {
  const above = ancestors(levels, level);
  const group = (id: string): string | number => {
    const node = display.getNodeAttributes(id);
    return groupBy === "kind" ? node.kind : (above.get(node.community) ?? node.community);
  };
  const { isDark } = themeNow();
  const legend = legendOf(display.mapNodes(group), isDark);
  const colors = new Map(legend.map((entry) => [entry.group, entry.color]));
  display.updateEachNodeAttributes((id, attributes) => ({ ...attributes, color: colors.get(group(id)) ?? restColor(isDark) }));
  return legend;
}

function Legend({ legend, levels }: { legend: readonly LegendEntry<string | number>[]; levels: readonly CommunitySummary[][] }) {
  if (!legend.length) return null;
  const titles = new Map(levels.flat().map((each) => [each.community, each.title] as const));
  return (
    <details class="part" open>
      <summary>Colours</summary>
      <ul class="legend">
        {legend.map((entry) => (
          <li key={entry.group}>
            <span class="swatch" style={{ backgroundColor: entry.color }} aria-hidden="true" />
            <span>{typeof entry.group === "number" ? titles.get(entry.group) || `community ${entry.group}` : entry.group}</span>
            <span class="place">{entry.size}</span>
          </li>
        ))}
        <li class="place">grey: smaller groups</li>
      </ul>
    </details>
  );
}

function FindEntity({ graph, onFound }: { graph: string; onFound: (id: string) => void }) {
  const [text, setText] = useState("");
  const settled = useSettled(text.trim());
  const found = useLoad<readonly ListedEntity[]>(`${graph} find ${settled}`, async (abort) =>
    settled ? (await getJson<EntityPage>(address(["v1", "graphs", graph, "entities"], { q: settled, sort: "degree", limit: 8 }), abort)).entities : [],
  );
  return (
    <div class="find" role="search" aria-label="Find an entity">
      <Field label="Find an entity">
        <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </Field>
      {text && found.data?.length ? (
        <ul class="found">
          {found.data.map((entity) => (
            <li key={entity.id}>
              <Button
                kind="quiet"
                onClick={() => {
                  setText("");
                  onFound(entity.id);
                }}
              >
                {entity.name} <span class="place">{entity.type}</span>
              </Button>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
