"""HTML blocks inside Markdown, as what a reader sees: headings, paragraphs, items, definitions, rows of tables, code.

A block of Markdown ends at an empty line, so a table can continue in the next one: its columns are kept until it ends.
Cost: linear in the text; no tree is built, so that nesting costs nothing.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphtide.infra.documents.blocks import one_line, row_text

SUMMARY_LEVEL = 7
"""The level of the heading that a `<summary>` is, until its `</details>`."""
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NOT_SHOWN = ("script", "style", "template")
_TAG = re.compile(r"<(?:(/?)([A-Za-z][\w:-]{0,40}+)[^<>]{0,2000}+|[!?][^<>]{0,2000}+)>")
_BLOCK_NAMES = """address article aside blockquote br caption center dd details div dl dt fieldset figcaption figure
footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody td tfoot th thead tr ul"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_HEADING = re.compile(r"h([1-6])")
_DIGIT = re.compile(r"\d")
_ENDS = (".", "!", "?", ":", ";", ",")


@dataclass(frozen=True, slots=True)
class HtmlPart:
    """A text of an HTML block. `level` is that of a heading, else 0; `row` counts from 1 within a table."""

    text: str
    level: int = 0
    is_item: bool = False
    is_code: bool = False
    row: int = 0


@dataclass(slots=True)
class _Table:
    """A table so far; `first` is a first row of `<td>` that may hold the names of the columns."""

    columns: list[str] = field(default_factory=list)
    cells: list[list[str]] = field(default_factory=list)
    first: list[str] = field(default_factory=list)
    all_heads: bool = True
    rows: int = 0


class HtmlReader:
    """Reader of the HTML blocks of one text, in their order."""

    def __init__(self) -> None:
        self._table: _Table | None = None
        self._text: list[str] = []
        self._open = ""
        self._in_cell = False
        self._term = ""

    def read(self, content: str) -> Iterator[HtmlPart]:
        """Yield the parts of a block, also a first row that may hold the names of columns: it is cited where it is. A
        heading without text ends that of a `<summary>`.
        """
        shown, at, hidden = _COMMENT.sub(" ", content), 0, ""
        for tag in _TAG.finditer(shown):
            name = (tag[2] or "").lower()
            if hidden:
                at, hidden = tag.end(), "" if tag[1] and name == hidden else hidden
                continue
            self._text.append(shown[at : tag.start()])
            at = tag.end()
            if name in _NOT_SHOWN:
                hidden = "" if tag[1] else name
            elif name in _BLOCKS:
                yield from self._between()
                yield from self._tag(name, bool(tag[1]))
        self._text.append("" if hidden else shown[at:])
        yield from self._between()
        yield from self._without_columns()

    def end(self) -> Iterator[HtmlPart]:
        """Yield what was not closed: the cells of a last row, and a term without a definition."""
        yield from self._row()
        yield from self._without_columns()
        self._table = None
        if self._term:
            yield HtmlPart(self._term)
        self._term = ""

    def _between(self) -> Iterator[HtmlPart]:
        """Yield the text between two tags of blocks."""
        raw, self._text = html.unescape("".join(self._text)), []
        text = one_line(raw)
        if not text:
            return
        heading = _HEADING.fullmatch(self._open)
        if self._table is not None and self._in_cell:
            self._table.cells[-1].append(text)
        elif heading or self._open == "summary":
            yield HtmlPart(text, level=int(heading[1]) if heading else SUMMARY_LEVEL)
        elif self._open == "pre":
            yield HtmlPart(raw.strip("\r\n").rstrip(), is_code=True)
        elif self._open == "dt":
            self._term = f"{self._term}, {text}" if self._term else text
        elif self._open == "dd" and self._term:
            yield HtmlPart(f"{self._term.rstrip(':')}: {text}", is_item=True)
            self._term = ""
        else:
            yield HtmlPart(text, is_item=self._open in ("li", "dd"))

    def _tag(self, name: str, closes: bool) -> Iterator[HtmlPart]:
        if name != "br":
            self._open = "" if closes else name
        if name == "details" and closes:
            yield HtmlPart("", level=SUMMARY_LEVEL)
        elif name == "table":
            yield from self._row()
            yield from self._without_columns()
            self._table, self._in_cell = None if closes else _Table(), False
        elif name == "tr" and self._table is not None:
            yield from self._row()
        elif name in ("td", "th") and self._table is not None:
            self._in_cell = not closes
            if not closes:
                self._table.cells.append([])
                self._table.all_heads &= name == "th"

    def _row(self) -> Iterator[HtmlPart]:
        """Yield the row that ends here. The names of the columns are no row; one cell across all of them is text.

        Rows of `<td>` begin with the names of columns if the first one has no digit and the second has one beyond its
        first cell.
        """
        table = self._table
        if table is None or not table.cells:
            return
        cells = [_joined(cell) for cell in table.cells]
        is_first = len(cells) > 1 and not (table.rows or table.columns or table.first)
        is_head = is_first and table.all_heads
        table.cells, table.all_heads, self._in_cell = [], True, False
        if table.first and len(cells) == len(table.first) and _DIGIT.search(" ".join(cells[1:])):
            table.columns, table.first = table.first, []
        yield from self._without_columns()
        if is_head:
            table.columns = cells
        elif is_first and all(cells) and not _DIGIT.search(" ".join(cells)):
            table.first = cells
        elif len(cells) == 1:
            yield from (HtmlPart(cell) for cell in cells if cell)
        elif text := row_text(table.columns, cells):
            table.rows += 1
            yield HtmlPart(text, row=table.rows)

    def _without_columns(self) -> Iterator[HtmlPart]:
        """Yield the first row, if it was kept and holds no names of columns."""
        if self._table is not None and self._table.first:
            self._table.rows += 1
            yield HtmlPart(row_text([], self._table.first), row=self._table.rows)
            self._table.first = []


def _joined(parts: list[str]) -> str:
    """Return the paragraphs and items of a cell as one text."""
    return " ".join(part if part.endswith(_ENDS) or part is parts[-1] else f"{part}," for part in parts)
