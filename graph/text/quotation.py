"""Quotations of document text: marks and links inside the text lose their effect, its words stay.

Answers and part texts cite by `[n]`, and mark what no passage supports by `[unsupported]`. Invariant: after
`neutralise`, no citation pattern matches anything in the text, also when other text follows it, and neither Markdown
nor HTML reads a link, an image or a tag in it. Passages and citations themselves keep the document's text unchanged.
"""

from __future__ import annotations

import re

_CITATION = re.compile(r"\[([\d\s,;]*+)(\]|\Z)")
"""A citation, or the beginning of one at the end of the text."""
_MARK = re.compile(r"\[(unsupported|cut off)\]", re.IGNORECASE)
LINK_BREAKS = re.compile(
    r"(?<=\])(?=[(:])|(?<=<)(?=[A-Za-z/!?])|(?<=:/)(?=/)|(?<=\bwww\.)(?=\w)"
    r"|(?<=\[unsupported)(?=\])|(?<=\[cut off)(?=\])",
    re.IGNORECASE,
)
"""Places at which a blank ends a link or a mark: `](`, `]:`, `<tag`, `http://`, `www.name`, `[unsupported]`.

Each is known from the characters before it and the next one, so that a stream breaks links wherever it is cut.
"""


def neutralise(text: str) -> str:
    """Return the text with `[2]` as `(2)`, `[a](b)` as `[a] (b)`, `<a>` as `< a>`, `http://` as `http:/ /`.

    Applied to its own result it changes nothing. Cost: linear in the text.
    """
    return LINK_BREAKS.sub(" ", _MARK.sub(r"(\1)", without_citations(text)))


def without_citations(text: str) -> str:
    """Return the text with round brackets where it has citations; its length stays."""
    return _CITATION.sub(lambda found: f"({found[1]}{')' if found[2] else ''}", text)
