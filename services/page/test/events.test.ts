import { expect, it } from "vitest";
import { type ServerEvent, parseEvents } from "../src/api/events";

async function parsed(chunks: readonly string[]): Promise<ServerEvent[]> {
  async function* source(): AsyncGenerator<string> {
    yield* chunks;
  }
  const events: ServerEvent[] = [];
  for await (const event of parseEvents(source())) events.push(event);
  return events;
}

const STREAM = ': hello\n\nevent: token\ndata: {"text": "a\\nb"}\nid: 7\n\ndata: one\ndata: two\n\n:beat\n\nevent: empty\n\ndata:x\r\n\r\n';

it("events are the same however the stream is divided", async () => {
  const whole = await parsed([STREAM]);
  expect(whole).toEqual([
    { name: "token", data: '{"text": "a\\nb"}', id: "7" },
    { name: "message", data: "one\ntwo", id: "7" },
    { name: "message", data: "x", id: "7" },
  ]);
  for (let at = 0; at <= STREAM.length; at += 1) expect(await parsed([STREAM.slice(0, at), STREAM.slice(at)])).toEqual(whole);
  expect(await parsed([...STREAM])).toEqual(whole);
});

it("an event without its end is not delivered", async () => {
  expect(await parsed(["data: cut"])).toEqual([]);
});
