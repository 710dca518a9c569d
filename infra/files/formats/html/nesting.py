"""The open elements of an HTML page: the ends that it leaves out, and the depth, found before its tree is built.

The time of the tree grows with the square of the depth. A start or an end closes elements as in the HTML standard
(section 13.2.6.4), without the moving of text out of tables and of formatting over blocks. Cost: linear in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from html.parser import HTMLParser
from itertools import islice

from graphtide.infra.files.types import UnreadableFileError

MAX_OPEN = 1_500
"""Elements inside one another in a page that is read. Pages nest some twenty. Reading so many takes up to six
seconds."""
MAX_LOOK = 100
"""Elements around a start or an end among which those that it closes are searched."""
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
_CELLS = frozenset(["td", "th"])
_SECTIONS = frozenset(["tbody", "thead", "tfoot"])
_TABLE_PARTS = _CELLS | _SECTIONS | {"table", "tr", "caption", "colgroup"}
_CLOSED_PARTS, _ENDS_OF_PARTS = _CELLS | {"table", "caption"}, _TABLE_PARTS | {"body", "html"}
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_IN_HEAD = frozenset(
    ["base", "basefont", "bgsound", "link", "meta", "noscript", "script", "style", "template", "title", "head", "html"]
)
_BLOCK_NAMES = """address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer
form header hgroup hr main menu nav ol pre search section summary ul p li dd dt table"""
_BLOCKS = frozenset(_BLOCK_NAMES.split()) | _HEADINGS
_SCOPE = frozenset(["caption", "html", "table", "td", "th", "object", "template", "button"])
_BARRIERS = (_BLOCKS - {"address", "div", "p"}) | _TABLE_PARTS | _SCOPE | {"body"}
"""Elements through which no item and no definition is closed."""
_DEFINITIONS, _RUBY = frozenset(["dd", "dt"]), frozenset(["rt", "rp"])
_IMPLIED = {
    "li": (frozenset(["li"]), _BARRIERS - {"li"}),
    **dict.fromkeys(_DEFINITIONS, (_DEFINITIONS, _BARRIERS - _DEFINITIONS)),
    **dict.fromkeys(_HEADINGS, (_HEADINGS, _BARRIERS - _HEADINGS)),
    "a": (frozenset(["a"]), _BARRIERS | {"p", "div"}),
    **dict.fromkeys(_RUBY, (_RUBY, frozenset(["ruby"]) | _BARRIERS)),
    "tr": (_CELLS | {"tr", "caption", "colgroup"}, _SECTIONS | {"table", "template"}),
    **dict.fromkeys(_CELLS, (_CELLS | {"caption"}, frozenset(["tr", "table", "template"]))),
    **dict.fromkeys(_SECTIONS, (_TABLE_PARTS - {"table"}, frozenset(["table", "template"]))),
}
"""The elements that the start of one closes, and those in which they are searched."""
_MARKED_SECTION = re.compile(
    r"<!\[(?!(?:temp|cdata|ignore|include|rcdata|if|else|endif)(?![-_.a-z0-9]))", re.IGNORECASE
)


def without_unknown_sections(text: str) -> str:
    """Return a page with `<![` as text where Python's parser knows no such section and raises AssertionError."""
    return _MARKED_SECTION.sub("&lt;![", text)


def implied_ends(tag: str, open_names: Iterable[str]) -> int:
    """Return how many of the open elements, which are named from the innermost, end where `tag` starts."""
    targets, barriers = _IMPLIED.get(tag, (frozenset[str](), frozenset[str]()))
    ends, searched, in_scope = 0, bool(targets), tag in _BLOCKS
    for number, name in enumerate(islice(open_names, MAX_LOOK), start=1):
        searched = searched and name not in barriers
        in_scope = in_scope and name not in _SCOPE
        if (searched and name in targets) or (in_scope and name == "p") or (name == "head" and tag not in _IN_HEAD):
            ends = number
    return ends


def ends_of(tag: str, open_names: Iterable[str]) -> int:
    """Return how many of the open elements, which are named from the innermost, an end of `tag` closes: none without
    one, or outside of the cell or the table that the end is in.
    """
    for number, name in enumerate(islice(open_names, 3 * MAX_LOOK), start=1):
        if name == tag:
            return number
        if name in _CLOSED_PARTS and tag not in _ENDS_OF_PARTS:
            return 0
    return 0


def check_nesting(text: str) -> None:
    """Raise UnreadableFileError for a page that nests too many elements. Cost: linear in the text."""
    _Depth().feed(without_unknown_sections(text))


class _Depth(HTMLParser):
    """Follows the open elements as the tree does."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self._names: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._close(implied_ends(tag, reversed(self._open)))
        if tag in _VOID:
            return
        self._open.append(tag)
        self._names[tag] += 1
        if len(self._open) > MAX_OPEN:
            raise UnreadableFileError(
                f"has more than {MAX_OPEN:,} elements inside one another, the last of them <{tag[:20]}>; close its"
                " elements, or save it again from a browser"
            )

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self._close(implied_ends(tag, reversed(self._open)))

    def handle_endtag(self, tag: str) -> None:
        if self._names[tag]:
            self._close(ends_of(tag, reversed(self._open)))

    def _close(self, count: int) -> None:
        for _ in range(count):
            self._names[self._open.pop()] -= 1
