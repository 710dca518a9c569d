"""The evidence of all standing questions of one graph, kept current commit by commit.

Questions with the same text, mode, number of passages, filters and options share one evaluation. Not thread-safe: one
owner calls it, for every version of the view, in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.records import GraphDelta
from graphtide.graph.retrieval.options.fields import Options
from graphtide.graph.retrieval.types import Filters, Question
from graphtide.graph.standing.changed_rows import ChangedRows
from graphtide.graph.standing.dependencies import DependencyIndex
from graphtide.graph.standing.evaluation import Evaluation, NewRows, evaluate, unit_vector, with_new_rows
from graphtide.graph.standing.types import Evidence, EvidenceChange, same_evidence
from graphtide.graph.view import LiveView

Key = tuple[str, str, int, str, Options]


@dataclass(slots=True)
class _Shared:
    """One evaluation and the questions that share it."""

    slot: int
    question: Question
    ids: set[str]
    evidence: Evidence
    last: Evaluation | None = None
    unit: NDArray[np.float32] | None = None
    """The question's vector of length 1, once a commit needed it."""


@dataclass(slots=True)
class EvaluationCounters:
    """Counts since the start: commits, evaluations after commits, and evaluations that these could have needed."""

    commits: int = 0
    evaluated: int = 0
    registered: int = 0


@dataclass(slots=True)
class GraphEvaluator:
    """The evaluator of a graph. Every method is called under `view.lock.read()`."""

    counters: EvaluationCounters = field(default_factory=EvaluationCounters)
    _shared: dict[Key, _Shared] = field(default_factory=dict)
    _slots: list[_Shared | None] = field(default_factory=list)
    _free: list[int] = field(default_factory=list)
    _keys: dict[str, Key] = field(default_factory=dict)
    _index: DependencyIndex = field(default_factory=DependencyIndex)

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self._keys)

    def __contains__(self, question_id: object) -> bool:
        return question_id in self._keys

    @property
    def evaluations(self) -> int:
        """Return the number of different evaluations."""
        return len(self._shared)

    def evidence(self, question_id: str) -> Evidence:
        """Return the evidence of a question at the last version. Raises KeyError."""
        return self._shared[self._keys[question_id]].evidence

    def put(self, view: LiveView, question_id: str, question: Question) -> Evidence:
        """Add or replace a question, and return its evidence at the view's version."""
        self.drop(question_id)
        key = _key(question)
        shared = self._shared.get(key)
        if shared is None:
            slot = self._free.pop() if self._free else len(self._slots)
            if slot == len(self._slots):
                self._slots.append(None)
            shared = _Shared(slot, replace(question, exact=True, explain=False), set(), ())
            self._shared[key] = self._slots[slot] = shared
            self._evaluate(view, shared)
        shared.ids.add(question_id)
        self._keys[question_id] = key
        return shared.evidence

    def drop(self, question_id: str) -> None:
        """Remove a question; an unknown one is ignored."""
        key = self._keys.pop(question_id, None)
        if key is None:
            return
        shared = self._shared[key]
        shared.ids.discard(question_id)
        if not shared.ids:
            del self._shared[key]
            self._slots[shared.slot] = None
            self._free.append(shared.slot)
            self._index.drop(shared.slot)

    def advance(self, view: LiveView, delta: GraphDelta) -> tuple[EvidenceChange, ...]:
        """Return the changes by the delta that the view applied last, by question id.

        Cost: the product of the changed vectors and the questions' vectors, and the affected evaluations.
        """
        if not self._shared:
            return ()
        changed = ChangedRows.of(view, delta)
        affected = sorted(self._index.affected(changed))
        self.counters.commits += 1
        self.counters.evaluated += len(affected)
        self.counters.registered += len(self._shared)
        return tuple(sorted(self._again(view, affected, changed), key=lambda change: change.question_id))

    def _again(self, view: LiveView, slots: list[int], changed: ChangedRows) -> Iterator[EvidenceChange]:
        new = NewRows.of(view, changed.added) if slots else None
        for slot in slots:
            shared = self._slots[slot]
            if shared is None:
                continue
            before = shared.evidence
            only_adds = shared.last is not None and changed.only_adds(shared.last.dependencies.rows)
            self._evaluate(view, shared, new if only_adds else None)
            if not same_evidence(before, shared.evidence):
                yield from (EvidenceChange(each, before, shared.evidence) for each in shared.ids)

    def _evaluate(self, view: LiveView, shared: _Shared, new: NewRows | None = None) -> None:
        """Evaluate anew, or from the last evaluation when the commit only added `new`."""
        found = None
        if new is not None and shared.last is not None:
            shared.unit = unit_vector(shared.question, new.dimensions) if shared.unit is None else shared.unit
            if shared.unit is not None and shared.unit.size == new.dimensions:
                found = with_new_rows(view, shared.question, shared.unit, shared.last, new)
        found = found or evaluate(view, shared.question)
        shared.last, shared.evidence = (found if found.hits is not None else None), found.evidence
        self._index.put(shared.slot, shared.question.vector, found.dependencies)


def _key(question: Question) -> Key:
    return question.text, question.mode, question.top_k, _filters(question.filters), question.options


def _filters(filters: Filters) -> str:
    return repr(filters)
