"""Blocks: the readable pieces of a structured document, from which the chunker makes passages.

Invariants: blocks are in the order of the document, their spans do not overlap, and no text of one contains markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from graphtide.graph.text.place import PassageKind

_BLANKS = re.compile(r"\s+")
LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a list item, a table row, a quotation or a piece of code, from `start` to before `end`.

    `lead_in` is the paragraph that introduces its list or its table. `row` counts from 1 within a table. `table`
    numbers the tables of the document. `mentions` are the names that it links to.
    """

    text: str
    start: int
    end: int
    kind: PassageKind = PassageKind.TEXT
    headings: tuple[str, ...] = ()
    lead_in: str = ""
    row: int = 0
    table: int = 0
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeadingBlock:
    """A heading; `level` 1 is the outermost of a text, and 0 the one that a mail gets from its sender."""

    text: str
    start: int
    end: int
    level: int


def one_line(text: str) -> str:
    """Return the text with every run of white space replaced by one space."""
    return _BLANKS.sub(" ", text).strip()


def line_starts(text: str) -> list[int]:
    """Return the position of the start of every line, and the end of the text as the last one."""
    return [0, *(found.end() for found in LINE_END.finditer(text)), len(text)]


def row_text(columns: Sequence[str], cells: Sequence[str]) -> str:
    """Return a table row in one readable line, such as `Name: X; Town: Y`; empty cells are left out.

    A value without the name of a column stays alone, such as the name of a row in the first column.
    """
    return "; ".join(
        f"{column}: {value}" if column else value
        for column, value in _pairs(map(one_line, columns), [one_line(cell).replace("; ", ", ") for cell in cells])
        if value
    )


def _pairs(columns: Iterator[str], cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    return ((next(columns, ""), cell) for cell in cells)


def under_headings(blocks: Sequence[Block | HeadingBlock], title: str) -> list[Block]:
    """Return the blocks with the path of their headings. A heading without content becomes a block of its own.

    The first heading of level 1 is left out of the paths when it is the document's `title`, and is no block unless the
    text says nothing else.
    """
    placed: list[Block] = []
    path: list[HeadingBlock] = []
    says_more = any(block.text and not _is_title(block, title) for block in blocks)
    for at, block in enumerate(blocks):
        if isinstance(block, Block):
            above = tuple(heading.text for heading in path if heading.text)
            own = block.headings or above[:1]  # a quotation is not below the heading of what surrounds it
            placed.append(replace(block, headings=own if block.kind is PassageKind.QUOTE else above))
            continue
        while path and path[-1].level >= block.level:
            path.pop()
        is_title = _is_title(block, title)
        following = blocks[at + 1] if at + 1 < len(blocks) else None
        is_leaf = following is None or (isinstance(following, HeadingBlock) and following.level <= block.level)
        if is_leaf and block.level and block.text and not (is_title and (says_more or placed)):
            above = tuple(heading.text for heading in path if heading.text)
            placed.append(Block(block.text, block.start, block.end, headings=above))
        path.append(replace(block, text="") if is_title else block)
    return placed


def _is_title(block: Block | HeadingBlock, title: str) -> bool:
    return isinstance(block, HeadingBlock) and block.level == 1 and block.text == title
