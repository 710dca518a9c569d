"""Parts of long texts: a document is applied in one step, so a text of megabytes is published in several.

A cut depends on the content around it alone, so an edit changes the part that it is in, and no other. Code of less than
a part is not cut.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b

from graphtide.infra.documents.description import describe
from graphtide.infra.files.types import FileDocument
from graphtide.streams.model_ports import CSV, MARKDOWN

MAX_WHOLE_CHARS = 150_000
MIN_PART_CHARS = 30_000
MAX_PART_CHARS = 90_000
_PARAGRAPH = re.compile(r"(?:\r?\n[ \t]*){2,}|\f")
_SECTION = re.compile(r"\n(?=#{1,2} )")
_ROW = re.compile(r"\r?\n")
_CODE_FENCE = re.compile(r"^ {0,3}(?:`{3}|~{3})", re.MULTILINE)
_CUT_SHARE = 8
_SEEN_CHARS = 64


def parts_of(document: FileDocument) -> Iterator[FileDocument]:
    """Yield the document, or its parts if it is long: the first one has its key, and the others a digest.

    Every part has the title and the date of the whole, a CSV part the header, and pages are counted over all parts.
    """
    if len(document.text) <= MAX_WHOLE_CHARS:
        yield document
        return
    stated = describe(document.text, document.media_type)
    whole = replace(
        document, title=document.title or stated.title, occurred_at=document.occurred_at or stated.occurred_at
    )
    header = document.text[: document.text.find("\n") + 1] if document.media_type == CSV else ""
    keys: set[str] = set()
    pages = 0
    for number, text in enumerate(_cut(document.text, document.media_type)):
        key = "#".join(filter(None, (document.key, _key(text, keys) if number else "")))
        before = header if number else ""
        yield replace(whole, text=before + "\f" * pages + text, key=key)
        pages += text.count("\f")


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


def _cut(text: str, media_type: str) -> Iterator[str]:
    """Yield pieces between `MIN_PART_CHARS` and `MAX_PART_CHARS`, cut at sections, paragraphs or rows."""
    start = 0
    while len(text) - start > MAX_PART_CHARS:
        end = _end(text, start, media_type)
        yield text[start:end]
        start = end
    if text[start:].strip():
        yield text[start:]


def _end(text: str, start: int, media_type: str) -> int:
    """Return the first cut whose surroundings are selected by their digest, else the last cut that fits."""
    window = (start + MIN_PART_CHARS, start + MAX_PART_CHARS)
    fences = [found.start() for found in _CODE_FENCE.finditer(text, start, window[1])] if media_type == MARKDOWN else []
    rules = [_ROW] if media_type == CSV else [_SECTION, _PARAGRAPH] if media_type == MARKDOWN else [_PARAGRAPH]
    for rule in (*rules, _ROW):
        last = 0
        for found in rule.finditer(text, *window):
            if bisect_left(fences, found.end()) % 2:
                continue  # within code
            last = found.end()
            if _is_selected(text[last : last + _SEEN_CHARS]):
                return last
        if last:
            return last
    return window[1]


def _is_selected(after: str) -> bool:
    return blake2b(after.encode(errors="replace"), digest_size=1).digest()[0] % _CUT_SHARE == 0
