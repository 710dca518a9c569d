"""State of the write model: labels and statements as sums of contributions, under small reusable ints.

Invariant: a label or statement exists exactly as long as its count is positive, and equals the sum of what live units
contribute to it, in whatever order they were added and removed.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable

from graphtide.graph.consolidation.signed_counts import LabelKey, Triple
from graphtide.graph.int_sets import EMPTY, IntSet, excluding, including, shared_int
from graphtide.graph.number_table import KeyIndex, NumberTable
from graphtide.graph.vector_sum import VectorSum

StatementKey = tuple[int, str, int]
"""Subject label, predicate, object label."""
EdgeKey = tuple[int, int]
"""The entities of an edge, by node, the smaller first."""


_CASES: tuple[Callable[[str], str], ...] = (str.title, str.capitalize, str.upper)
"""Spellings of a name that a label computes instead of holding them: most have one of these."""


class IdAllocator:
    """An allocator of small ints, the smallest free one first. A released number is reused only after `settle`.

    So a number has one meaning within a batch.
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
        return shared_int(self._next - 1)

    def release(self, numbers: Iterable[int]) -> None:
        self._released.extend(numbers)

    def settle(self) -> None:
        for number in self._released:
            heapq.heappush(self._free, number)
        self._released.clear()


class LabelState(VectorSum):
    """A normalised spelling of one type: the sum of its mentions' vectors, their spellings, and its node."""

    __slots__ = ("_forms", "name", "node", "number", "statements", "type")

    def __init__(self, number: int, key: LabelKey, node: int = -1) -> None:
        """Create a label without mentions."""
        super().__init__()
        self.number, self.node = number, node
        self.name, self.type = key
        self.statements: IntSet = EMPTY
        self._forms: str | Callable[[str], str] | Counter[str] = ""

    @property
    def key(self) -> LabelKey:
        """Return its key, a tuple made at each call."""
        return self.name, self.type

    @property
    def mentions(self) -> int:
        """Return the number of mentions: each has a vector."""
        return self._count

    @property
    def forms(self) -> Counter[str]:
        """Return a copy of the mentions by spelling."""
        stored = self._forms
        if isinstance(stored, Counter):
            return stored.copy()
        form = stored if isinstance(stored, str) else stored(self.key[0])
        return Counter({form: self.mentions} if self.mentions else {})

    @forms.setter
    def forms(self, counts: Counter[str]) -> None:
        """Hold the positive counts; a single spelling without one, because it has all mentions, and as a function of
        the name where it is one.
        """
        kept = +counts
        if len(kept) > 1:
            self._forms = kept
            return
        form, name = next(iter(kept), ""), self.key[0]
        self._forms = name if form == name else next((how for how in _CASES if how(name) == form), form)


class StatementState(VectorSum):
    """A triple of labels: the sum of its facts' vectors, and its contribution to the topology.

    `placed_count` is what it adds to the weight of the edge between the entities of its ends, if these are two; the
    count of the sum may differ within a batch.
    """

    __slots__ = ("number", "object", "placed_count", "predicate", "subject", "weight_milli")

    def __init__(self, number: int, key: StatementKey) -> None:
        """Create a statement that no fact states yet."""
        super().__init__()
        self.number = number
        self.subject, self.predicate, self.object = key
        self.weight_milli = self.placed_count = 0

    @property
    def key(self) -> StatementKey:
        """Return its key, a tuple made at each call."""
        return self.subject, self.predicate, self.object

    @property
    def ends(self) -> tuple[int, int]:
        """Return the labels of its subject and object."""
        return self.subject, self.object


class Tables:
    """The documents, labels and statements of one graph, by number and by key."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[int, ...]] = {}
        """The chunks of each live document, in order."""
        self.labels: NumberTable[LabelState] = NumberTable()
        self.label_numbers: KeyIndex[LabelKey, LabelState] = KeyIndex(self.labels, "name", "type")
        self.statements: NumberTable[StatementState] = NumberTable()
        self.statement_numbers: KeyIndex[StatementKey, StatementState] = KeyIndex(
            self.statements, "subject", "predicate", "object"
        )
        self.free_chunks = IdAllocator()
        self._free_labels = IdAllocator()
        self._free_statements = IdAllocator()

    def label(self, key: LabelKey) -> LabelState:
        """Return the label of that key; create one without mentions if there is none."""
        label = self.label_numbers.find(key)
        if label is None:
            label = LabelState(self._free_labels.take(), key)
            self.hold_label(label)
        return label

    def statement(self, triple: Triple) -> StatementState:
        """Return the statement of that triple, whose labels must exist; create one with count zero if there is none."""
        subject, predicate, object_ = triple
        key = (self.label_numbers.row(subject).number, predicate, self.label_numbers.row(object_).number)
        statement = self.statement_numbers.find(key)
        if statement is None:
            statement = StatementState(self._free_statements.take(), key)
            self.hold(statement)
        return statement

    def hold_label(self, label: LabelState) -> None:
        """Insert a label."""
        self.labels[label.number] = label
        self.label_numbers[label.key] = label.number

    def hold(self, statement: StatementState) -> None:
        """Insert a statement between existing labels."""
        self.statements[statement.number] = statement
        self.statement_numbers[statement.key] = statement.number
        for end in statement.ends:
            label = self.labels[end]
            label.statements = including(label.statements, statement.number)

    def nodes(self, statement: StatementState) -> tuple[int, int]:
        """Return the entities of a statement's subject and object."""
        return self.labels[statement.subject].node, self.labels[statement.object].node

    def forget(self, labels: Iterable[int], statements: Iterable[int], chunks: Iterable[int]) -> None:
        """Remove the labels, statements and chunks deleted in a batch, and release their numbers for the next one."""
        for number in statements:
            statement = self.statements[number]
            del self.statement_numbers[statement.key], self.statements[number]
            for end in statement.ends:
                label = self.labels[end]
                label.statements = excluding(label.statements, number)
            self._free_statements.release((number,))
        for number in labels:
            del self.label_numbers[self.labels[number].key], self.labels[number]
            self._free_labels.release((number,))
        self.free_chunks.release(chunks)
        for free in (self._free_labels, self._free_statements, self.free_chunks):
            free.settle()

    def renumber(self, chunks: Iterable[int]) -> None:
        """Recompute the free numbers after the tables were filled directly."""
        self._free_labels, self._free_statements = IdAllocator(self.labels), IdAllocator(self.statements)
        self.free_chunks = IdAllocator(chunks)
