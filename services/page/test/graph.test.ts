import { expect, it } from "vitest";
import type { CommunitySummary, Neighbourhood } from "../src/api/types";
import { emptyGraph, largestTrussness, merge, nodesInTruss } from "../src/graph/model";
import { legendOf } from "../src/graph/palette";
import { ancestors, usefulLevel } from "../src/hierarchy";

function around(center: string, others: readonly string[], trussness = 2): Neighbourhood {
  const node = (id: string, hop: number) => ({ id, name: id.toUpperCase(), type: "name", mentions: 1, degree: 1, community: 1, hop });
  return {
    center,
    nodes: [node(center, 0), ...others.map((id) => node(id, 1))],
    edges: others.map((target) => ({ source: center, target, source_name: "", target_name: "", weight: 1, trussness, community: 0, predicates: ["knows"] })),
    truncated: false,
    version: 1,
  };
}

it("merging a neighbourhood twice adds nothing and moves nothing", () => {
  const graph = emptyGraph();
  expect(merge(graph, around("a", ["b", "c"]))).toBe(3);
  const before = graph.export();
  expect(merge(graph, around("a", ["b", "c"]))).toBe(0);
  expect(graph.export()).toEqual(before);
  expect(merge(graph, around("b", ["a", "d"]))).toBe(1);
  expect([graph.order, graph.size]).toEqual([4, 3]);
});

it("positions of new nodes are finite and distinct", () => {
  const graph = emptyGraph();
  merge(graph, around("a", Array.from({ length: 300 }, (_, index) => `n${index}`)));
  const places = new Set(graph.mapNodes((_, { x, y }) => `${x} ${y}`));
  expect(places.size).toBe(301);
  expect([...places].some((place) => place.includes("NaN"))).toBe(false);
});

it("the trussness filter keeps nodes with an edge of the truss", () => {
  const graph = emptyGraph();
  merge(graph, around("a", ["b", "c"], 4));
  merge(graph, around("c", ["d"], 3));
  expect(largestTrussness(graph)).toBe(4);
  expect([...nodesInTruss(graph, 2)].sort()).toEqual(["a", "b", "c", "d"]);
  expect([...nodesInTruss(graph, 4)].sort()).toEqual(["a", "b", "c"]);
  expect([...nodesInTruss(graph, 5)]).toEqual([]);
});

it("only groups with company have a colour, the largest first", () => {
  expect(legendOf([1, 2, 2, 3, 3, 3], false).map(({ group, size }) => [group, size])).toEqual([
    [3, 3],
    [2, 2],
  ]);
  const colors = legendOf(Array.from({ length: 60 }, (_, index) => index % 20), true).map((entry) => entry.color);
  expect(colors.length).toBe(12);
  expect(new Set(colors).size).toBe(12);
});

it("communities have their ancestor on each level", () => {
  const row = (community: number, level: number, parent: number, size: number): CommunitySummary => ({ community, level, parent, size, title: "", rating: 0 });
  const levels = [[row(1, 0, 10, 1), row(2, 0, 10, 1), row(3, 0, 11, 4)], [row(10, 1, 20, 2), row(11, 1, 20, 4)], [row(20, 2, 0, 6)]];
  expect([...ancestors(levels, 1)]).toEqual([[1, 10], [2, 10], [3, 11]]);
  expect([...ancestors(levels, 2)]).toEqual([[1, 20], [2, 20], [3, 20]]);
  expect([...ancestors(levels, 0)]).toEqual([[1, 1], [2, 2], [3, 3]]);
  expect([usefulLevel(levels), usefulLevel([])]).toEqual([1, 0]);
});
