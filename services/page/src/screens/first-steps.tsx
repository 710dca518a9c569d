/** The screen without a graph: publishing the first documents makes one. */

import { useState } from "preact/hooks";
import { Field, Notice, Title } from "../parts/basics";
import { PublishFiles } from "../parts/publish";
import { graphs } from "../graphs";
import { formatRoute } from "../router";
import { progress } from "../upload/publish";

const GRAPH_NAME = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$/;

export function FirstSteps({ graph }: { graph: string }) {
  const [name, setName] = useState(graph || "notes");
  const isValid = GRAPH_NAME.test(name);
  const made = progress.value?.stage === "done" && graphs.value?.some((each) => each.graph === progress.value?.graph);
  return (
    <>
      <Title text={graph ? `No graph ${graph}` : "Start a graph"} lead="A graph comes into being with its first document. Publish some files, then ask." />
      <Field label="Name of the graph" hint="Letters, digits, dots, hyphens and underscores">
        <input type="text" value={name} onInput={(event) => setName(event.currentTarget.value.trim())} aria-invalid={!isValid} />
      </Field>
      <PublishFiles graph={name} isDisabled={!isValid} />
      {made && progress.value ? (
        <Notice kind="good">
          <a href={formatRoute(progress.value.graph, "ask")}>Ask a question</a>
        </Notice>
      ) : null}
    </>
  );
}
