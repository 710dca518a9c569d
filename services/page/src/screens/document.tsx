/** One document: its state, text, facts and related documents; editing and deletion. */

import { useEffect, useRef, useState } from "preact/hooks";
import { announce } from "../announce";
import { ApiError, address, getJson, messageOf, sendJson } from "../api/client";
import type { DocumentStatus, Fact, Receipt, RelatedList } from "../api/types";
import { useLoad } from "../load";
import { Busy, Button, ErrorNotice, Facts, Marked, Notice, State, Tag, Title, noteNavigation } from "../parts/basics";
import { Confirm } from "../parts/confirm";
import { formatRoute, navigate, route } from "../router";
import { dateTime, findQuote, markSpans, period } from "../text";
import { published, waitFor } from "../upload/publish";

export function DocumentScreen({ graph, id }: { graph: string; id: string }) {
  const path = address(["v1", "graphs", graph, "documents", id]);
  const status = useLoad(`${path} ${published.value}`, (abort) => getJson<DocumentStatus>(path, abort));
  useReloadWhileAccepted(status.data, status.reload);
  const [isEditing, setEditing] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const [problem, setProblem] = useState("");
  const [step, setStep] = useState("");
  const document = status.data;
  const settle = async (send: () => Promise<Receipt>, done: string) => {
    setProblem("");
    setStep("Sending …");
    try {
      const { token } = await send();
      setStep("Accepted; the graph is being updated …");
      await waitFor(graph, token);
      announce(done);
      published.value += 1;
      return true;
    } catch (error) {
      setProblem(messageOf(error));
      return false;
    } finally {
      setStep("");
    }
  };
  const save = async (text: string) => {
    if (document && (await settle(() => sendJson("PUT", path, revised(document, text)), "The document is up to date."))) setEditing(false);
  };
  const remove = async () => {
    if (await settle(() => sendJson("DELETE", path), "The document was deleted.")) navigate(formatRoute(graph, "documents"));
  };
  return (
    <>
      <Title text={document?.title || id}>
        {document && document.state !== "deleted" ? (
          <>
            <Button onClick={() => setEditing(true)} disabled={isEditing}>
              Edit
            </Button>
            <Button kind="danger" onClick={() => setDeleting(true)}>
              Delete
            </Button>
          </>
        ) : null}
      </Title>
      {status.error ? <ErrorNotice error={status.error} retry={status.reload} missing={missing(graph)} /> : null}
      {status.isLoading && !document ? <Busy /> : null}
      {problem ? <Notice kind="error">{problem}</Notice> : null}
      {step ? <Busy label={step.replace(/ …$/, "")} /> : null}
      {document ? <Summary document={document} /> : null}
      {document && isEditing ? <Editor document={document} isBusy={step !== ""} onSave={save} onCancel={() => setEditing(false)} /> : null}
      {document && !isEditing ? <Text text={document.text} /> : null}
      {document ? <FactTable facts={document.facts} /> : null}
      {document?.live_revision != null ? <Related graph={graph} id={id} revision={document.live_revision} /> : null}
      {isDeleting ? (
        <Confirm
          title="Delete this document?"
          text={`“${document?.title || id}” leaves the graph, with everything that it alone supports.`}
          action="Delete the document"
          onConfirm={remove}
          onClose={() => setDeleting(false)}
        />
      ) : null}
    </>
  );
}

/** A document that is being processed is read again until its state is final. */
function useReloadWhileAccepted(document: DocumentStatus | undefined, reload: () => void): void {
  useEffect(() => {
    if (document?.state !== "accepted") return;
    const timer = setTimeout(reload, 1000);
    return () => clearTimeout(timer);
  }, [document]);
}

/** Return the document with another text; everything else of it stays. */
export function revised(document: DocumentStatus, text: string): Record<string, unknown> {
  const { title, source, occurred_at, metadata, media_type } = document;
  const kept = Object.entries({ title, source, occurred_at, media_type }).filter(([, value]) => value);
  return { text, ...Object.fromEntries(kept), ...(Object.keys(metadata).length ? { metadata } : {}) };
}

function Summary({ document }: { document: DocumentStatus }) {
  const metadata = Object.entries(document.metadata);
  return (
    <Facts
      rows={[
        ["Id", <span class="id">{document.doc_id}</span>],
        ["State", <State state={document.state} />],
        ["Reason", document.reason],
        ["Revision", `${document.revision}${document.live_revision !== null && document.live_revision !== document.revision ? ` (in the graph: ${document.live_revision})` : ""}`],
        ["Source", document.source],
        ["Date", /T/.test(document.occurred_at) ? dateTime(document.occurred_at) : document.occurred_at],
        ["Format", document.media_type],
        ["Metadata", metadata.length ? metadata.map(([key, value]) => <Tag key={key}>{`${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`}</Tag>) : ""],
      ]}
    />
  );
}

function Text({ text }: { text: string }) {
  const { quote = "" } = route.value.query;
  const place = quote ? findQuote(text, quote) : null;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.querySelector("mark")?.scrollIntoView({ block: "center" }), [text, quote]);
  return (
    <section aria-labelledby="text">
      <h2 id="text">Text</h2>
      {quote && !place ? <Notice>The quoted sentence does not occur in the current text of the document.</Notice> : null}
      <div class="document-text" ref={box}>
        <Marked pieces={markSpans(text, place ? [place] : [])} />
      </div>
    </section>
  );
}

interface EditorProps {
  readonly document: DocumentStatus;
  readonly isBusy: boolean;
  readonly onSave: (text: string) => void;
  readonly onCancel: () => void;
}

function Editor({ document, isBusy, onSave, onCancel }: EditorProps) {
  const [text, setText] = useState(document.text);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(text);
      }}
    >
      <label class="field">
        <span>Text</span>
        <textarea ref={area} rows={Math.min(24, Math.max(8, text.split("\n").length + 2))} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <div class="actions">
        <Button kind="main" type="submit" disabled={isBusy || !text.trim() || text === document.text}>
          Save
        </Button>
        <Button onClick={onCancel} disabled={isBusy}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

function FactTable({ facts }: { facts: readonly Fact[] }) {
  if (!facts.length) return null;
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">
        Facts <Tag>{facts.length}</Tag>
      </h2>
      <table class="list">
        <caption class="visually-hidden">Facts that the document states</caption>
        <thead>
          <tr>
            <th scope="col">Fact</th>
            <th scope="col">Validity</th>
            <th scope="col">Evidence</th>
          </tr>
        </thead>
        <tbody>
          {facts.slice(0, 300).map((fact, index) => (
            <tr key={index}>
              <td>
                {fact.subject} <em>{fact.predicate}</em> {fact.object}
              </td>
              <td data-label="Validity">
                {period(fact.valid_from, fact.valid_to)} {fact.ended_by ? `ended by ${fact.ended_by}${fact.superseding_value ? `: ${fact.superseding_value}` : ""}` : ""}
              </td>
              <td data-label="Evidence">{fact.evidence || "given by the publisher"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Related({ graph, id, revision }: { graph: string; id: string; revision: number }) {
  const path = `${address(["v1", "graphs", graph, "documents", id])}/related`;
  const related = useLoad(`${path} ${revision}`, (abort) => getJson<RelatedList>(path, abort).catch(onNone));
  if (!related.data?.documents.length) return null;
  return (
    <section aria-labelledby="related">
      <h2 id="related">Related documents</h2>
      <ul class="rows">
        {related.data.documents.map((each) => (
          <li key={each.doc_id} class="row">
            <a href={formatRoute(graph, "documents", each.doc_id)} onClick={noteNavigation}>
              {each.title || each.doc_id}
            </a>
            <span class="place">{each.entities.join(", ")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function onNone(error: unknown): RelatedList {
  if (error instanceof ApiError && error.status === 404) return { doc_id: "", version: 0, documents: [] };
  throw error;
}

function missing(graph: string) {
  return { text: "The graph has no document with this id.", href: formatRoute(graph, "documents"), label: "All documents" };
}
