/** Small parts of screens: notices, states, fields, definitions, titles. All texts are text nodes, never HTML. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiError, messageOf } from "../api/client";
import type { DocumentState } from "../api/types";
import { type Piece } from "../text";

/** The heading of a screen, which takes the focus when the screen opens. */
export function Title({ text, lead, children }: { text: string; lead?: string; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${text} · Graphtide`;
    if (shouldFocus()) heading.current?.focus({ preventScroll: true });
  }, [text]);
  return (
    <div class="title">
      <div class="title-text">
        <h1 ref={heading} tabIndex={-1}>
          {text}
        </h1>
        {lead ? <p class="lead">{lead}</p> : null}
      </div>
      {children ? <div class="actions">{children}</div> : null}
    </div>
  );
}

let navigated = false;

/** Note that the user followed a link, so that the focus moves to the new screen's heading. */
export function noteNavigation(): void {
  navigated = true;
}

function shouldFocus(): boolean {
  const result = navigated;
  navigated = false;
  return result;
}

export function Notice({ kind = "info", children }: { kind?: "info" | "error" | "good"; children: ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role={kind === "error" ? "alert" : "status"}>
      {children}
    </div>
  );
}

/** What to say, and where to go on, when the service does not have the thing that the address names. */
interface Missing {
  readonly text: string;
  readonly href: string;
  readonly label: string;
}

export function ErrorNotice({ error, retry, missing }: { error: unknown; retry?: () => void; missing?: Missing }) {
  if (error instanceof ApiError && error.status === 401) return null;
  if (missing && error instanceof ApiError && error.status === 404)
    return (
      <Notice kind="error">
        <p>{missing.text}</p>
        <a class="button" href={missing.href} onClick={noteNavigation}>
          {missing.label}
        </a>
      </Notice>
    );
  return (
    <Notice kind="error">
      <p>{messageOf(error)}</p>
      {retry ? <Button onClick={retry}>Try again</Button> : null}
    </Notice>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function Busy({ label = "Loading" }: { label?: string }) {
  return (
    <p class="busy" role="status">
      <span class="spinner" aria-hidden="true" />
      {label} …
    </p>
  );
}

interface ButtonProps {
  readonly onClick?: (event: MouseEvent) => void;
  readonly children: ComponentChildren;
  readonly kind?: "plain" | "main" | "danger" | "quiet";
  readonly disabled?: boolean;
  readonly type?: "button" | "submit";
  readonly label?: string;
  readonly pressed?: boolean;
}

export function Button({ onClick, children, kind = "plain", disabled, type = "button", label, pressed }: ButtonProps) {
  return (
    <button type={type} class={`button ${kind}`} onClick={onClick} disabled={disabled} aria-label={label} aria-pressed={pressed}>
      {children}
    </button>
  );
}

const STATE_WORDS: Record<DocumentState, string> = {
  accepted: "being processed",
  applied: "in the graph",
  superseded: "superseded",
  deleted: "deleted",
  failed: "failed",
};

export function State({ state }: { state: DocumentState }) {
  return (
    <span class={`state ${state}`} title={`state: ${state}`}>
      {STATE_WORDS[state]}
    </span>
  );
}

export function Tag({ children }: { children: ComponentChildren }) {
  return <span class="tag">{children}</span>;
}

/** A text with marked pieces. */
export function Marked({ pieces }: { pieces: readonly Piece[] }) {
  return <>{pieces.map((piece) => (piece.isMarked ? <mark>{piece.text}</mark> : piece.text))}</>;
}

export function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== "" && value !== null && value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function Field({ label, children, hint }: { label: string; children: ComponentChildren; hint?: string }) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
      {hint ? <small>{hint}</small> : null}
    </label>
  );
}

interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [string, string])[];
  readonly onChange: (value: string) => void;
}

export function Select({ label, value, options, onChange }: SelectProps) {
  return (
    <Field label={label}>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([key, text]) => (
          <option key={key} value={key} selected={key === value}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}
