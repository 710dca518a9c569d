"""Recognition of Markdown in a text whose publisher gave no media type, by cues that prose does not have."""

from __future__ import annotations

import re

from graphtide.infra.documents.markdown.front_matter import read_front_matter

_SAMPLE_CHARS = 65_536
_MIN_ITEMS = 3
_CUES = re.compile(
    r"^ {0,3}#{1,6}[ \t]{1,4}\S"  # a heading
    r"|^ {0,3}(?:```|~~~)"  # a fence of code
    r"|^ {0,3}\|?[ \t]{0,4}:?-{3,40}:?[ \t]{0,4}(?:\|[ \t]{0,4}:?-{3,40}:?[ \t]{0,4})+\|?[ \t]{0,4}$"  # a table
    r"|^[ \t]{0,4}[-*+][ \t]{1,4}\[[ xX]\][ \t]{1,4}\S"  # a checklist
    r"|\[\[[^\[\]\n|]{1,100}(?:\|[^\[\]\n]{1,100})?\]\]",  # a wiki link
    re.MULTILINE,
)
_ITEM = re.compile(r"^[ \t]{0,12}(?:[-*+]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)


def looks_like_markdown(text: str) -> bool:
    """Return True if the text is Markdown without doubt. Cost: bounded by the first 64 KiB of the text."""
    sample = text[:_SAMPLE_CHARS]
    if _CUES.search(sample) or read_front_matter(sample).end:
        return True
    return sum(1 for _ in _ITEM.finditer(sample)) >= _MIN_ITEMS
