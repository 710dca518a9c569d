import { expect, it } from "vitest";
import { currentRoute, formatRoute, parseRoute, replaceQuery, replaceRoute, route } from "../src/router";

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

it("filters do not bring a user back who has left the list", () => {
  replaceRoute("#/notes/documents");
  replaceQuery("notes", "documents", { prefix: "a" });
  expect(route.value.query).toEqual({ prefix: "a" });
  for (const elsewhere of ["#/notes/documents/ida", "#/notes/ask", "#/other/documents"]) {
    replaceRoute(elsewhere);
    replaceQuery("notes", "documents", { prefix: "b" });
    expect(formatRoute(route.value.graph, route.value.screen, route.value.id)).toBe(elsewhere);
  }
});

it("a link that was followed a moment ago is not overwritten", () => {
  replaceRoute("#/notes/documents");
  location.hash = "#/notes/entities/ida";
  expect(route.value.screen).toBe("documents"); // the browser has not reported the change yet
  replaceQuery("notes", "documents", { prefix: "a" });
  expect(location.hash).toBe("#/notes/entities/ida");
  expect(currentRoute()).toMatchObject({ graph: "notes", screen: "entities", id: "ida" });
  expect(currentRoute()).toBe(route.value);
});
