/** The application: the screen of the current address inside the frame. */

import { Suspense, lazy } from "preact/compat";
import { useEffect } from "preact/hooks";
import { reconnections } from "./api/client";
import { signInReason } from "./api/session";
import { graphs, graphsError, loadGraphs } from "./graphs";
import { Busy, ErrorNotice } from "./parts/basics";
import { Shell } from "./parts/shell";
import { currentRoute, formatRoute, replaceRoute, route } from "./router";
import { AskScreen } from "./screens/ask";
import { CommunitiesScreen, CommunityScreen } from "./screens/communities";
import { DocumentScreen } from "./screens/document";
import { DocumentsScreen } from "./screens/documents";
import { EntitiesScreen } from "./screens/entities";
import { EntityScreen } from "./screens/entity";
import { LiveScreen } from "./screens/live";
import { OperationsScreen } from "./screens/operations";
import { SignIn } from "./screens/sign-in";
import { FirstSteps } from "./screens/first-steps";

const GraphScreen = lazy(async () => ({ default: (await import("./screens/graph")).GraphScreen }));

export function App() {
  useEffect(() => {
    void loadGraphs();
  }, [reconnections.value]);
  const { graph } = route.value;
  useEffect(() => {
    if (graph && graphs.value && !graphs.value.some((each) => each.graph === graph)) void loadGraphs();
  }, [graph]);
  const first = graphs.value?.[0]?.graph;
  useEffect(() => {
    const { graph: chosen, screen, id, query } = currentRoute(); // the user may have followed a link since the rendering
    if (!chosen && first) replaceRoute(formatRoute(first, screen, id, query));
  }, [graph, first]);
  if (signInReason.value !== null) return <SignIn />;
  return (
    <Shell>
      <Content />
    </Shell>
  );
}

function Content() {
  const { graph } = route.value;
  if (graphs.value === null) return graphsError.value ? <ErrorNotice error={graphsError.value} /> : <Busy />;
  if (!graph || !graphs.value.some((each) => each.graph === graph)) return <FirstSteps graph={graph} />;
  return <ScreenOf key={graph} />;
}

function ScreenOf() {
  const { graph, screen, id } = route.value;
  switch (screen) {
    case "ask":
      return <AskScreen graph={graph} />;
    case "documents":
      return id ? <DocumentScreen key={id} graph={graph} id={id} /> : <DocumentsScreen graph={graph} />;
    case "entities":
      return id ? <EntityScreen key={id} graph={graph} id={id} /> : <EntitiesScreen graph={graph} />;
    case "graph":
      return (
        <Suspense fallback={<Busy />}>
          <GraphScreen graph={graph} />
        </Suspense>
      );
    case "communities":
      return id ? <CommunityScreen key={id} graph={graph} id={id} /> : <CommunitiesScreen graph={graph} />;
    case "live":
      return <LiveScreen graph={graph} />;
    case "operations":
      return <OperationsScreen graph={graph} />;
  }
}
