/** The layout in a thread of its own: ForceAtlas2, in slices, each answered by the page before the next begins. */

import iterate from "graphology-layout-forceatlas2/iterate.js";

interface Task {
  readonly round: number;
  readonly nodes: Float32Array;
  readonly edges?: Float32Array;
  readonly settings?: object;
  readonly sliceMs: number;
}

let edges = new Float32Array();
let settings: object = {};

addEventListener("message", ({ data }: MessageEvent<Task>) => {
  if (data.edges) edges = data.edges as Float32Array<ArrayBuffer>;
  if (data.settings) settings = data.settings;
  const end = performance.now() + data.sliceMs;
  let iterations = 0;
  do {
    iterate(settings, data.nodes, edges);
    iterations += 1;
  } while (performance.now() < end);
  postMessage({ round: data.round, nodes: data.nodes, iterations }, { transfer: [data.nodes.buffer as ArrayBuffer] });
});
