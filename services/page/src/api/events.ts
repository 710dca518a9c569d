/** Reading of server-sent events from `fetch`, which sends the credential in a header; `EventSource` cannot. */

export interface ServerEvent {
  readonly name: string;
  readonly data: string;
  readonly id: string;
}

/** Yield the events of a text stream whose chunks may end anywhere. Comments, such as heartbeats, yield nothing. */
export async function* parseEvents(chunks: AsyncIterable<string>): AsyncGenerator<ServerEvent> {
  let rest = "";
  let lines: string[] = [];
  let id = "";
  for await (const chunk of chunks) {
    const parts = (rest + chunk).split(/\r\n|\n|\r(?!$)/);
    rest = parts.pop() ?? "";
    for (const line of parts) {
      if (line !== "") {
        lines.push(line);
        continue;
      }
      const event = eventOf(lines, id);
      lines = [];
      id = event?.id ?? id;
      if (event && event.data !== "") yield event;
    }
  }
}

function eventOf(lines: readonly string[], lastId: string): ServerEvent | null {
  let name = "message";
  let id = lastId;
  const data: string[] = [];
  for (const line of lines) {
    if (line.startsWith(":")) continue;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") name = value;
    else if (field === "data") data.push(value);
    else if (field === "id") id = value;
  }
  return lines.length ? { name, data: data.join("\n"), id } : null;
}

/** Yield the text of a response's body as it arrives. */
export async function* textOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
