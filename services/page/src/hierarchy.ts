/** The levels of the community hierarchy of a graph, 0 the finest. */

import { address, getJson } from "./api/client";
import type { CommunityPage, CommunitySummary } from "./api/types";

/** The hierarchies of the service have three levels. */
const MAX_LEVELS = 3;
const MAX_COMMUNITIES = 10_000;

/** Return the communities of a level, at most 10,000. */
export async function readLevel(graph: string, level: number, abort?: AbortSignal): Promise<CommunitySummary[]> {
  const found: CommunitySummary[] = [];
  let cursor: string | undefined = "";
  while (cursor !== undefined && found.length < MAX_COMMUNITIES) {
    const page: CommunityPage = await getJson(address(["v1", "graphs", graph, "communities"], { level, limit: 1000, cursor }), abort);
    found.push(...page.communities);
    cursor = page.next ?? undefined;
  }
  return found;
}

/** Return the communities of every level that has some, the finest first. */
export async function readLevels(graph: string, abort?: AbortSignal): Promise<CommunitySummary[][]> {
  const levels: CommunitySummary[][] = [];
  for (let level = 0; level < MAX_LEVELS; level += 1) {
    const found = await readLevel(graph, level, abort);
    if (!found.length) break;
    levels.push(found);
  }
  return levels;
}

/** Return the ancestor of every community on a level. */
export function ancestors(levels: readonly (readonly CommunitySummary[])[], level: number): ReadonlyMap<number, number> {
  const parents = new Map(levels.flat().map((each) => [each.community, each] as const));
  const result = new Map<number, number>();
  for (const each of levels[0] ?? []) {
    let at: CommunitySummary = each;
    while (at.level < level && at.parent) {
      const parent = parents.get(at.parent);
      if (!parent) break;
      at = parent;
    }
    result.set(each.community, at.community);
  }
  return result;
}

/** Return the level whose communities are the most telling: the finest where four of five entities have company. */
export function usefulLevel(levels: readonly (readonly CommunitySummary[])[]): number {
  for (const [level, communities] of levels.entries()) {
    const entities = communities.reduce((sum, each) => sum + each.size, 0);
    const accompanied = communities.reduce((sum, each) => sum + (each.size > 1 ? each.size : 0), 0);
    if (accompanied * 5 >= entities * 4) return level;
  }
  return Math.max(0, levels.length - 1);
}
