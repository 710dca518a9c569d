"""What the write model remembers: labels and statements as sums of contributions, under small reusable ints.

Invariant: a label or statement lives exactly as long as its count is positive, and equals the sum of what live units
contribute to it, whatever the order in which they came and went.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from graphtide.graph.consolidation.signed_counts import LabelKey, Triple
from graphtide.graph.vector_sum import VectorSum

StatementKey = tuple[int, str, int]
"""Subject label, predicate, object label."""


class IdAllocator:
    """Small ints, the least free one first. A released number is handed out again only after `settle`.

    So within one batch a number never means two things.
    """

    __slots__ = ("_free", "_next", "_released")

    def __init__(self, used: Iterable[int] = ()) -> None:
        taken = set(used)
        self._next = max(taken, default=-1) + 1
        self._free = [number for number in range(self._next) if number not in taken]
        self._released: list[int] = []

    def take(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        self._next += 1
        return self._next - 1

    def release(self, numbers: Iterable[int]) -> None:
        self._released.extend(numbers)

    def settle(self) -> None:
        for number in self._released:
            heapq.heappush(self._free, number)
        self._released.clear()


@dataclass(slots=True)
class LabelState:
    """A normalised spelling of one type: how often it is mentioned, under which spellings, and where it stands."""

    number: int
    key: LabelKey
    node: int = -1
    mentions: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    vectors: VectorSum = field(default_factory=VectorSum)
    statements: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Placement:
    """What a statement adds to the topology: `count` to the edge `u` - `v` (`u` < `v`)."""

    u: int
    v: int
    count: int


@dataclass(slots=True)
class StatementState:
    """A triple of labels: how often it is stated, and which edge of the topology it supports right now."""

    number: int
    key: StatementKey
    count: int = 0
    weight_milli: int = 0
    vectors: VectorSum = field(default_factory=VectorSum)
    placed: Placement | None = None


class Tables:
    """The documents, labels and statements of one graph, by number and by key."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[int, ...]] = {}
        """The chunks of each live document, in order."""
        self.labels: dict[int, LabelState] = {}
        self.label_numbers: dict[LabelKey, int] = {}
        self.statements: dict[int, StatementState] = {}
        self.statement_numbers: dict[StatementKey, int] = {}
        self.free_chunks = IdAllocator()
        self._free_labels = IdAllocator()
        self._free_statements = IdAllocator()

    def label(self, key: LabelKey) -> LabelState:
        """The label of that key; a new one, without mentions, if there is none."""
        number = self.label_numbers.get(key)
        if number is None:
            number = self.label_numbers[key] = self._free_labels.take()
            self.labels[number] = LabelState(number, key)
        return self.labels[number]

    def statement(self, triple: Triple) -> StatementState:
        """The statement of that triple, whose labels must be there; a new one, never stated, if there is none."""
        subject, predicate, object_ = triple
        key = (self.label_numbers[subject], predicate, self.label_numbers[object_])
        number = self.statement_numbers.get(key)
        if number is None:
            number = self._free_statements.take()
            self.hold(StatementState(number, key))
        return self.statements[number]

    def hold(self, statement: StatementState) -> None:
        """Enter a statement between labels that are there."""
        self.statements[statement.number] = statement
        self.statement_numbers[statement.key] = statement.number
        for end in (statement.key[0], statement.key[2]):
            self.labels[end].statements.add(statement.number)

    def nodes(self, statement: StatementState) -> tuple[int, int]:
        """The entities of a statement's subject and object."""
        return self.labels[statement.key[0]].node, self.labels[statement.key[2]].node

    def forget(self, labels: Iterable[int], statements: Iterable[int], chunks: Iterable[int]) -> None:
        """Drop what died in a batch, and make the numbers free for the next one."""
        for number in statements:
            statement = self.statements.pop(number)
            del self.statement_numbers[statement.key]
            for end in (statement.key[0], statement.key[2]):
                self.labels[end].statements.discard(number)
            self._free_statements.release((number,))
        for number in labels:
            del self.label_numbers[self.labels.pop(number).key]
            self._free_labels.release((number,))
        self.free_chunks.release(chunks)
        for free in (self._free_labels, self._free_statements, self.free_chunks):
            free.settle()

    def renumber(self, chunks: Iterable[int]) -> None:
        """After tables were filled by hand: find out which numbers are free."""
        self._free_labels, self._free_statements = IdAllocator(self.labels), IdAllocator(self.statements)
        self.free_chunks = IdAllocator(chunks)
