/** The place where files are dropped or chosen, and the progress of their publication. */

import { useRef, useState } from "preact/hooks";
import { ACCEPTED, filesOfDrop, filesOfList } from "../upload/files";
import { progress, publishFiles } from "../upload/publish";
import { count, plural } from "../text";
import { Button, Notice } from "./basics";

export function PublishFiles({ graph, isDisabled = false }: { graph: string; isDisabled?: boolean }) {
  const [isOver, setOver] = useState(false);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const drop = async (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    if (event.dataTransfer && !isDisabled) await publishFiles(graph, await filesOfDrop(event.dataTransfer));
  };
  const choose = async (event: Event & { currentTarget: HTMLInputElement }) => {
    const input = event.currentTarget;
    const found = filesOfList(input.files ?? []);
    input.value = "";
    if (found.length) await publishFiles(graph, found);
  };
  return (
    <section aria-label="Publish files">
      <div
        class={`drop ${isOver ? "over" : ""}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <p>
          Drop text, Markdown, CSV or JSON-lines files here, or a folder of them.
        </p>
        <div class="actions">
          <Button kind="main" disabled={isDisabled} onClick={() => files.current?.click()}>
            Choose files
          </Button>
          <Button disabled={isDisabled} onClick={() => folder.current?.click()}>
            Choose a folder
          </Button>
        </div>
        <input ref={files} class="hidden" type="file" multiple accept={ACCEPTED} onChange={choose} aria-label="Files to publish" tabIndex={-1} />
        <input
          ref={(element) => {
            folder.current = element;
            if (element) element.webkitdirectory = true;
          }}
          class="hidden"
          type="file"
          onChange={choose}
          aria-label="Folder to publish"
          tabIndex={-1}
        />
      </div>
      <PublishProgress graph={graph} />
    </section>
  );
}

function PublishProgress({ graph }: { graph: string }) {
  const state = progress.value;
  if (!state || state.graph !== graph) return null;
  const isRunning = state.stage === "reading" || state.stage === "waiting";
  return (
    <div class="publish-progress">
      {isRunning ? (
        <label class="bar">
          <span>{state.stage === "reading" ? `Sending file ${count(state.read)} of ${count(state.files)}` : `${plural(state.accepted, "document")} accepted; the graph is being updated`}</span>
          {state.stage === "reading" ? <progress max={state.files} value={state.read} /> : <progress />}
        </label>
      ) : null}
      {state.stage === "done" && state.accepted ? <Notice kind="good">{plural(state.accepted, "document")} in the graph.</Notice> : null}
      {state.stage === "failed" ? <Notice kind="error">{state.error}</Notice> : null}
      {state.problems.length ? (
        <Notice kind="error">
          <p>Not published:</p>
          <ul>
            {state.problems.slice(0, 50).map((problem, index) => (
              <li key={index}>
                <span class="id">{problem.name}</span>: {problem.reason}
              </li>
            ))}
          </ul>
        </Notice>
      ) : null}
    </div>
  );
}
