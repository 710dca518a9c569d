/** The part of a graph on display: it grows when nodes are expanded. Positions are kept when it grows. */

import { UndirectedGraph } from "graphology";
import type { Neighbourhood } from "../api/types";

export interface NodeAttributes {
  x: number;
  y: number;
  size: number;
  label: string;
  color: string;
  type: "circle";
  kind: string;
  community: number;
  mentions: number;
  degree: number;
  isExpanded: boolean;
}

export interface EdgeAttributes {
  size: number;
  weight: number;
  trussness: number;
  predicates: string;
}

export type DisplayGraph = UndirectedGraph<NodeAttributes, EdgeAttributes>;

export const MAX_NODES = 8000;

export function emptyGraph(): DisplayGraph {
  return new UndirectedGraph<NodeAttributes, EdgeAttributes>({ allowSelfLoops: false });
}

/** Add a neighbourhood; return the number of new nodes. New nodes start around their centre. */
export function merge(graph: DisplayGraph, found: Neighbourhood): number {
  const before = graph.order;
  const around = graph.hasNode(found.center) ? graph.getNodeAttributes(found.center) : { x: 0, y: 0 };
  const spread = graph.order ? 4 + Math.sqrt(found.nodes.length) : 10;
  for (const [index, node] of found.nodes.entries()) {
    if (graph.hasNode(node.id)) continue;
    if (graph.order >= MAX_NODES) break;
    const angle = index * 2.399963; // the golden angle spreads points evenly
    const radius = spread * Math.sqrt((index + 1) / found.nodes.length);
    graph.addNode(node.id, {
      x: around.x + radius * Math.cos(angle),
      y: around.y + radius * Math.sin(angle),
      size: nodeSize(node.mentions),
      label: node.name,
      color: "#888888",
      type: "circle",
      kind: node.type,
      community: node.community,
      mentions: node.mentions,
      degree: node.degree,
      isExpanded: false,
    });
  }
  for (const edge of found.edges) {
    if (edge.source === edge.target || !graph.hasNode(edge.source) || !graph.hasNode(edge.target)) continue;
    graph.mergeEdge(edge.source, edge.target, {
      size: edgeWidth(edge.weight),
      weight: edge.weight,
      trussness: edge.trussness,
      predicates: edge.predicates.join(", "),
    });
  }
  if (graph.hasNode(found.center) && !found.truncated) graph.setNodeAttribute(found.center, "isExpanded", true);
  return graph.order - before;
}

export function nodeSize(mentions: number): number {
  return Math.min(16, 3 + 1.4 * Math.log2(1 + mentions));
}

export function edgeWidth(weight: number): number {
  return Math.min(8, 0.6 + 0.9 * Math.log2(1 + Math.max(0, weight)));
}

export function largestTrussness(graph: DisplayGraph): number {
  let most = 2;
  graph.forEachEdge((_, { trussness }) => {
    most = Math.max(most, trussness);
  });
  return most;
}

/** Return the nodes that have an edge of at least this trussness. The least, 2, keeps every node. */
export function nodesInTruss(graph: DisplayGraph, least: number): ReadonlySet<string> {
  if (least <= 2) return new Set(graph.nodes());
  const kept = new Set<string>();
  graph.forEachEdge((_, { trussness }, source, target) => {
    if (trussness >= least) {
      kept.add(source);
      kept.add(target);
    }
  });
  return kept;
}
