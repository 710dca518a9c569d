/** The page's side of the layout: it sends positions to the worker and applies what comes back. */

import { assignLayoutChanges, graphToByteArrays } from "graphology-layout-forceatlas2/helpers.js";
import inferSettings from "graphology-layout-forceatlas2";
import type { DisplayGraph } from "./model";
import workerAddress from "./layout.worker?worker&url";
import { trustedScript } from "../trusted";

const SLICE_MS = 24;
const FIRST_ITERATIONS = 400;
const LATER_ITERATIONS = 160;
const FULL_DEFAULTS = {
  linLogMode: false,
  outboundAttractionDistribution: false,
  adjustSizes: false,
  edgeWeightInfluence: 1,
  scalingRatio: 1,
  strongGravityMode: false,
  gravity: 1,
  slowDown: 1,
  barnesHutOptimize: false,
  barnesHutTheta: 0.5,
};

export class Layout {
  private readonly worker = new Worker(trustedScript(workerAddress), { type: "module" });
  private round = 0;
  private remaining = 0;
  private isFirst = true;

  constructor(
    private readonly graph: DisplayGraph,
    private readonly onChange: (isSettled: boolean) => void,
  ) {
    this.worker.addEventListener("message", ({ data }: MessageEvent<{ round: number; nodes: Float32Array; iterations: number }>) => this.take(data));
  }

  /** Lay the graph out again, from where its nodes are. */
  start(): void {
    if (this.graph.order < 2) return this.onChange(true);
    this.onChange(false);
    this.round += 1;
    this.remaining = this.isFirst ? FIRST_ITERATIONS : LATER_ITERATIONS;
    this.isFirst = false;
    const matrices = graphToByteArrays(this.graph, (_edge: string, attributes: { weight: number }) => Math.log2(1 + attributes.weight));
    const settings = { ...FULL_DEFAULTS, ...inferSettings.inferSettings(this.graph), barnesHutOptimize: this.graph.order > 800 };
    this.send(matrices.nodes, { edges: matrices.edges, settings });
  }

  stop(): void {
    this.round += 1;
    this.remaining = 0;
  }

  close(): void {
    this.worker.terminate();
  }

  private send(nodes: Float32Array, more: object = {}): void {
    this.worker.postMessage({ round: this.round, nodes, sliceMs: SLICE_MS, ...more }, [nodes.buffer as ArrayBuffer]);
  }

  private take({ round, nodes, iterations }: { round: number; nodes: Float32Array; iterations: number }): void {
    if (round !== this.round) return;
    this.remaining -= iterations;
    const isLast = this.remaining <= 0;
    if (isLast || !matchMedia("(prefers-reduced-motion: reduce)").matches) assignLayoutChanges(this.graph, nodes, null);
    if (isLast) this.onChange(true);
    else requestAnimationFrame(() => round === this.round && this.send(nodes));
  }
}
