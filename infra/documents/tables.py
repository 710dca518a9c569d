"""The reader of CSV: every row is a block with the names of its columns. Cost: linear."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from graphtide.graph.text.place import PassageKind
from graphtide.infra.documents.blocks import Block, line_starts, one_line, row_text

_SAMPLE_CHARS, _SAMPLE_RECORDS = 65_536, 100
_DELIMITERS = "\t;|,"
"""The one that is the rarest within a cell first: it is taken where several fit equally."""
MAX_CELL_CHARS = (1 << 31) - 1
_SEP_LINE = re.compile(r"\"?sep=([^\w\s\"]|\t)\"?[ \t]*(?:\r\n|\n|\r|\Z)", re.IGNORECASE)


def read_csv(text: str) -> tuple[Block, ...]:
    """Return the rows below the header, with the header's names; one block per line if the text is not CSV."""
    first = rows_start(text)
    starts = [at for at in line_starts(text) if at >= first]
    try:
        return tuple(_rows(text, starts, delimiter_of(text)))
    except csv.Error:
        spans = pairwise(starts)
        return tuple(Block(one_line(text[a:b]), a, b) for a, b in spans if text[a:b].strip())


def rows_start(text: str) -> int:
    """Return the position of the header: below a line `sep=;`, which Excel writes to name the delimiter."""
    found = _SEP_LINE.match(text)
    return found.end() if found else 0


def delimiter_of(text: str) -> str:
    """Return the character that separates the columns: the one that a line `sep=;` names, else the one by which most of
    the first records have as many cells as the header. A tab in the header is one even if a third of them has not.
    """
    if named := _SEP_LINE.match(text):
        return named[1]
    fits = {mark: _fit(_widths(text, mark)) for mark in _DELIMITERS}
    has_header, share = fits["\t"]
    if has_header and share >= _SHARE_OF_TABS:
        return "\t"
    best = max(_DELIMITERS, key=fits.__getitem__)
    return best if fits[best][1] else ","


_SHARE_OF_TABS = 2 / 3


def _widths(text: str, delimiter: str) -> Sequence[int]:
    """Return the number of cells of each of the first records; none if the text is not CSV by that delimiter."""
    sample = text[:_SAMPLE_CHARS]
    records = csv.reader((sample[a:b] for a, b in pairwise(line_starts(sample))), delimiter=delimiter)
    try:
        found = list(islice((len(cells) for cells in records if any(map(str.strip, cells))), _SAMPLE_RECORDS))
    except csv.Error:
        return ()
    is_cut = len(sample) < len(text) and 1 < len(found) < _SAMPLE_RECORDS
    return found[:-1] if is_cut else found


def _fit(widths: Sequence[int]) -> tuple[bool, float]:
    """Return whether the first record has several cells, and the share of the records with as many, or with the usual
    number below a title.
    """
    usual = Counter(width for width in widths if width > 1).most_common(1)
    if not usual:
        return False, 0.0
    has_header = widths[0] > 1
    return has_header, widths.count(widths[0] if has_header else usual[0][0]) / len(widths)


def _rows(text: str, starts: list[int], delimiter: str) -> Iterator[Block]:
    csv.field_size_limit(MAX_CELL_CHARS)
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
