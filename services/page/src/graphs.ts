/** The graphs that the credential may read, and the choice of one. */

import { signal } from "@preact/signals";
import { address, getJson } from "./api/client";
import type { GraphPage, GraphSummary } from "./api/types";

export const graphs = signal<readonly GraphSummary[] | null>(null);
export const graphsError = signal<unknown>(null);

/** Read the list of graphs, all pages of it. */
export async function loadGraphs(): Promise<void> {
  try {
    const found: GraphSummary[] = [];
    let cursor: string | undefined = "";
    while (cursor !== undefined) {
      const page: GraphPage = await getJson(address(["v1", "graphs"], { limit: 1000, cursor }));
      found.push(...page.graphs);
      cursor = page.next ?? undefined;
    }
    graphs.value = found;
    graphsError.value = null;
  } catch (error) {
    graphsError.value = error;
  }
}
