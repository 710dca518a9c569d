declare module "graphology-layout-forceatlas2/iterate.js" {
  export default function iterate(settings: object, nodes: Float32Array, edges: Float32Array): object;
}
declare module "graphology-layout-forceatlas2/helpers.js" {
  import type Graph from "graphology-types";
  export function graphToByteArrays(graph: Graph, weight: (edge: string, attributes: never) => number): { nodes: Float32Array; edges: Float32Array };
  export function assignLayoutChanges(graph: Graph, nodes: Float32Array, reducer: null): void;
}
