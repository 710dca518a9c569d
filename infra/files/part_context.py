"""The context of a part of a long Markdown text: the headings above it, and the head of the table or the items that it
begins in. They are repeated before the part, so that it reads as in the whole.

The blocks are found by markdown-it. Cost: linear in the text; one part is parsed at a time.
"""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from graphtide.infra.documents.markdown.admonitions import plain_markdown
from graphtide.infra.documents.markdown.comments import without_comments
from graphtide.infra.documents.markdown.reader import read_heading

MAX_HEADING_CHARS = 300
MAX_TABLE_HEAD_CHARS = 8_000
_LINE_END = re.compile(r"\r\n?|\f")
_ATX = re.compile(r"(#{1,6})[ \t]")
_ITEM = re.compile(r"[ \t]{0,60}(?:[-*+]|\d{1,9}[.)])[ \t]{1,8}(?=[^\s`~])")
_MARKS = re.compile(r"([!-/:-@\[-`{-~])")


class MarkdownContext:
    """The headings, the table and the items at the end of the parts that have been read, in their order."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._headings: list[tuple[int, str]] = []
        self._table_head = ""
        self._items: list[str] = []

    def before(self, part: str) -> str:
        """Return the lines to repeat before the part that follows, "" for none.

        The first heading of level 1 of a text is its title, which is no heading of its blocks: with another one, the
        title of the whole is the first.
        """
        found = _ATX.match(part.lstrip())
        level = len(found[1]) if found else 7
        above = [line for each, line in self._headings if each < level]
        main = next((line for each, line in self._headings if each == 1 < level), part.lstrip()[:MAX_HEADING_CHARS])
        if self._title and _ATX.match(main) and (level == 1 or above) and read_heading(main)[1] != self._title:
            above.insert(0, "# " + _MARKS.sub(r"\\\1", self._title))
        lines = "".join(f"{line}\n\n" for line in above)
        return lines + ("" if found else self._table_head or self._parents(part))

    def read(self, text: str) -> None:
        """Follow a part with the lines before it."""
        shown = _LINE_END.sub("\n", text)
        lines = shown.split("\n")
        self._table_head, self._items = "", []
        for token in _parser().parse(plain_markdown(without_comments(shown))):
            self._take(token, lines)

    def _take(self, token: Token, lines: list[str]) -> None:
        first, end = token.map or (0, 0)
        if token.type == "list_item_open":
            depth = token.level // 2
            self._items[depth:] = [lines[first]]
        elif token.level or token.type.endswith("_close"):
            return
        elif token.type == "heading_open":
            level = int(token.tag[1:])
            self._headings = [heading for heading in self._headings if heading[0] < level]
            heading = " ".join(lines[first : end - 1 if token.markup in ("-", "=") else end]).strip()
            heading = heading if token.markup.startswith("#") else f"{'#' * level} {heading}"
            if len(heading) <= MAX_HEADING_CHARS:
                self._headings.append((level, heading))
        if token.type not in ("list_item_open", "bullet_list_open", "ordered_list_open"):
            self._items = []
        if token.type == "table_open":
            head = "\n".join(lines[first : first + 2]) + "\n"
            reaches_end = end >= len(lines) - (not lines[-1])
            self._table_head = head if reaches_end and len(head) <= MAX_TABLE_HEAD_CHARS else ""

    def _parents(self, part: str) -> str:
        """Return the items that an indented beginning of a part is in."""
        first = part.lstrip("\r\n").expandtabs(4)
        indent = len(first) - len(first.lstrip(" "))
        lines = []
        for line in self._items:
            marker = _ITEM.match(line)
            if marker is None or len(marker[0].expandtabs(4)) > indent or len(line) > MAX_HEADING_CHARS:
                break
            lines.append(line)
        return "".join(f"{line}\n" for line in lines)


@cache
def _parser() -> MarkdownIt:
    """Return a parser of blocks alone."""
    return MarkdownIt("commonmark").enable("table").disable("inline")
