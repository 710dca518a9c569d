import { describe, expect, it } from "vitest";
import { documentOf, findQuote, markSpans, period, placeText, shownOf, splitCitations, splitCode, toUnits } from "../src/text";

describe("spans", () => {
  it("count code points as the service does", () => {
    const text = "🚢🚢 Ana signed. Done.";
    const span = toUnits(text, { start: 3, end: 14 });
    expect(text.slice(span.start, span.end)).toBe("Ana signed.");
    expect(toUnits("abc", { start: 1, end: 99 })).toEqual({ start: 1, end: 3 });
    expect(toUnits("abc", { start: 0, end: 3 })).toEqual({ start: 0, end: 3 });
  });

  it("mark overlapping and out-of-range spans once, and lose no character", () => {
    const text = "abcdefghij";
    const pieces = markSpans(text, [
      { start: 4, end: 7 },
      { start: 2, end: 5 },
      { start: 8, end: 40 },
      { start: 9, end: 9 },
    ]);
    expect(pieces.map((piece) => piece.text).join("")).toBe(text);
    expect(pieces.filter((piece) => piece.isMarked).map((piece) => piece.text)).toEqual(["cde", "fg", "ij"]);
  });

  it("find a quotation whatever its white space, and treat it as text, not as a pattern", () => {
    expect(findQuote("One (two)\n  three.", "(two) three.")).toEqual({ start: 4, end: 18 });
    expect(findQuote("aaaa", "a+")).toBeNull();
    expect(findQuote("text", "  ")).toBeNull();
  });
});

it("answers are divided at their citations", () => {
  expect(splitCode("Do this: [1]\n\n    a = b\n\n      c()\n\n[2]\n\nThen `x`: [3]\n\n    d\n\n[4]")).toEqual([
    { text: "Do this: [1]", isCode: false },
    { text: "a = b\n\n  c()", isCode: true },
    { text: "[2]\n\nThen `x`: [3]", isCode: false },
    { text: "d", isCode: true },
    { text: "[4]", isCode: false },
  ]);
  expect(splitCode("A    b [1]\nC [2]")).toEqual([{ text: "A    b [1]\nC [2]", isCode: false }]);
  expect(splitCitations("A. [1] B [12][3] c[x]")).toEqual(["A. ", 1, " B ", 12, 3, " c[x]"]);
});

it("the document of a chunk is everything before the last #", () => {
  expect(documentOf("a#b/c.md#0123")).toBe("a#b/c.md");
});

it("periods name what is known", () => {
  expect([period("1998", ""), period("", "2004"), period("1998", "2004"), period("1998", "1998"), period("", "")]).toEqual([
    "since 1998",
    "until 2004",
    "1998 to 2004",
    "1998",
    "",
  ]);
});

describe("numbers of what is shown", () => {
  it("names the total only where more exists", () => {
    expect(shownOf(3, 3)).toBe("3");
    expect(shownOf(20, 1057)).toBe("20 of 1,057");
  });
});

describe("the place of a passage", () => {
  const table = { headings: ["Limits"], page: 2, row: 1, kind: "table" };

  it("names the rows that are quoted, each once and in order", () => {
    const quoted = [5, 3, 5].map((row) => ({ ...table, row }));
    expect(placeText(table, quoted)).toBe("Limits › page 2 › rows 3, 5");
    expect(placeText(table, quoted.slice(1, 2))).toBe("Limits › page 2 › row 3");
  });

  it("names the first row where nothing is quoted, and nothing that is not known", () => {
    expect(placeText(table)).toBe("Limits › page 2 › row 1");
    expect(placeText({}, [{}])).toBe("");
  });
});
