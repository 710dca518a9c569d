"""Splitting of a text into passages of bounded size, at the largest breaks that fit: semchunk, with offline counting.

No tokenizer is downloaded: see graph/token_count.py. Invariants: ``text[start:end] == passage.text``; passages are in
order and do not overlap; only white space is lost.
"""

from collections.abc import Iterator
from typing import cast

from semchunk.semchunk import chunk

from graphtide.graph.token_count import count_tokens
from graphtide.streams.model_ports import SplitPassage

DEFAULT_MAX_TOKENS = 300
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

    def split(self, text: str) -> tuple[SplitPassage, ...]:
        """See ``graphtide.streams.model_ports.Chunker``. About 3 ms for 10,000 characters."""
        return tuple(passage for start, end in _blocks(text) for passage in self._split_block(text, start, end))

    def _split_block(self, text: str, start: int, end: int) -> Iterator[SplitPassage]:
        block = text[start:end]
        if count_tokens(block) <= self._max_tokens:
            spans = [(0, len(block))]
        else:
            _, spans = cast(
                tuple[list[str], list[tuple[int, int]]],
                chunk(block, self._max_tokens, count_tokens, memoize=False, offsets=True),
            )
        for first, last in spans:
            piece = block[first:last]
            left = len(piece) - len(piece.lstrip())
            stripped = piece.strip()
            if stripped:
                at = start + first + left
                yield SplitPassage(stripped, at, at + len(stripped))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
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
