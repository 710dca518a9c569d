"""The reader of CSV: every row is a block with the names of its columns. Cost: linear."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import pairwise

from graphtide.graph.text.place import PassageKind
from graphtide.infra.documents.blocks import Block, line_starts, one_line, row_text

_SAMPLE_CHARS = 8_192
_SAMPLE_LINES = 20
_DELIMITERS = ",;\t|"
_MAX_CELL_CHARS = (1 << 31) - 1


def read_csv(text: str) -> tuple[Block, ...]:
    """Return the rows below the header, with the header's names; one block per line if the text is not CSV."""
    starts = line_starts(text)
    try:
        return tuple(_rows(text, starts, delimiter_of(text)))
    except csv.Error:
        spans = pairwise(starts)
        return tuple(Block(one_line(text[a:b]), a, b) for a, b in spans if text[a:b].strip())


def delimiter_of(text: str) -> str:
    """Return the character that separates the columns: the one that every one of the first lines has most often."""
    lines = [line for line in text[:_SAMPLE_CHARS].splitlines() if line.strip()][:_SAMPLE_LINES]
    counts = {mark: [line.count(mark) for line in lines] for mark in _DELIMITERS}
    return max(_DELIMITERS, key=lambda mark: (min(counts[mark], default=0), sum(counts[mark])))


def _rows(text: str, starts: list[int], delimiter: str) -> Iterator[Block]:
    csv.field_size_limit(_MAX_CELL_CHARS)
    reader = csv.reader((text[a:b] for a, b in pairwise(starts)), delimiter=delimiter)
    columns: list[str] | None = None
    first = row = 0
    for cells in reader:
        start, first = starts[first], min(reader.line_num, len(starts) - 1)
        if not any(cell.strip() for cell in cells):
            continue
        if columns is None:
            columns, header = cells, (start, starts[first])
            continue
        row += 1
        yield Block(row_text(columns, cells), start, starts[first], PassageKind.TABLE, row=row, table=1)
    if columns is not None and not row:
        yield Block(row_text((), columns), *header, PassageKind.TABLE, row=1, table=1)
