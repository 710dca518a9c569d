import { expect, it } from "vitest";
import { decodeText, filesOfList, readFile, titleOf } from "../src/upload/files";

const file = (path: string, content: string | Uint8Array<ArrayBuffer>) => ({ path, file: new File([content], path) });

it("a text file is one document under its path", async () => {
  expect(await readFile(file("a/spare-parts_2024.md", "# Parts"))).toEqual({
    documents: [{ id: "a/spare-parts_2024.md", text: "# Parts", title: "spare parts 2024", source: "a/spare-parts_2024.md", media_type: "text/markdown" }],
  });
});

it("what cannot be published is named with the reason", async () => {
  expect(await readFile(file("a.pdf", "%PDF"))).toMatchObject({ problem: expect.stringContaining("graphtide sync") });
  expect(await readFile(file("a.txt", new Uint8Array([0xff, 0xfe, 0x41])))).toMatchObject({ problem: expect.stringContaining("UTF-8") });
  expect(await readFile(file("a.txt", " \n"))).toMatchObject({ problem: "the file is empty" });
  expect(await readFile(file("a.jsonl", '{"id": "x", "text": "y"}\nnot json'))).toMatchObject({ problem: expect.stringContaining("line 2") });
});

it("JSON lines are whole documents", async () => {
  expect(await readFile(file("a.jsonl", '{"id": "x", "text": "y", "source": "s"}\n\n'))).toEqual({ documents: [{ id: "x", text: "y", source: "s" }] });
});

it("binary content is not text", () => {
  expect(decodeText(new TextEncoder().encode("a\u0000b").buffer)).toBeNull();
  expect(decodeText(new TextEncoder().encode("\ufeffä").buffer)).toBe("ä");
});

it("hidden files are left out and names become titles", () => {
  expect(filesOfList([new File(["x"], ".env"), new File(["x"], "b.txt")]).map((each) => each.path)).toEqual(["b.txt"]);
  expect([titleOf("x/2024-05-31-minutes.md"), titleOf("notes")]).toEqual(["2024 05 31 minutes", "notes"]);
});
