"""The depth of the elements of a page, found before its tree is built: the time of the tree grows with its square."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

from graphtide.infra.files.types import UnreadableFileError

MAX_OPEN = 1_500
"""Elements inside one another in a page that is read. Pages nest some twenty; one that never closes its paragraphs
nests all of them. Reading so many takes up to six seconds."""
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)


def check_nesting(text: str) -> None:
    """Raise UnreadableFileError for a page that nests too many elements. Cost: linear in the text."""
    _Depth().feed(text)


class _Depth(HTMLParser):
    """Follows the open elements as Beautiful Soup does: an end closes all elements inside the one that it names."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self._names: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: object) -> None:
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
        return

    def handle_endtag(self, tag: str) -> None:
        while self._names[tag]:
            closed = self._open.pop()
            self._names[closed] -= 1
            if closed == tag:
                return
