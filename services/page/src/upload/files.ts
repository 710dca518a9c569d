/** Reading of files into documents, in the browser. The id of a document is the path of its file. */

export interface FoundFile {
  readonly path: string;
  readonly file: File;
}

export interface NewDocument {
  readonly id: string;
  readonly text: string;
  readonly title?: string;
  readonly source?: string;
  readonly occurred_at?: string;
  readonly metadata?: Record<string, unknown>;
  readonly media_type?: string;
}

export type ReadResult = { readonly documents: readonly NewDocument[] } | { readonly problem: string };

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  txt: "text/plain",
  text: "text/plain",
  log: "text/plain",
  rst: "text/plain",
  md: "text/markdown",
  markdown: "text/markdown",
  csv: "text/csv",
};
const CONVERTED = new Set(["pdf", "docx", "html", "htm", "eml"]);
export const ACCEPTED = ".txt,.text,.log,.rst,.md,.markdown,.csv,.jsonl,.ndjson,text/plain,text/markdown,text/csv";
export const MAX_FILE_BYTES = 6 << 20;

/** Return the documents of a file, or the reason why it cannot be published. */
export async function readFile({ path, file }: FoundFile): Promise<ReadResult> {
  const ending = path.includes(".") ? path.slice(path.lastIndexOf(".") + 1).toLowerCase() : "";
  if (CONVERTED.has(ending)) return { problem: `.${ending} files need conversion: publish them with graphtide sync` };
  if (file.size > MAX_FILE_BYTES) return { problem: "the file is larger than 6 MiB: publish it with graphtide sync" };
  const text = decodeText(await file.arrayBuffer());
  if (text === null) return { problem: "the file is not text in UTF-8" };
  if (!text.trim()) return { problem: "the file is empty" };
  if (ending === "jsonl" || ending === "ndjson") return readLines(text);
  return { documents: [{ id: path, text, title: titleOf(path), source: path, media_type: MEDIA_TYPES[ending] ?? "text/plain" }] };
}

export function decodeText(content: ArrayBuffer): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    return text.includes("\u0000") ? null : text;
  } catch {
    return null;
  }
}

/** Return the name of a file as words: `spare-parts_2024.csv` is "spare parts 2024". */
export function titleOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).replace(/\.[^.]*$/, "");
  return name.replace(/[-_\s]+/g, " ").trim();
}

function readLines(text: string): ReadResult {
  const documents: NewDocument[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    try {
      const value = JSON.parse(line) as NewDocument;
      if (typeof value.id !== "string" || typeof value.text !== "string") throw new Error();
      documents.push(value);
    } catch {
      return { problem: `line ${index + 1} is not a JSON object with "id" and "text"` };
    }
  }
  return { documents };
}

interface Entry {
  readonly isFile: boolean;
  readonly fullPath: string;
  file(done: (file: File) => void, failed: (error: unknown) => void): void;
  createReader(): { readEntries(done: (entries: Entry[]) => void, failed: (error: unknown) => void): void };
}

/** Return the files of a drop, those in folders included. Hidden files and folders are left out. */
export async function filesOfDrop(transfer: DataTransfer): Promise<FoundFile[]> {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() as Entry | null);
  if (!entries.some(Boolean)) return filesOfList(transfer.files);
  const found: FoundFile[] = [];
  for (const entry of entries) if (entry) await collect(entry, found);
  return found;
}

export function filesOfList(files: Iterable<File>): FoundFile[] {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file })).filter((each) => !isHidden(each.path));
}

function isHidden(path: string): boolean {
  return path.split("/").some((part) => part.startsWith("."));
}

async function collect(entry: Entry, found: FoundFile[]): Promise<void> {
  const path = entry.fullPath.replace(/^\//, "");
  if (isHidden(path)) return;
  if (entry.isFile) {
    found.push({ path, file: await new Promise<File>((done, failed) => entry.file(done, failed)) });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const part = await new Promise<Entry[]>((done, failed) => reader.readEntries(done, failed));
    if (!part.length) return;
    for (const each of part) await collect(each, found);
  }
}
