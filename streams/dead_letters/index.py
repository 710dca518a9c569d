"""The places of the dead letters by graph, in memory, so that a page of letters costs the page and not the topic.

It reads each record of `documents.dlq` once, and keeps about 300 bytes of a letter: where it is, when it was written
and how it was resolved. Letters themselves are read from the topic when they are shown. Invariant: after `refresh`, the
index equals that of a process that reads the whole topic now.
"""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

from graphtide.streams.dead_letters.erasure import parse_letter_mark
from graphtide.streams.errors import Rejected
from graphtide.streams.log.log_scan import read_window
from graphtide.streams.messages import DEAD_LETTERS, DeadLetter, decode_dead_letter
from graphtide.streams.ports import ConsumedRecord, Log, Position

T = TypeVar("T")

LetterKey = tuple[int, int, int]
"""When a letter was written (milliseconds since the epoch), its partition and its offset: the order of lists."""
MAX_GAP = 64
"""Records of other graphs that are read along instead of seeking."""


@dataclass(slots=True)
class _Letters:
    """The letters of one graph in order; `open` are those that are not resolved."""

    all: list[LetterKey] = field(default_factory=list)
    open: list[LetterKey] = field(default_factory=list)


class DeadLetterIndex:
    """See the module. One for each log in a process. It belongs to the event loop."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self._reading = asyncio.Lock()
        self._starts: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._graphs: dict[str, _Letters] = {}
        self._placed: dict[Position, tuple[str, LetterKey]] = {}
        self._resolutions: dict[Position, str] = {}

    async def refresh(self) -> None:
        """Read the records that were added since the last call. Raises what the log raises. Cost: these records."""
        async with self._reading:
            starts, ends = await self.log.start(DEAD_LETTERS), await self.log.end(DEAD_LETTERS)
            if any(end < self._next.get(number, 0) for number, end in ends.items()):
                self._clear()  # another topic has this name now
            begin = {number: max(self._next.get(number, 0), starts.get(number, 0)) for number in ends}
            async with aclosing(read_window(self.log, DEAD_LETTERS, begin, ends)) as records:
                async for delivered in records:
                    self._take(delivered)
                    self._next[delivered.position.partition] = delivered.position.offset + 1
            self._next.update(ends)
            for number, start in starts.items():
                if start != self._starts.get(number, 0):
                    self._trim(number, start)
            self._starts = dict(starts)

    def keys(self, graph: str, after: LetterKey, limit: int, *, resolved: bool) -> Sequence[LetterKey]:
        """Return the keys of the first `limit` letters of a graph after that key. Cost: the result."""
        index = self._graphs.get(graph)
        if index is None:
            return ()
        letters = index.all if resolved else index.open
        first = bisect_right(letters, after)
        return letters[first : first + limit]

    def key(self, graph: str, position: Position) -> LetterKey | None:
        """Return the key of the graph's letter at the position; None if it has none there."""
        of, key = self._placed.get(position, ("", None))
        return key if of == graph else None

    def resolution(self, key: LetterKey) -> str:
        """Return how the letter was resolved, "" while it is open."""
        return self._resolutions.get(_position(key), "")

    def counts(self) -> Mapping[str, int]:
        """Return the number of open letters by graph, of graphs that have any."""
        return {graph: len(index.open) for graph, index in self._graphs.items() if index.open}

    async def read(
        self, keys: Sequence[LetterKey], kept: Callable[[LetterKey, DeadLetter], T]
    ) -> Mapping[LetterKey, T]:
        """Return what `kept` makes of each letter in the topic. Letters that were erased from it are left out.

        Memory: the results, and the letters of one read.
        """
        wanted = {_position(key): key for key in keys}
        found: dict[LetterKey, T] = {}
        for begin, end in _runs(sorted(wanted)):
            ends = {begin.partition: end.offset + 1}
            async with aclosing(read_window(self.log, DEAD_LETTERS, {begin.partition: begin.offset}, ends)) as records:
                async for delivered in records:
                    key = wanted.get(delivered.position)
                    letter = _letter(delivered.record.value or b"") if key else None
                    if key is not None and letter is not None:
                        found[key] = kept(key, letter)
        self._drop([position for position, key in wanted.items() if key not in found])
        return found

    def _take(self, delivered: ConsumedRecord) -> None:
        value, position = delivered.record.value or b"", delivered.position
        if (settlement := parse_settlement(value)) is not None:
            self._resolve(*settlement)
        elif (mark := parse_letter_mark(value)) is not None:
            self._erase(*mark)
        elif (letter := _letter(value)) is not None and position not in self._placed:
            key = (delivered.timestamp_ms, position.partition, position.offset)
            self._placed[position] = letter.graph, key
            index = self._graphs.setdefault(letter.graph, _Letters())
            insort(index.all, key)
            if position not in self._resolutions:
                insort(index.open, key)

    def _resolve(self, position: Position, how: str) -> None:
        self._resolutions.setdefault(position, how)
        graph, key = self._placed.get(position, ("", None))
        if key is not None:
            _remove(self._graphs[graph].open, key)

    def _erase(self, graph: str, end: Position) -> None:
        index = self._graphs.get(graph, _Letters())
        self._drop([_position(key) for key in index.all if key[1] == end.partition and key[2] < end.offset])

    def _trim(self, partition: int, start: int) -> None:
        """Drop the letters that the log no longer retains."""
        self._drop([each for each in self._placed if each.partition == partition and each.offset < start])

    def _drop(self, positions: Sequence[Position]) -> None:
        """Drop the letters there. Cost: the letters of their graphs."""
        dropped: dict[str, set[LetterKey]] = {}
        for position in positions:
            graph, key = self._placed.pop(position, ("", None))
            self._resolutions.pop(position, None)
            if key is not None:
                dropped.setdefault(graph, set()).add(key)
        for graph, keys in dropped.items():
            index = self._graphs[graph]
            index.all = [key for key in index.all if key not in keys]
            index.open = [key for key in index.open if key not in keys]
            if not index.all:
                del self._graphs[graph]

    def _clear(self) -> None:
        for table in (self._next, self._graphs, self._placed, self._resolutions):
            table.clear()


def parse_settlement(value: bytes) -> tuple[Position, str] | None:
    """Return the position of the letter that the record settles, and how; None for other records."""
    if b'"settles"' not in value[:200]:
        return None
    try:
        body = json.loads(value)
        partition, _, offset = str(body["settles"]).partition("-")
        return Position(int(partition), int(offset)), str(body["how"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _letter(value: bytes) -> DeadLetter | None:
    try:
        return decode_dead_letter(value)
    except Rejected:  # not written by Graphtide
        return None


def _position(key: LetterKey) -> Position:
    return Position(key[1], key[2])


def _remove(keys: list[LetterKey], key: LetterKey) -> None:
    at = bisect_left(keys, key)
    if at < len(keys) and keys[at] == key:
        del keys[at]


def _runs(positions: Sequence[Position]) -> list[tuple[Position, Position]]:
    """Return the first and the last position of each group of near positions in one partition."""
    runs: list[tuple[Position, Position]] = []
    for position in positions:
        last = runs[-1][1] if runs else None
        if last and last.partition == position.partition and position.offset - last.offset <= MAX_GAP:
            runs[-1] = runs[-1][0], position
        else:
            runs.append((position, position))
    return runs
