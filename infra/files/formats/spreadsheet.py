"""Spreadsheets (.xlsx) as Markdown: each sheet is a section with a table, by openpyxl, without formulas."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from typing import Any, cast

import openpyxl

from graphtide.infra.files.formats.package import check_package
from graphtide.infra.files.types import UnreadableFileError

MAX_COLUMNS, MAX_CELLS = 256, 2_000_000
_ESCAPED = str.maketrans({"\n": " ", "\r": " "} | {mark: f"\\{mark}" for mark in "|\\*_<["})


def xlsx_to_markdown(raw: bytes) -> str:
    """Return all sheets. The first row with values names the columns; a cell with a formula has the value that was
    computed last. Raises UnreadableFileError.
    """
    try:
        check_package(raw)
        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        sections = [section for sheet in book.worksheets for section in _section(sheet.title, _values(sheet))]
    except UnreadableFileError:
        raise
    except Exception as error:  # openpyxl raises errors of the packages that read its parts
        raise UnreadableFileError(f"is not a readable .xlsx file ({error}); save it again") from error
    if not sections:
        raise UnreadableFileError("contains no values")
    return "\n\n".join(sections) + "\n"


def _values(sheet: Any) -> Iterable[Sequence[object]]:
    """Return the values of the rows that are stored: a sheet may state that it extends to its last possible cell."""
    sheet.reset_dimensions()
    return cast(Iterable[Sequence[object]], sheet.values)


def _section(title: str, values: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the sheet as a section, nothing for an empty one. Rows of one value above the table are paragraphs, as is
    a row without others.
    """
    rows = [cells for cells in map(_cells, _bounded(values)) if any(cells)]
    if not rows:
        return
    above = next((at for at, cells in enumerate(rows) if sum(map(bool, cells)) > 1), len(rows))
    paragraphs, table = rows[:above], rows[above:]
    if len(table) == 1:
        paragraphs, table = rows, []
    yield f"## {title.translate(_ESCAPED)}"
    yield from (" ".join(filter(None, cells)) for cells in paragraphs)
    if table:
        width = max(at + 1 for cells in table for at, cell in enumerate(cells) if cell)
        head, *body = ([*cells[:width], *[""] * (width - len(cells))] for cells in table)
        yield "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * width, *body))


def _bounded(values: Iterable[Sequence[object]]) -> Iterator[Sequence[object]]:
    left = MAX_CELLS
    for row in values:
        left -= len(row)
        if left < 0:
            raise UnreadableFileError(f"has more than {MAX_CELLS:,} cells in a sheet; split it")
        if any(value is not None for value in row[MAX_COLUMNS:]):
            raise UnreadableFileError(f"has more than {MAX_COLUMNS} columns in a sheet; split it")
        yield row[:MAX_COLUMNS]


def _cells(row: Sequence[object]) -> list[str]:
    return [_text(value).translate(_ESCAPED).strip() for value in row]


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:.10g}" if abs(value) < _PLAIN_FLOAT else repr(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


_PLAIN_FLOAT = 1e10
