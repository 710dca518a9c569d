import { expect, it } from "vitest";
import { summaryOf } from "../src/screens/live";
import { changeOf, idOf } from "../src/screens/standing";

it("a change is summarised by what it added, removed and changed", () => {
  const entity = { id: "e-1", name: "Ana" };
  const change = { token: "v2", version: 2, entities: { added: [entity, entity], removed: [entity] }, merges: [{ into: "e-1", name: "Ana" }], splits: [] };
  expect(summaryOf(change)).toBe("+2 entities, −1 entity, 1 merge");
  expect(summaryOf({ token: "v3", version: 3 })).toBe("");
});

it("an event of a standing question names the documents", () => {
  const passage = (doc_id: string, title = "") => ({ doc_id, title });
  expect(changeOf({ entered: [passage("a", "Boiler"), passage("a", "Boiler")], left: [passage("b")] })).toBe("new: Boiler; no longer: b");
  expect(changeOf({ entered: [], left: [] })).toBe("another order of the passages");
});

it("ids of questions are valid and distinct", () => {
  const ids = [idOf("Who signed the contract?"), idOf("Who signed the contract?"), idOf("誰?"), idOf("x".repeat(500))];
  expect(new Set(ids).size).toBe(4);
  for (const id of ids) expect(id).toMatch(/^[a-z0-9-]{3,60}$/);
});
