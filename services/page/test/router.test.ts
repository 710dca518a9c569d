import { expect, it } from "vitest";
import { formatRoute, parseRoute } from "../src/router";

it("every id survives an address", () => {
  for (const id of ["a/b.md", "../x", "50 % #1?", "日本語 🚀", 'x"><script>', "a%2Fb", "e-1"]) {
    expect(parseRoute(formatRoute("notes", "documents", id, { quote: "a & b = c" }))).toEqual({
      graph: "notes",
      screen: "documents",
      id,
      query: { quote: "a & b = c" },
    });
  }
});

it("unknown addresses lead to the first screen", () => {
  expect(parseRoute("#/notes/nowhere")).toMatchObject({ graph: "notes", screen: "ask", id: "" });
  expect(parseRoute("")).toMatchObject({ graph: "", screen: "ask" });
  expect(parseRoute("#/%E0%A4%A")).toMatchObject({ graph: "%E0%A4%A" });
});
