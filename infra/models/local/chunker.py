"""Splitting of documents into passages of bounded size: by blocks in a structured text, at the largest breaks that fit
in prose (semchunk, with offline counting).

No tokenizer is downloaded: see graph/text/token_count.py. Invariants: passages are in order and do not overlap; a
passage of a text without structure is a slice of it, and only white space is lost; the same text gives the same
passages.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import cast

from semchunk.semchunk import chunk

from graphtide.graph.records import DocumentInfo
from graphtide.graph.text.place import PassageKind, Place
from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.documents.blocks import Block
from graphtide.infra.documents.description import describe
from graphtide.infra.documents.markdown.reader import read_markdown
from graphtide.infra.documents.plain import read_plain
from graphtide.infra.documents.recognition import looks_like_markdown
from graphtide.infra.documents.tables import read_csv
from graphtide.streams.model_ports import CSV, MARKDOWN, PLAIN, SplitPassage

DEFAULT_MAX_TOKENS = 300
BLOCK_SEPARATOR = "\n\n"
MAX_ROWS_APART = 1_000
"""A table of more rows has several rows in a passage, so that the number of passages stays bounded."""
# semchunk descends one level for each length of white space it meets, which is quadratic over a whole book and
# overflows the stack on a hostile one: it gets blocks of this size, cut where a paragraph, a line or a word ends.
_BLOCK_CHARS = 16_384
_BREAKS = ("\n\n", "\n", ". ", " ")


class SemanticChunker:
    """The Chunker on semchunk (see the module). ``max_tokens`` bounds ``count_tokens`` of every passage."""

    def __init__(self, max_tokens: int = DEFAULT_MAX_TOKENS) -> None:
        if max_tokens < 8:
            raise ValueError(f"max_tokens is {max_tokens}: passages need at least 8 tokens")
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        return f"semchunk-{self._max_tokens}"

    def split(self, text: str, media_type: str = "") -> tuple[SplitPassage, ...]:
        """See ``graphtide.streams.model_ports.Chunker``. About 3 ms for 10,000 characters of prose, 10 of Markdown.

        A text of no media type that does not look like Markdown has no structure; text/plain has what `plain` finds.
        """
        if media_type == MARKDOWN or (not media_type and looks_like_markdown(text)):
            blocks: Sequence[Block] = read_markdown(text).blocks
        elif media_type == PLAIN:
            blocks = read_plain(text).blocks
        elif media_type == CSV:
            blocks = read_csv(text)
        else:
            return tuple(self._slices(text))
        return tuple(self._passages(text, blocks))

    def describe(self, text: str, media_type: str = "") -> DocumentInfo:
        """See ``graphtide.streams.model_ports.Chunker``. Cost: bounded by the beginning of the text."""
        markdown = media_type == MARKDOWN or (not media_type and looks_like_markdown(text))
        return describe(text, MARKDOWN if markdown else media_type)

    def _slices(self, text: str) -> Iterator[SplitPassage]:
        for start, end in _spans(text):
            for first, last in self._spans_of(text[start:end]):
                yield SplitPassage(text[start + first : start + last], start + first, start + last)

    def _spans_of(self, block: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of the block's passages, without white space around them."""
        if count_tokens(block) <= self._max_tokens:
            spans = [(0, len(block))]
        else:
            _, spans = cast(
                tuple[list[str], list[tuple[int, int]]],
                chunk(block, self._max_tokens, count_tokens, memoize=False, offsets=True),
            )
        for first, last in spans:
            piece = block[first:last]
            at = first + len(piece) - len(piece.lstrip())
            if piece.strip():
                yield at, at + len(piece.strip())

    def _passages(self, text: str, blocks: Sequence[Block]) -> Iterator[SplitPassage]:
        """Yield passages of consecutive blocks that have the same headings, kind and page and fit together."""
        pages = [at for at, char in enumerate(text) if char == "\f"] if "\f" in text else []
        apart = self._tables_apart(blocks)
        pending: list[Block] = []
        size = 0
        page = 0
        for block in blocks:
            tokens, on_page = count_tokens(block.text), 1 + bisect_right(pages, block.start) if pages else 0
            fits = bool(pending) and _go_together(pending[-1], block) and on_page == page and block.table not in apart
            if pending and not (fits and size + tokens <= self._max_tokens):
                yield from self._passage(pending, page)
                pending, size = [], 0
            pending, size, page = [*pending, block], size + tokens, on_page
        if pending:
            yield from self._passage(pending, page)

    def _tables_apart(self, blocks: Sequence[Block]) -> set[int]:
        """Return the tables whose rows are passages of their own: those that do not fit in one passage."""
        sizes: dict[int, int] = {}
        rows: dict[int, int] = {}
        for block in blocks:
            if block.table:
                sizes[block.table] = sizes.get(block.table, 0) + count_tokens(block.text)
                rows[block.table] = rows.get(block.table, 0) + 1
        return {table for table, size in sizes.items() if size > self._max_tokens and rows[table] <= MAX_ROWS_APART}

    def _passage(self, pending: Sequence[Block], page: int) -> Iterator[SplitPassage]:
        first = pending[0]
        mentions = tuple(dict.fromkeys(name for block in pending for name in block.mentions))
        place = Place(first.headings, page, first.row, first.kind, first.lead_in)
        text = BLOCK_SEPARATOR.join(block.text for block in pending)
        if len(pending) > 1 or count_tokens(text) <= self._max_tokens:
            yield SplitPassage(text, first.start, pending[-1].end, place, mentions)
            return
        pieces = [text[a:b] for piece in _spans(text) for a, b in self._shifted(text, *piece)]
        for at, piece in enumerate(pieces):  # the document's text belongs to the first one
            start = first.start if at == 0 else first.end
            yield SplitPassage(piece, start, first.end, place, mentions if at == 0 else ())

    def _shifted(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        return ((start + a, start + b) for a, b in self._spans_of(text[start:end]))


def _go_together(previous: Block, block: Block) -> bool:
    """Return True if both blocks may be in one passage."""
    same = previous.headings == block.headings and previous.kind is block.kind and previous.table == block.table
    return same and block.kind is not PassageKind.CODE


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start > _BLOCK_CHARS:
        end = _break_before(text, start, start + _BLOCK_CHARS)
        yield start, end
        start = end
    yield start, len(text)


def _break_before(text: str, start: int, limit: int) -> int:
    """Return the last good break in the second half of the block, or its end without one."""
    for mark in _BREAKS:
        at = text.rfind(mark, start + _BLOCK_CHARS // 2, limit)
        if at >= 0:
            return at + len(mark)
    return limit
