"""Parts of long texts: a document is applied in one step, so a text of megabytes is published in several.

A cut depends on the content around it alone, so an edit changes the part that it is in, and no other, unless it changes
what parts repeat: a heading, the names of columns. Code of less than a part is not cut, and no record of a CSV is.
"""

from __future__ import annotations

import csv
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b

from graphtide.infra.documents.blocks import LINE_END
from graphtide.infra.documents.description import describe
from graphtide.infra.documents.tables import MAX_CELL_CHARS, delimiter_of, rows_start
from graphtide.infra.files.part_context import MarkdownContext
from graphtide.infra.files.types import FileDocument
from graphtide.streams.model_ports import CSV, MARKDOWN

MAX_WHOLE_CHARS = 150_000
MIN_PART_CHARS = 30_000
MAX_PART_CHARS = 90_000
_PARAGRAPH = re.compile(r"(?:\r?\n[ \t]*)+\r?\n|\f")
_SECTION = re.compile(r"\n(?=#{1,2} )")
_ROW = re.compile(r"\r?\n")
_CODE_FENCE = re.compile(r"^ {0,3}(?:`{3}|~{3})", re.MULTILINE)
_CUT_SHARE = 8
_SEEN_CHARS = 64
_MAX_HEADER_CHARS = 8_000
_TABLE_RULE = re.compile(r"(?=[^\n]{0,2000}\|)[ \t|:]{0,9}-[-:| \t]*(?:\r?\n|\Z)")
"""The line below the names of the columns."""


def parts_of(document: FileDocument) -> Iterator[FileDocument]:
    """Yield the document, or its parts if it is long: the first one has its key, and the others a digest.

    Every part has the title and the date of the whole; a part of a CSV has the header, and one of Markdown the headings
    above it and the head of its table. Pages are counted over all parts.
    """
    if len(document.text) <= MAX_WHOLE_CHARS:
        yield document
        return
    stated = describe(document.text, document.media_type)
    whole = replace(
        document, title=document.title or stated.title, occurred_at=document.occurred_at or stated.occurred_at
    )
    records = _record_ends(document.text) if document.media_type == CSV else ()
    context = _Context(whole, records)
    keys: set[str] = set()
    pages = 0
    for number, text in enumerate(_cut(document.text, document.media_type, records)):
        key = "#".join(filter(None, (document.key, _key(text, keys) if number else "")))
        before = context.before(text) if number else ""
        yield replace(whole, text="\f" * pages + before + text, key=key)
        context.read(before + text)
        pages += text.count("\f")


class _Context:
    """The context that parts repeat from those before them."""

    def __init__(self, whole: FileDocument, records: Sequence[int]) -> None:
        first = rows_start(whole.text)
        header = whole.text[: next((end for end in records if whole.text[first:end].strip()), 0)]
        self._header = header if len(header) <= _MAX_HEADER_CHARS else ""
        self._markdown = MarkdownContext(whole.title) if whole.media_type == MARKDOWN else None

    def before(self, text: str) -> str:
        return self._markdown.before(text) if self._markdown else self._header

    def read(self, text: str) -> None:
        if self._markdown:
            self._markdown.read(text)


def _record_ends(text: str) -> Sequence[int]:
    """Return the ends of the records of a CSV, none if it is not one: a quoted cell may have several lines."""
    csv.field_size_limit(MAX_CELL_CHARS)
    ends, at = array("q"), 0

    def lines() -> Iterator[str]:
        nonlocal at
        for found in LINE_END.finditer(text):
            start, at = at, found.end()
            yield text[start:at]
        if at < len(text):
            start, at = at, len(text)
            yield text[start:]

    try:
        for _ in csv.reader(lines(), delimiter=delimiter_of(text)):
            ends.append(at)
    except csv.Error:
        return ()
    return ends


def _key(text: str, keys: set[str]) -> str:
    """Return a digest of the part's beginning; equal beginnings are counted."""
    start = text[: 4 * _SEEN_CHARS].strip()
    number = 0
    while True:
        key = blake2b(f"{start}\0{number or ''}".encode(errors="replace"), digest_size=5).hexdigest()
        if key not in keys:
            keys.add(key)
            return key
        number += 1


def _cut(text: str, media_type: str, records: Sequence[int]) -> Iterator[str]:
    """Yield pieces between `MIN_PART_CHARS` and `MAX_PART_CHARS`, cut at sections, paragraphs or rows."""
    start = 0
    while len(text) - start > MAX_PART_CHARS:
        end = _end(text, start, media_type, records)
        yield text[start:end]
        start = end
    if text[start:].strip():
        yield text[start:]


def _end(text: str, start: int, media_type: str, records: Sequence[int]) -> int:
    """Return the first cut whose surroundings are selected by their digest, else the last cut that fits. Records of a
    CSV end at `records`.
    """
    window = (start + MIN_PART_CHARS, start + MAX_PART_CHARS)
    is_markdown = media_type == MARKDOWN
    fences = [found.start() for found in _CODE_FENCE.finditer(text, start, window[1])] if is_markdown else []
    rules = [_SECTION, _PARAGRAPH, _ROW] if is_markdown else [_PARAGRAPH, _ROW]
    by_rule = (_ends_of(rule, text, window) for rule in rules)
    for ends in [_within(records, window), _ends_of(_ROW, text, window)] if media_type == CSV else by_rule:
        last = 0
        for end in ends:
            if bisect_left(fences, end) % 2 or (is_markdown and _TABLE_RULE.match(text, end)):
                continue  # within code, or the head of a table
            last = end
            if _is_selected(text[last : last + _SEEN_CHARS]):
                return last
        if last:
            return last
    return window[1]


def _ends_of(rule: re.Pattern[str], text: str, window: tuple[int, int]) -> Iterator[int]:
    return (found.end() for found in rule.finditer(text, *window))


def _within(ends: Sequence[int], window: tuple[int, int]) -> Iterator[int]:
    first = bisect_left(ends, window[0] + 1)
    return iter(ends[first : bisect_left(ends, window[1] + 1)])


def _is_selected(after: str) -> bool:
    return blake2b(after.encode(errors="replace"), digest_size=1).digest()[0] % _CUT_SHARE == 0
