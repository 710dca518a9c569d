"""Workbooks written by openpyxl, as text with places."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date, datetime

import openpyxl
import pytest

from graphtide.infra.files.formats import spreadsheet
from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import FileDocument, UnreadableFileError
from graphtide.infra.models.local.chunker import SemanticChunker


def workbook(**sheets: Sequence[Sequence[object]]) -> bytes:
    """Return a workbook of sheets with rows of values."""
    book = openpyxl.Workbook()
    book.remove(book["Sheet"])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    raw = io.BytesIO()
    book.save(raw)
    return raw.getvalue()


def passages(raw: bytes) -> list[tuple[str, tuple[str, ...], int]]:
    """Return the text, the headings and the row of each passage."""
    [one] = read_bytes(raw, "pumps-2026.xlsx")
    assert isinstance(one, FileDocument)
    found = SemanticChunker().split(one.text, one.media_type)
    return [(passage.text, passage.place.headings, passage.place.row) for passage in found]


def test_each_sheet_is_a_section_with_a_table() -> None:
    """Dates, numbers, truth values, marks of Markdown, line breaks, and lines above the table."""
    raw = workbook(
        Pumps=[
            ["All pumps of the north hall"],
            [],
            ["Code", "Place", "Installed", "Price", "Works"],
            ["P_1", "Mill | *Pond*", date(2024, 5, 2), 1200.50, True],
            ["P2", "Birch\nHollow", datetime(2025, 1, 1, 12, 30), 0.1 + 0.2, False],
            [None, None, None, 12, None, None],
        ],
        Empty=[],
        Notes=[["Ana ordered the valve."], ["Bo pays it."]],
    )
    assert passages(raw) == [
        ("All pumps of the north hall", ("Pumps",), 0),
        (
            "Code: P_1; Place: Mill | *Pond*; Installed: 2024-05-02; Price: 1200.5; Works: yes\n\n"
            "Code: P2; Place: Birch Hollow; Installed: 2025-01-01 12:30; Price: 0.3; Works: no\n\n"
            "Price: 12",
            ("Pumps",),
            1,
        ),
        ("Ana ordered the valve.\n\nBo pays it.", ("Notes",), 0),
    ]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"PK nonsense", "not a readable .xlsx file .*save it again"),
        (workbook(Empty=[]), "contains no values"),
        (workbook(Long=[[1, 2, 3, 4], [1, 2, 3, 4]]), "more than 6 cells in a sheet; split it"),
        (workbook(Wide=[[1, 2, 3, 4, 5]]), "more than 4 columns in a sheet; split it"),
    ],
)
def test_unreadable_workbook_is_named_with_reason_and_remedy(
    raw: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreadsheet, "MAX_CELLS", 6)
    monkeypatch.setattr(spreadsheet, "MAX_COLUMNS", 4)
    with pytest.raises(UnreadableFileError, match=reason):
        passages(raw)


def test_sheet_that_extends_to_the_last_cell_has_its_values_alone() -> None:
    """Excel stores so where a whole sheet was formatted: some 17,000 million cells."""
    book = openpyxl.Workbook()
    sheet = book["Sheet"]
    for row in (["Code", "Place"], ["P1", "Mill Pond"]):
        sheet.append(row)
    sheet.cell(1_048_576, 16_384).number_format = "0.00"
    raw = io.BytesIO()
    book.save(raw)
    assert passages(raw.getvalue()) == [("Code: P1; Place: Mill Pond", ("Sheet",), 1)]
