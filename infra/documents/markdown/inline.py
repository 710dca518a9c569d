"""Inline Markdown as readable text: emphasis, links, code and images lose their marks; links give mentions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from graphtide.infra.documents.blocks import one_line
from graphtide.infra.documents.markdown.directives import (
    close_references,
    is_directive,
    without_directives,
    without_raw,
)

WIKI_LINK = "wiki_link"
_MAX_NAME_CHARS = 120
_MAX_NAME_WORDS = 8
_MAX_LINK_CHARS = 300
_FOOTNOTE = re.compile(r"\[\^[\w-]{1,40}\]:?")
_LABEL = re.compile(r"(?:[^\W\d_][^\W_]*|[^\W_]+)(?:[ /&-][^\W_]+){0,3}:\s")
_NAME = re.compile(r"[^\W_]")
_DIGITS = str.maketrans("", "", "0123456789")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,12}:|www\.|[^@\n]{0,32}@[^@.\n]{0,32}\.", re.IGNORECASE)


def wiki_link(state: StateInline, silent: bool) -> bool:
    """Parse `[[Target]]`, `[[Target|label]]` and `![[embedded file]]`: a rule of markdown-it."""
    start = state.pos
    opening = start + (state.src[start : start + 1] == "!")
    if not state.src.startswith("[[", opening):
        return False
    end = state.src.find("]]", opening + 2, opening + 2 + _MAX_LINK_CHARS)
    inner = state.src[opening + 2 : max(end, 0)]
    if end < 0 or not inner.strip() or "\n" in inner or "[" in inner:
        return False
    if not silent:
        token = state.push(WIKI_LINK, "", 0)
        token.content = inner
    state.pos = end + 2
    return True


def wiki_text(inner: str) -> str:
    """Return what a reader sees of a wiki link: its label, or its target, whose reference to a block is left out."""
    target, _, label = inner.partition("|")
    target = _BLOCK_REFERENCE.sub("", target)
    return one_line(label) or one_line(target).replace("#", ": ").removeprefix(": ")


def wiki_name(inner: str) -> str:
    """Return the name of the note that a wiki link refers to."""
    name = one_line(inner.partition("|")[0].partition("#")[0])
    return name.rsplit("/", 1)[-1].removesuffix(".md")


def is_name(text: str) -> bool:
    """Return whether a text can be the name of something: a short one, and no address."""
    fits = len(text) <= _MAX_NAME_CHARS and len(text.split()) <= _MAX_NAME_WORDS
    return bool(fits and _NAME.search(text) and not _ADDRESS.match(text))


def highlight(state: StateInline, silent: bool) -> bool:
    """Parse the marks of `==highlighted text==`: a rule of markdown-it."""
    start = state.pos
    if not state.src.startswith("==", start):
        return False
    source, ends = state.env.get(_HIGHLIGHTS, ("", set()))
    if source != state.src:
        source, ends = state.env[_HIGHLIGHTS] = (state.src, set())
    if start not in ends:
        found = _HIGHLIGHT.match(state.src, start)
        if found is None or (start and (state.src[start - 1].isalnum() or state.src[start - 1] == "=")):
            return False
        ends.add(found.end() - 2)
    state.pos += 2
    return True


_HIGHLIGHTS = "highlights"
_HIGHLIGHT = re.compile(r"==(?![\s=])(?:(?!==).){1,1000}(?<!\s)==(?![\w=])", re.DOTALL)
_BLOCK_REFERENCE = re.compile(r"#?\^[\w-]{1,60}\s*$")


def take_block_id(children: Sequence[Token]) -> None:
    """Remove the name that Obsidian gives to a block at its end: `The valve leaks. ^37066d`."""
    if children and children[-1].type == "text":
        children[-1].content = _BLOCK_ID.sub("", children[-1].content)


_BLOCK_ID = re.compile(r"(?:^|(?<=[ \t]))\^(?!\d{1,3}$)[A-Za-z0-9-]{1,60}$")


def pieces(children: Sequence[Token], lines: bool = False) -> list[tuple[str, tuple[str, ...]]]:
    """Return the text of an inline token in pieces that end at hard line breaks, each with the names it links to.

    A soft line break is a space, except before a label such as `Owner: `, as notes have them, and with `lines`, where
    each line is a piece.
    """
    return pieces_and_term(children, lines)[0]


def pieces_and_term(
    children: Sequence[Token], lines: bool = False, term: str = ""
) -> tuple[list[tuple[str, tuple[str, ...]]], str]:
    """Return the pieces, see `pieces`, and the term of the definitions in them, "" without one. `term` is that of the
    paragraph before, which a first line such as `: meaning` defines.
    """
    reader = _InlineReader(lines)
    close_references(children)
    if term and children and children[0].content.startswith(": "):
        reader.begin_definition(term)
    for child in children:
        reader.take(child)
    reader.end_piece()
    return reader.pieces, reader.term


def is_strong(children: Sequence[Token]) -> bool:
    """Return True if all of the text is emphasised, as a heading would be."""
    filled = [child for child in children if child.type != "text" or child.content.strip()]
    if len(filled) < 3 or filled[0].type != "strong_open" or filled[-1].type != "strong_close":
        return False
    return sum(child.type == "strong_open" for child in filled) == 1


class _InlineReader:
    def __init__(self, lines: bool) -> None:
        self.pieces: list[tuple[str, tuple[str, ...]]] = []
        self._lines = lines
        self._text: list[str] = []
        self._mentions: list[str] = []
        self._struck = 0
        self._struck_text: list[str] = []
        self._link_starts: list[tuple[int, str]] = []
        self._may_break = False
        self._before = ""
        self.term = ""
        """The term of the definitions that have been read."""

    def take(self, token: Token) -> None:
        kind, before = token.type, self._before
        self._before = kind
        if kind == "text" and (not token.content or is_directive(token.content)):
            return
        if self._may_break and kind not in ("softbreak", "hardbreak"):
            self._break_before(token)
        if kind == "text":
            self._add(_FOOTNOTE.sub("", without_directives(token.content, before)))
        elif kind in ("code_inline", "text_special"):
            self._add(without_raw(token.content))
        elif kind == "hardbreak" or (kind == "softbreak" and self._lines):
            self.end_piece()
        elif kind == "softbreak":
            self._may_break = True
        elif kind == WIKI_LINK:
            self._wiki(token.content)
        elif kind == "image":
            alternative = "".join(child.content for child in token.children or [])
            self._add(alternative if _NAME.search(alternative.translate(_DIGITS)) else "")
        elif kind == "html_inline":
            self._add(" " if token.content[:3].lower() == "<br" else "")
        elif kind in ("s_open", "s_close"):
            self._struck += 1 if kind == "s_open" else -1
        elif kind == "link_open":
            self._link_starts.append((len(self._text), str(token.attrs.get("href", ""))))
        elif kind == "link_close" and self._link_starts:
            self._linked(*self._link_starts.pop())

    def begin_definition(self, term: str) -> None:
        """Begin the statement of a term, whose next text begins with ": "."""
        self.term = term
        self._add(term)

    def end_piece(self) -> None:
        self._may_break = False
        text = one_line("".join(self._text))
        if not text and self._struck_text:
            text = one_line("Struck out: " + "".join(self._struck_text))
        if text:
            self.pieces.append((text, tuple(dict.fromkeys(self._mentions))))
        self._text, self._struck_text, self._mentions, self._link_starts = [], [], [], []

    def _break_before(self, token: Token) -> None:
        self._may_break = False
        if token.type == "strong_open" or (token.type == "text" and _LABEL.match(token.content[:80])):
            self.end_piece()
        elif not token.content.startswith(": "):
            self._add(" ")
        elif self.term:  # another definition of the term
            self.end_piece()
            self.begin_definition(self.term)
        else:  # the definition of the term in the line before
            self.term = one_line("".join(self._text)).rstrip(":")
            token.content = token.content if self._text and not self._text[-1].endswith(":") else token.content[1:]

    def _add(self, text: str) -> None:
        (self._struck_text if self._struck else self._text).append(text)

    def _wiki(self, inner: str) -> None:
        self._add(wiki_text(inner))
        self._mention(wiki_name(inner))

    def _linked(self, start: int, target: str) -> None:
        name = one_line("".join(self._text[start:]))
        if name != target and name[:1].isupper():
            self._mention(name)

    def _mention(self, name: str) -> None:
        if is_name(name) and not self._struck:
            self._mentions.append(name)
