"""The reader of Markdown: CommonMark with tables, strikethrough, checklists and wiki links, by markdown-it.

Front matter and markup never reach a block. Cost: linear; a long text is parsed in parts, so that memory stays bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from graphtide.graph.text.place import PassageKind
from graphtide.infra.documents.blocks import Block, HeadingBlock, line_starts, one_line, row_text, under_headings
from graphtide.infra.documents.line_breaks import are_authors
from graphtide.infra.documents.markdown.admonitions import plain_markdown
from graphtide.infra.documents.markdown.comments import without_comments
from graphtide.infra.documents.markdown.directives import without_heading_attributes, without_tags
from graphtide.infra.documents.markdown.fields import linked_names, readable
from graphtide.infra.documents.markdown.front_matter import FrontMatter, for_readers, read_front_matter
from graphtide.infra.documents.markdown.html_blocks import HtmlPart, HtmlReader
from graphtide.infra.documents.markdown.inline import (
    WIKI_LINK,
    highlight,
    is_strong,
    pieces,
    pieces_and_term,
    take_block_id,
    wiki_link,
)

PART_CHARS = 65_536
MAX_TITLE_CHARS = 300
_MAX_ABOVE_CHARS = 300
"""The length of the context of code: the end of the paragraph above it."""
_MAX_LABEL_WORDS = 12
_STRONG_LEVEL = 7
_CHECKBOX = re.compile(r"\[([ xX\-/])\][ \t]+")
_CALLOUT = re.compile(r"\[!([\w-]{1,30})(?:\|[^\[\]\n]{0,60})?\][+-]?[ \t]*")
_PART_END = re.compile(r"\n[ \t]*\n(?=#{1,6} |[^\W_]|\*\*)")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_PROSE_ENDS = (".", "!", "?", ";", ",", ":")
_LEADS = (":", "...", "\u2026")
_DONE = {" ": "To do: ", "/": "To do: ", "x": "Done: ", "X": "Done: ", "-": "Cancelled: "}


@dataclass(frozen=True, slots=True)
class MarkdownDocument:
    """Blocks of a Markdown text, and what it states about itself. `title` is its first heading if none is given."""

    front_matter: FrontMatter
    title: str
    blocks: tuple[Block, ...]


def read_markdown(text: str) -> MarkdownDocument:
    """Return the blocks of the text with their headings, and its title."""
    front = read_front_matter(text)
    about = list(_front_block(front))
    found: list[Block | HeadingBlock] = [*about]
    tables = 0
    for start, end in _parts(text, front.end):
        reader = _BlockReader(text[start:end], start, tables)
        found.extend(reader.read())
        tables = reader.tables
    title = front.title or _first_heading(found[len(about) :])
    return MarkdownDocument(front, title, tuple(under_headings(found, title)))


def read_heading(text: str) -> tuple[FrontMatter, str]:
    """Return the front matter and the title, without reading the whole text."""
    front = read_front_matter(text)
    start, end = next(_parts(text, front.end), (0, 0))
    return front, front.title or _first_heading(list(_BlockReader(text[start:end], start, 0).read()))


def _front_block(front: FrontMatter) -> Iterator[Block]:
    """Yield the fields of the front matter as a row, when it states more than a title and a date."""
    stated = for_readers(front.metadata)
    fields = {"title": front.title, **stated}
    if front.occurred_at not in front.metadata.values():
        fields["date"] = front.occurred_at
    if stated:
        text = row_text(list(fields), list(map(readable, fields.values())))
        yield Block(text, 0, front.end, PassageKind.TABLE, mentions=tuple(dict.fromkeys(linked_names(fields))))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", WIKI_LINK, wiki_link)
    parser.inline.ruler.before("link", "highlight", highlight)
    return parser


def _first_heading(found: list[Block | HeadingBlock]) -> str:
    """Return the heading of level 1 that comes first, or any heading at the start of the text."""
    headings = [block for block in found if isinstance(block, HeadingBlock)]
    first = next((block.text for block in headings if block.level == 1), "")
    if not first and found and isinstance(found[0], HeadingBlock):
        first = found[0].text
    return first[:MAX_TITLE_CHARS]


def _parts(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield spans of about `PART_CHARS`, cut at empty lines outside of code, or where a line ends."""
    while len(text) - start > 2 * PART_CHARS:
        end = _cut(text, start)
        yield start, end
        start = end
    if text[start:].strip():
        yield start, len(text)


def _cut(text: str, start: int) -> int:
    window = text[start + PART_CHARS : start + 2 * PART_CHARS]
    fences = len(_FENCE.findall(text, start, start + PART_CHARS))
    for found in _PART_END.finditer(window):
        if (fences + len(_FENCE.findall(window, 0, found.end()))) % 2 == 0:
            return start + PART_CHARS + found.end()
    line = window.rfind("\n")
    return start + PART_CHARS + (line + 1 if line >= 0 else len(window))


@dataclass(slots=True)
class _ListState:
    ordered: bool
    number: int = 0
    lead_in: str = ""
    item: str = ""
    marker: str = ""


@dataclass(slots=True)
class _TableState:
    columns: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    rows: int = 0
    in_head: bool = False
    span: tuple[int, int] = (0, 0)

    def add(self, cell: Token) -> None:
        found = pieces(cell.children or [])
        self.cells.append(", ".join(text for text, _ in found))
        self.mentions.extend(name for _, names in found for name in names)


class _BlockReader:
    """Reader of one part of a text: walks the tokens and yields blocks and headings."""

    def __init__(self, text: str, offset: int, tables: int) -> None:
        self._text = text.replace("\f", "\n")
        self._offset = offset
        self._starts = line_starts(self._text)
        self._lists: list[_ListState] = []
        self._table: _TableState | None = None
        self._quotes = 0
        self._lead_in = ""
        self._above = ""
        self._term = ""
        self._last_end = 0
        self._html = HtmlReader()
        self.tables = tables

    def read(self) -> Iterator[Block | HeadingBlock]:
        heading: Token | None = None
        for token in _parser().parse(plain_markdown(without_comments(self._text))):
            if token.type == "heading_open":
                heading = token
            elif token.type == "inline" and heading is not None:
                yield from self._heading(heading, token)
                heading = None
            elif token.type == "inline" and self._table is not None:
                self._table.add(token)
            elif token.type == "inline":
                yield from self._paragraph(token)
            elif token.type == "html_block":
                yield from self._html_block(token)
            elif token.type in ("fence", "code_block"):
                yield from self._code(token)
            else:
                yield from self._structure(token)
        end = self._offset + len(self._text)
        yield from self._html_parts(self._html.end(), end, end)

    def _structure(self, token: Token) -> Iterator[Block]:
        kind = token.type
        if kind in ("bullet_list_open", "ordered_list_open"):
            first = int(token.attrs.get("start", 1)) if kind == "ordered_list_open" else 0
            self._lists.append(_ListState(kind == "ordered_list_open", first, self._lead_in))
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self._lists.pop()
        elif kind == "list_item_open":
            state = self._lists[-1]
            state.item, state.marker = "", f"{state.number}. " if state.ordered else ""
            state.number += 1
        elif kind in ("blockquote_open", "blockquote_close"):
            self._quotes += 1 if kind == "blockquote_open" else -1
        elif kind == "table_open":
            self._table = _TableState()
            self.tables += 1
        elif kind == "table_close":
            self._table = None
        elif self._table is not None:
            yield from self._table_structure(self._table, token)

    def _table_structure(self, table: _TableState, token: Token) -> Iterator[Block]:
        if token.type in ("thead_open", "thead_close"):
            table.in_head = token.type == "thead_open"
        elif token.type == "tr_open":
            table.cells, table.mentions, table.span = [], [], self._span(token)
        elif token.type == "tr_close" and table.in_head:
            table.columns = table.cells
        elif token.type == "tr_close":
            table.rows += 1
            text = row_text(table.columns, table.cells)
            mentions = tuple(dict.fromkeys(table.mentions))
            if text:
                row = Block(text, *table.span, PassageKind.TABLE, mentions=mentions, lead_in=self._lead_in)
                yield replace(row, row=table.rows, table=self.tables)

    def _heading(self, opening: Token, token: Token) -> Iterator[Block | HeadingBlock]:
        text = without_heading_attributes(" ".join(text for text, _ in pieces(token.children or [])))
        if opening.markup in ("-", "=") and text.endswith(_PROSE_ENDS[:3]):
            yield from self._paragraph(token)  # a sentence above a rule, not a heading
            return
        self._lead_in = self._above = self._term = ""
        if self._lists or self._quotes:
            yield from self._paragraph(token)
            return
        yield HeadingBlock(text, *self._span(token), int(opening.tag[1:]))

    def _paragraph(self, token: Token) -> Iterator[Block | HeadingBlock]:
        children = list(token.children or [])
        box = _take_mark(children, _CHECKBOX) if self._lists else None
        _take_callouts(children)
        take_block_id(children)
        found, term = pieces_and_term(children, _has_own_lines(token.content), self._term)
        self._term = term or (found[0][0].rstrip(":") if len(found) == 1 and _is_short(found[0][0]) else "")
        if not found:
            return
        start, end = self._span(token)
        if not self._lists and not self._quotes and len(found) == 1 and self._is_label(found[0][0], children):
            yield HeadingBlock(found[0][0].rstrip(": "), start, end, _STRONG_LEVEL)
            self._lead_in = self._above = ""
            return
        last = max(start, end - 1)  # not the end, which may be on the next page
        bounds = [start, *[last] * (len(found) - 1), end]
        for at, (text, mentions) in enumerate(found):
            yield self._block(text, mentions, (bounds[at], bounds[at + 1]), box if at == 0 else None)
        if not self._lists:
            self._lead_in = found[-1][0] if found[-1][0].endswith(_LEADS) else ""
        self._above = found[-1][0][-_MAX_ABOVE_CHARS:]

    def _is_label(self, text: str, children: list[Token]) -> bool:
        return is_strong(children) and len(text.split()) <= _MAX_LABEL_WORDS and not text.endswith(_PROSE_ENDS[:5])

    def _block(self, text: str, mentions: tuple[str, ...], span: tuple[int, int], box: str | None) -> Block:
        if not self._lists:
            return Block(text, *span, mentions=mentions)
        state = self._lists[-1]
        text = (_DONE[box] if box else state.marker) + text
        parents = (above.item for above in self._lists[:-1] if above.item)
        labels = [label for label in (one_line(parent).rstrip(": ") for parent in parents) if _is_short(label)]
        if not state.item:
            state.item, state.marker = text, ""
        text = ": ".join([*labels[-1:], text])
        return Block(text, *span, lead_in=self._lists[0].lead_in, mentions=mentions)

    def _code(self, token: Token) -> Iterator[Block]:
        span = self._span(token)
        self._term = ""
        if token.content.strip():
            yield Block(token.content.strip("\r\n").rstrip(), *span, PassageKind.CODE, lead_in=self._above)

    def _html_block(self, token: Token) -> Iterator[Block | HeadingBlock]:
        yield from self._html_parts(self._html.read(without_tags(token.content)), *self._span(token))

    def _html_parts(self, parts: Iterable[HtmlPart], start: int, end: int) -> Iterator[Block | HeadingBlock]:
        for part in parts:
            if part.level and not self._lists and not self._quotes:
                yield HeadingBlock(part.text, start, end, part.level)
                self._lead_in = self._above = ""
            elif not part.text:
                continue
            elif part.is_code:
                yield Block(part.text, start, end, PassageKind.CODE, lead_in=self._above)
            elif part.row:
                self.tables += part.row == 1
                row = Block(part.text, start, end, PassageKind.TABLE, lead_in=self._lead_in)
                yield replace(row, row=part.row, table=self.tables)
            else:
                yield Block(part.text, start, end, lead_in=self._lead_in if part.is_item else "")
                if not part.is_item:
                    self._lead_in = part.text if part.text.endswith(_LEADS) else ""
                self._above = part.text[-_MAX_ABOVE_CHARS:]
            start = end

    def _span(self, token: Token) -> tuple[int, int]:
        first, last = token.map or (0, 0)
        last = min(last, len(self._starts) - 1)
        start = max(self._starts[min(first, last)], self._last_end)
        end = max(start, self._starts[last])
        self._last_end = end
        return start + self._offset, end + self._offset


def _has_own_lines(text: str) -> bool:
    """Return whether each line states something of its own. Manuals break their lines anywhere, before links, code and
    shortcodes, too, so each line has to begin with a capital or a figure.
    """
    lines = text.split("\n")
    return all(line[:1].isalnum() and not line[:1].islower() for line in lines) and are_authors(lines)


def _take_callouts(children: list[Token]) -> None:
    """Remove the marks of callouts at the beginning of lines: each is the first line of its own text."""
    _take_mark(children, _CALLOUT)
    for before, token in pairwise(children):
        if before.type == "softbreak" and _take_mark([token], _CALLOUT) is not None:
            before.type = "hardbreak"


def _take_mark(children: list[Token], mark: re.Pattern[str]) -> str | None:
    """Remove the mark at the start of the text, and return its content, None without one."""
    if not children or children[0].type != "text":
        return None
    found = mark.match(children[0].content)
    if found is None:
        return None
    children[0].content = children[0].content[found.end() :]
    return found[1]


def _is_short(text: str) -> bool:
    return 0 < len(text.split()) <= _MAX_LABEL_WORDS and not text.endswith(_PROSE_ENDS[:4])
