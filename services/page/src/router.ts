/** Addresses inside the page: `#/{graph}/{screen}/{id}?{query}`. They name what is shown and hold no secret. */

import { signal } from "@preact/signals";

export const SCREENS = ["ask", "documents", "entities", "graph", "communities", "live", "operations"] as const;
export type Screen = (typeof SCREENS)[number];

export interface Route {
  readonly graph: string;
  readonly screen: Screen;
  readonly id: string;
  readonly query: Readonly<Record<string, string>>;
}

export function parseRoute(hash: string): Route {
  const [path = "", search = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  const [graph = "", screen = "", ...rest] = path.split("/").map(decode);
  const known = SCREENS.find((each) => each === screen) ?? "ask";
  return { graph, screen: known, id: rest.join("/"), query: Object.fromEntries(new URLSearchParams(search)) };
}

export function formatRoute(graph: string, screen: Screen, id = "", query: Readonly<Record<string, string>> = {}): string {
  const path = [graph, screen, ...(id ? [id] : [])].map(encodeURIComponent).join("/");
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
  return `#/${path}${search ? `?${search}` : ""}`;
}

let shown = location.hash;
export const route = signal(parseRoute(shown));

export function startRouter(): void {
  addEventListener("hashchange", currentRoute);
}

/** Return the route of the address as it is now: the browser reports a link that was followed only later. */
export function currentRoute(): Route {
  if (location.hash !== shown) show(location.hash);
  return route.peek();
}

function show(hash: string): void {
  shown = hash;
  route.value = parseRoute(hash);
}

export function navigate(to: string): void {
  location.hash = to.replace(/^#/, "");
}

/** Change the address without a new entry in the history, as when a filter changes. */
export function replaceRoute(to: string): void {
  history.replaceState(null, "", to);
  show(location.hash);
}

/** Write the filters of a list into the address, unless the user has left the list meanwhile. */
export function replaceQuery(graph: string, screen: Screen, query: Readonly<Record<string, string>>): void {
  const now = currentRoute();
  if (now.graph === graph && now.screen === screen && !now.id) replaceRoute(formatRoute(graph, screen, "", query));
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
