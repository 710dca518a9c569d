/** The frame of every screen: navigation, choice of the graph, connection, live regions. */

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { announcement } from "../announce";
import { isReachable } from "../api/client";
import { credential, signOut } from "../api/session";
import { graphs } from "../graphs";
import { type Screen, formatRoute, navigate, route } from "../router";
import { Button, noteNavigation } from "./basics";

const NAMES: Record<Screen, string> = {
  ask: "Ask",
  documents: "Documents",
  entities: "Entities",
  graph: "Graph",
  communities: "Communities",
  live: "Live",
  operations: "Operations",
};

const isMenuOpen = signal(false);

export function Shell({ children }: { children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={formatRoute(route.value.graph, "ask")} onClick={noteNavigation}>
          <Logo />
          <span>Graphtide</span>
        </a>
        <GraphChoice />
        <button
          type="button"
          class="button menu"
          aria-expanded={isMenuOpen.value}
          aria-controls="navigation"
          onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
        >
          Menu
        </button>
      </header>
      <Navigation />
      <main id="main" tabIndex={-1}>
        <Connection />
        {children}
      </main>
      <div class="visually-hidden" role="status" aria-live="polite">
        {announcement.value}
      </div>
    </>
  );
}

function skipToMain(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Navigation() {
  const { graph, screen } = route.value;
  return (
    <nav id="navigation" aria-label="Screens" class={isMenuOpen.value ? "open" : ""}>
      <ul>
        {(Object.keys(NAMES) as Screen[]).map((each) => (
          <li key={each}>
            <a
              href={formatRoute(graph, each)}
              aria-current={each === screen ? "page" : undefined}
              onClick={() => {
                isMenuOpen.value = false;
                noteNavigation();
              }}
            >
              {NAMES[each]}
            </a>
          </li>
        ))}
      </ul>
      <div class="nav-end">
        <a href="docs">Interface for programs</a>
        {credential.value ? (
          <Button kind="quiet" onClick={() => signOut()}>
            Sign out
          </Button>
        ) : null}
      </div>
    </nav>
  );
}

function GraphChoice() {
  const { graph, screen } = route.value;
  const names = (graphs.value ?? []).map((each) => each.graph);
  const listed = graph && !names.includes(graph) ? [graph, ...names] : names;
  if (!listed.length) return null;
  return (
    <label class="graph-choice">
      <span>Graph</span>
      <select value={graph} onChange={(event) => navigate(formatRoute(event.currentTarget.value, screen))}>
        {listed.map((name) => (
          <option key={name} value={name} selected={name === graph}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Connection() {
  return isReachable.value ? null : (
    <div class="notice error" role="alert">
      <p>The service cannot be reached, or is starting. What you see may be out of date; this page tries again by itself.</p>
    </div>
  );
}

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
      <rect width="32" height="32" rx="7" class="logo-ground" />
      <path d="M5 21c3.700 0 3.700-4 7.300-4s3.700 4 7.400 4 3.600-4 7.300-4" class="logo-wave" />
      <path d="M12.300 11 21 8.500" class="logo-edge" />
      <circle cx="12.300" cy="11" r="2.600" class="logo-node" />
      <circle cx="21" cy="8.500" r="2" class="logo-node" />
    </svg>
  );
}
