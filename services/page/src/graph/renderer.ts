/** The drawing of the graph on display: sigma on WebGL, with the selection and the trussness filter as reducers. */

import Sigma from "sigma";
import type { DisplayGraph, EdgeAttributes, NodeAttributes } from "./model";
import { type Theme, themeNow } from "./palette";

export interface View {
  selected: string;
  visible: ReadonlySet<string>;
  leastTrussness: number;
}

/** Edges are hidden during motion where the graphics of the machine draw fewer frames than this. */
const SLOW_FRAME_MS = 45;
const MEASURED_FRAMES = 6;
const MANY_EDGES = 2000;
const PAUSE_MS = 1000;

export class Renderer {
  private drawnAt = 0;
  private slowFrames = 0;
  private readonly sigma: Sigma<NodeAttributes, EdgeAttributes>;
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");
  private theme: Theme = themeNow();
  private near: ReadonlySet<string> = new Set();

  constructor(
    private readonly graph: DisplayGraph,
    container: HTMLElement,
    private readonly view: View,
    onNode: (id: string) => void,
    private readonly onTheme: () => void,
  ) {
    this.sigma = new Sigma<NodeAttributes, EdgeAttributes>(graph, container, {
      allowInvalidContainer: true,
      labelFont: "system-ui, sans-serif",
      labelSize: 12,
      labelDensity: 0.6,
      labelGridCellSize: 90,
      labelRenderedSizeThreshold: 7,
      zIndex: true,
      hideEdgesOnMove: false,
      minCameraRatio: 0.02,
      maxCameraRatio: 8,
      nodeReducer: (id, data) => this.drawnNode(id, data),
      edgeReducer: (id, data) => this.drawnEdge(id, data),
      defaultDrawNodeHover: (context, data, settings) => this.drawHover(context, data, settings.labelSize),
    });
    this.sigma.on("clickNode", ({ node }) => onNode(node));
    this.sigma.on("afterRender", () => this.adapt());
    this.sigma.on("enterNode", () => container.classList.add("over-node"));
    this.sigma.on("leaveNode", () => container.classList.remove("over-node"));
    this.dark.addEventListener("change", this.changeTheme);
    this.changeTheme();
  }

  /** Draw again after a change of the view. */
  refresh(): void {
    const { selected } = this.view;
    this.near = new Set(this.graph.hasNode(selected) ? [selected, ...this.graph.neighbors(selected)] : []);
    this.sigma.refresh({ schedule: true });
  }

  zoom(factor: number): void {
    void this.move({ ratio: this.sigma.getCamera().ratio / factor });
  }

  showAll(): void {
    void this.move({ x: 0.5, y: 0.5, ratio: 1 });
  }

  /** Move the camera so that a node is in the middle. */
  async centre(id: string): Promise<void> {
    await nextFrames(); // a scheduled refresh sets the places of nodes in a frame
    const place = this.sigma.getNodeDisplayData(id);
    if (place) await this.move({ x: place.x, y: place.y, ratio: Math.min(0.4, this.sigma.getCamera().ratio) });
  }

  close(): void {
    this.dark.removeEventListener("change", this.changeTheme);
    this.sigma.kill();
  }

  private async move(state: Partial<{ x: number; y: number; ratio: number }>): Promise<void> {
    const camera = this.sigma.getCamera();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) camera.setState(state);
    else await camera.animate(state, { duration: 250 });
    this.sigma.refresh({ schedule: true });
    await nextFrames();
  }

  /** Count slow frames in a row; a pause between two drawings is none. */
  private adapt(): void {
    const gap = performance.now() - this.drawnAt;
    this.drawnAt += gap;
    if (gap > PAUSE_MS || this.graph.size < MANY_EDGES) return;
    this.slowFrames = gap > SLOW_FRAME_MS ? this.slowFrames + 1 : 0;
    if (this.slowFrames === MEASURED_FRAMES) {
      this.sigma.setSetting("hideEdgesOnMove", true);
      this.sigma.setSetting("hideLabelsOnMove", true);
    }
  }

  private readonly changeTheme = (): void => {
    this.theme = themeNow();
    this.sigma.setSetting("labelColor", { color: this.theme.text });
    this.sigma.setSetting("defaultEdgeColor", this.theme.edge);
    this.onTheme();
  };

  private drawnNode(id: string, data: NodeAttributes): Partial<NodeAttributes> & { hidden?: boolean; highlighted?: boolean; zIndex?: number; forceLabel?: boolean } {
    if (!this.view.visible.has(id)) return { ...data, hidden: true };
    if (id === this.view.selected) return { ...data, size: data.size + 3, zIndex: 2, forceLabel: true };
    if (this.near.size && !this.near.has(id)) return { ...data, zIndex: 0 };
    return { ...data, zIndex: 1 };
  }

  private drawnEdge(id: string, data: EdgeAttributes): Partial<EdgeAttributes> & { hidden?: boolean; color?: string; zIndex?: number } {
    if (data.trussness < this.view.leastTrussness) return { ...data, hidden: true };
    const { selected } = this.view;
    if (selected && this.graph.hasNode(selected) && this.graph.hasExtremity(id, selected)) {
      return { ...data, color: this.theme.isDark ? "#8fa3ab" : "#6d7f86", zIndex: 1 };
    }
    return { ...data, zIndex: 0 };
  }

  private drawHover(context: CanvasRenderingContext2D, data: { x: number; y: number; size: number; label?: string | null; color: string }, size: number): void {
    context.font = `600 ${size}px system-ui, sans-serif`;
    const text = data.label ?? "";
    const width = context.measureText(text).width;
    context.fillStyle = this.theme.ground;
    context.strokeStyle = this.theme.edge;
    context.beginPath();
    context.roundRect(data.x + data.size + 1, data.y - size, width + 12, size * 2, 5);
    context.fill();
    context.stroke();
    context.beginPath();
    context.arc(data.x, data.y, data.size + 2, 0, Math.PI * 2);
    context.stroke();
    context.fillStyle = this.theme.text;
    context.fillText(text, data.x + data.size + 7, data.y + size / 3);
  }
}

function nextFrames(): Promise<void> {
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));
}
