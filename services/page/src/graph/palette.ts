/** Colours of communities: the largest ones on display have a colour of their own, the others share grey. */

const LIGHT = ["#0b6b72", "#b4541a", "#5b4fb5", "#3f7d20", "#a8326e", "#8a6d00", "#1f6fc4", "#7a4a2b", "#00796b", "#c0392b", "#6a7f00", "#8e44ad"];
const DARK = ["#5cc4cc", "#f0995c", "#a79bf2", "#8fce6a", "#ee7fb6", "#dcc04a", "#7db8f5", "#cf9d7b", "#4fd1bd", "#f08a7e", "#c3d64f", "#cd8fe6"];
const REST = { light: "#8b979c", dark: "#77858c" };

export interface Theme {
  readonly isDark: boolean;
  readonly text: string;
  readonly edge: string;
  readonly ground: string;
}

export function themeNow(): Theme {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  return isDark
    ? { isDark, text: "#e4e9eb", edge: "#3d4a50", ground: "#1a2125" }
    : { isDark, text: "#1c2326", edge: "#c9d1d3", ground: "#ffffff" };
}

export interface LegendEntry<T> {
  readonly group: T;
  readonly color: string;
  readonly size: number;
}

/** Return a colour for each of the groups with the most members, the largest first, ties by name. */
export function legendOf<T extends string | number>(groups: readonly T[], isDark: boolean): LegendEntry<T>[] {
  const sizes = new Map<T, number>();
  for (const group of groups) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  const colors = isDark ? DARK : LIGHT;
  return [...sizes]
    .filter(([, size]) => size > 1)
    .sort(([a, left], [b, right]) => right - left || String(a).localeCompare(String(b)))
    .slice(0, colors.length)
    .map(([group, size], index) => ({ group, size, color: colors[index] ?? REST.light }));
}

export function restColor(isDark: boolean): string {
  return isDark ? REST.dark : REST.light;
}
