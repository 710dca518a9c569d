"""The tables of an HTML page as a head and rows of single cells, which Markdown can express.

The cells are placed as in the HTML standard (section 4.9.12): a cell with `rowspan` covers the rows below it. A table
in a cell becomes a text of the cell, or stays a table if the outer one only arranges it. Cost: linear in the page and
in at most `MAX_ADDED_CELLS` cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from bs4.element import NavigableString, Tag

from graphtide.infra.files.types import UnreadableFileError

MAX_SPAN = 1_000
MAX_ADDED_CELLS = 1_000_000
"""The positions of a page that its cells may cover beside their own."""
MAX_REPEATED_CHARS = 300
"""A longer text of a cell is not repeated in the rows that the cell covers."""
MAX_HEAD_ROWS, MAX_TURNED_ROWS = 5, 40
INTRODUCTION = "data-graphtide-introduction"
_CELLS = ("td", "th")
_ENDS = (".", ":", "!", "?")


def simplify_tables(body: Tag) -> None:
    """Give every table a head, rows of single cells, and the text of its caption as the attribute INTRODUCTION.

    A table without a head that has others in its cells only arranges them, and is unwrapped. Raises
    UnreadableFileError for cells that cover too many positions.
    """
    for form in body.find_all("form"):  # it may be between a table and its rows
        if form.parent is not None and form.parent.name in _AROUND_ROWS:
            form.unwrap()
    grids = [_Grid(table) for table in body.find_all("table")]
    layouts = {id(grid.table) for grid in grids if not grid.has_head()}
    left = MAX_ADDED_CELLS
    for grid in reversed(grids):
        table, outer = grid.table, grid.table.find_parent("table")
        if table.find("table") or not grid.rows:
            grid.unwrap()
            continue
        left -= grid.place(left)
        if outer is not None and id(outer) not in layouts:
            table.replace_with(f" {grid.text()} ")
        else:
            grid.rebuild()


_AROUND_ROWS = frozenset(["table", "thead", "tbody", "tfoot", "tr"])


@dataclass(slots=True)
class _GridRow:
    """A row: its cells, and what is in its columns: a cell, or the text of one that covers them. `spans` has the
    number of columns of the cells with several.
    """

    cells: Sequence[Tag]
    group: Tag | None
    columns: dict[int, Tag | str] = field(default_factory=dict)
    spans: dict[int, int] = field(default_factory=dict)

    def is_head(self) -> bool:
        in_head = self.group is not None and self.group.name == "thead"
        return bool(self.cells) and (in_head or all(cell.name == "th" for cell in self.cells))

    def names_itself(self) -> bool:
        """Return whether the first cell is the name of the others."""
        return [cell.name for cell in self.cells[:2]] == ["th", "td"]

    def filled(self) -> int:
        return sum(bool(_text(content)) for content in self.columns.values())

    def width(self) -> int:
        return 1 + max((at for at, content in self.columns.items() if _text(content)), default=-1)


class _Grid:
    """The rows of a table without those of the tables in it."""

    def __init__(self, table: Tag) -> None:
        self.table = table
        self.rows: list[_GridRow] = []
        self._strings: list[str] = []
        self._caption: Tag | None = None
        self._head: dict[int, str] = {}
        self._find(table)

    def has_head(self) -> bool:
        is_plain = self._caption is None and not any(cell.name == "th" for row in self.rows for cell in row.cells)
        return self.table.get("role") != "presentation" and not is_plain

    def _find(self, table: Tag) -> None:
        """Find the caption, the rows and the texts outside of cells."""
        stack = list(reversed(table.contents))
        while stack:
            part = stack.pop()
            if isinstance(part, NavigableString):
                self._strings.append(str(part))
            elif not isinstance(part, Tag) or part.name == "table":
                continue
            elif part.name == "caption":
                self._caption = self._caption or part
            elif part.name == "tr":
                group = part.parent if part.parent is not table else None
                cells = [cell for cell in part.children if isinstance(cell, Tag) and cell.name in _CELLS]
                self.rows.append(_GridRow(cells, group))
            elif part.name not in _CELLS:
                stack.extend(reversed(part.contents))

    def introduction(self) -> str:
        """Return the caption, and the text that no cell has, as the sentence above the table."""
        caption = self._caption.get_text() if self._caption else ""
        text = " ".join(f"{caption} {' '.join(self._strings)}".split())
        return text if not text or text.endswith(_ENDS) else f"{text}:"

    def place(self, left: int) -> int:
        """Place the cells in columns, and return the number of positions that they cover beside their own.

        Raises UnreadableFileError if that is more than `left`.
        """
        covered: dict[int, tuple[str, int, int]] = {}
        group: Tag | None = None
        added = 0
        for row in self.rows:
            if row.group is not group:
                covered, group = {}, row.group
            columns = _covered_columns(row, covered)
            added += len(columns)
            at = 0
            for cell in row.cells:
                while at in columns:
                    at += 1
                width, height = _span(cell, "colspan"), _span(cell, "rowspan")
                if cell is not row.cells[-1]:
                    added += width - 1
                row.columns[at] = cell
                if width > 1:
                    row.spans[at] = width
                if height > 1:
                    covered[at] = (_repeated(cell), width, height - 1)
                at += width
            if added > left:
                raise UnreadableFileError(
                    f"has tables whose cells cover more than {MAX_ADDED_CELLS:,} positions; save it without rowspan"
                )
        return added

    def _take_head(self) -> None:
        """Take the rows of the head from the rows, and a first row of one cell above columns as the caption."""
        width = max((row.width() for row in self.rows), default=0)
        is_title = len(self.rows) > 1 and width > 1 and self.rows[0].filled() == 1 and self.rows[0].spans.get(0, 1) > 1
        had_head = False
        if is_title:
            title = self.rows.pop(0)
            had_head = title.is_head()
            self._strings.append(_text(title.columns[0]))
        count = next((at for at, row in enumerate(self.rows) if not row.is_head()), 0)
        if not count and self._is_turned():
            self._turn()
            count = 1
        elif not count and not had_head and len(self.rows) > 1:
            count = 1
        count = min(count, MAX_HEAD_ROWS)
        self._head = _names(self.rows[:count], width)
        self.rows = self.rows[count:]

    def _is_turned(self) -> bool:
        return len(self.rows) <= MAX_TURNED_ROWS and all(row.names_itself() for row in self.rows)

    def _turn(self) -> None:
        """Exchange rows and columns: the names are in the first column."""
        width = max(row.width() for row in self.rows)
        turned = [_GridRow((), None) for _ in range(width)]
        for at, row in enumerate(self.rows):
            for column, content in row.columns.items():
                if column < width:
                    turned[column].columns[at] = content
        self.rows = turned

    def text(self) -> str:
        """Return the table in one line, for the cell that it is in."""
        self._take_head()
        rows = []
        for row in self.rows:
            cells = ((self._head.get(at, ""), _text(content)) for at, content in sorted(row.columns.items()))
            rows.append(", ".join(f"{name}: {cell}" if name else cell for name, cell in cells if cell))
        return " ".join(filter(None, (self.introduction(), "; ".join(filter(None, rows)))))

    def unwrap(self) -> None:
        """Make blocks of the cells, in their order."""
        if introduction := self.introduction():
            self.table.insert_before(introduction)
        for row in self.rows:
            for cell in row.cells:
                cell.name = "div"
                self.table.insert_before(cell.extract())
        for inner in self.table.find_all("table", recursive=False):
            self.table.insert_before(inner.extract())
        self.table.extract()

    def rebuild(self) -> None:
        """Replace the content of the table by its head and its rows."""
        self._take_head()
        if introduction := self.introduction():
            self.table[INTRODUCTION] = introduction
        contents: list[Mapping[int, Tag | str]] = [self._head, *(row.columns for row in self.rows)]
        width = max((row.width() for row in self.rows), default=1)
        widths = [max(1, width, *(at + 1 for at in self._head)), *(row.width() for row in self.rows)]
        rows = [_row(columns, count) for columns, count in zip(contents, widths, strict=True) if count]
        self.table.clear()
        self.table.extend(rows)


def _covered_columns(row: _GridRow, covered: dict[int, tuple[str, int, int]]) -> set[int]:
    """Fill the columns that cells of the rows above cover, and return them."""
    columns: set[int] = set()
    for at, (text, width, height) in list(covered.items()):
        row.columns[at] = text
        columns.update(range(at, at + width))
        if width > 1:
            row.spans[at] = width
        if height > 1:
            covered[at] = (text, width, height - 1)
        else:
            del covered[at]
    return columns


def _names(head: Sequence[_GridRow], width: int) -> dict[int, str]:
    """Return the names of the columns. A name above several columns is in the names of all of them."""
    names: dict[int, list[str]] = {}
    for row in head:
        for at, content in row.columns.items():
            text = _text(content)
            for column in range(at, min(at + row.spans.get(at, 1), max(width, at + 1))):
                if text and text not in names.setdefault(column, []):
                    names[column].append(text)
    return {column: " ".join(texts) for column, texts in names.items()}


def _row(columns: Mapping[int, Tag | str], width: int) -> Tag:
    """Return a row. A cell with empty ones after it has their number, and its own, as its `colspan`."""
    row = Tag(name="tr")
    filled = {at: content for at, content in sorted(columns.items()) if at < width and _text(content)}
    starts = sorted({*filled, *range(0, width, MAX_SPAN)})
    for at, end in pairwise([*starts, width]):
        content = filled.get(at, "")
        if isinstance(content, str):
            cell = Tag(name="td")
            cell.append(content)
        else:
            cell = content.extract()
        cell["colspan"] = str(end - at)
        row.append(cell)
    return row


def _text(content: Tag | str) -> str:
    return " ".join((content if isinstance(content, str) else content.get_text(" ")).split())


def _repeated(cell: Tag) -> str:
    text = _text(cell)
    return text if len(text) <= MAX_REPEATED_CHARS else ""


def _span(cell: Tag, attribute: str) -> int:
    """Return the number of columns or rows of a cell; 0 rows are all that follow."""
    value = str(cell.get(attribute) or "1").strip()
    if not (value.isascii() and value.isdigit()):
        return 1
    return min(int(value[:5]), MAX_SPAN) or (MAX_SPAN if attribute == "rowspan" else 1)
