/** Formatting of values, and places in texts. The service counts characters as Unicode code points. */

const NUMBER = new Intl.NumberFormat("en");
const DATE_TIME = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });

export function count(value: number): string {
  return NUMBER.format(value);
}

export function plural(value: number, noun: string, many = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : many}`;
}

/** Return the number of shown things, with that of all where more exist: "20 of 57". */
export function shownOf(shown: number, total: number): string {
  return total > shown ? `${count(shown)} of ${count(total)}` : count(shown);
}

export function decimal(value: number, digits = 2): string {
  return Number.isFinite(value) ? String(Number(value.toFixed(digits))) : "–";
}

export function seconds(value: number): string {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 120) return `${decimal(value, 1)} s`;
  return value < 7200 ? `${Math.round(value / 60)} min` : `${decimal(value / 3600, 1)} h`;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  return value < 1 << 20 ? `${decimal(value / 1024, 1)} KiB` : `${decimal(value / (1 << 20), 1)} MiB`;
}

export function dateTime(text: string): string {
  const date = new Date(text);
  return text && !Number.isNaN(date.getTime()) ? DATE_TIME.format(date) : text;
}

/** Return a period such as "since 1998", "until 2004", "1998 to 2004", or "" without dates. */
export function period(from: string, to: string): string {
  if (from && to) return from === to ? from : `${from} to ${to}`;
  return from ? `since ${from}` : to ? `until ${to}` : "";
}

/** The document of a chunk: the id of a chunk is the document's, `#`, and a digest of its text. */
export function documentOf(chunkId: string): string {
  const at = chunkId.lastIndexOf("#");
  return at < 0 ? chunkId : chunkId.slice(0, at);
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Return a span in code points as one in the UTF-16 units that JavaScript's strings count. */
export function toUnits(text: string, span: Span): Span {
  let units = 0;
  let points = 0;
  let start = span.start <= 0 ? 0 : text.length;
  for (const character of text) {
    if (points === span.start) start = units;
    if (points === span.end) return { start, end: units };
    units += character.length;
    points += 1;
  }
  return { start, end: text.length };
}

/** Return the place of a quotation in a text, whatever white space separates its words; null if it does not occur. */
export function findQuote(text: string, quote: string): Span | null {
  const words = quote.split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+");
  const found = new RegExp(pattern, "u").exec(text);
  return found ? { start: found.index, end: found.index + found[0].length } : null;
}

export interface Piece {
  readonly text: string;
  readonly isMarked: boolean;
}

/** Divide a text at spans, which may overlap, in UTF-16 units. */
export function markSpans(text: string, spans: readonly Span[]): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const start = Math.max(at, span.start);
    const end = Math.min(text.length, span.end);
    if (end <= start) continue;
    if (start > at) pieces.push({ text: text.slice(at, start), isMarked: false });
    pieces.push({ text: text.slice(start, end), isMarked: true });
    at = end;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), isMarked: false });
  return pieces;
}

/** Divide an answer at its `[n]`; an entry is a text or the number of a source. */
export function splitCitations(answer: string): (string | number)[] {
  return answer
    .split(/(\[\d{1,3}\])/)
    .filter((part) => part !== "")
    .map((part) => (/^\[\d{1,3}\]$/.test(part) ? Number(part.slice(1, -1)) : part));
}

/** Return an answer in pieces of text and of code, which is indented between empty lines. */
export function splitCode(answer: string): { text: string; isCode: boolean }[] {
  return answer
    .split(/\n\n((?: {4}[^\n]*\n|\n(?= {4}))+)\n/)
    .map((text, index) => (index % 2 ? { text: text.replace(/^ {4}/gm, "").trimEnd(), isCode: true } : { text, isCode: false }))
    .filter((piece) => piece.text !== "");
}

interface PlaceOfText {
  headings?: string[];
  page?: number;
  row?: number;
  kind?: string;
}

/** Describe the place of a passage in its document: headings, page, and the rows that are quoted, or else the first. */
export function placeText(place: PlaceOfText, quoted: readonly PlaceOfText[] = []): string {
  const parts = [...(place.headings ?? [])];
  if (place.page) parts.push(`page ${place.page}`);
  const rows = [...new Set((quoted.length ? quoted : [place]).flatMap((each) => each.row || []))].sort((a, b) => a - b);
  if (rows.length) parts.push(`${rows.length > 1 ? "rows" : "row"} ${rows.join(", ")}`);
  return parts.join(" › ");
}
