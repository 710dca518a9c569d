"""The evidence of all standing questions of one graph, kept current commit by commit.

Questions with the same text, mode, number of passages, filters and options share one evaluation. Not thread-safe: one
owner calls it, for every version of the view, in order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from graphtide.graph.records import GraphDelta
from graphtide.graph.retrieval.options.fields import Options
from graphtide.graph.retrieval.seeds import Seeds
from graphtide.graph.retrieval.types import Filters, Question
from graphtide.graph.standing.changed_rows import ChangedRows
from graphtide.graph.standing.dependencies import DependencyIndex
from graphtide.graph.standing.evaluation import evaluate
from graphtide.graph.standing.nearest_passages import NearestPassages
from graphtide.graph.standing.types import Evidence, EvidenceChange, same_evidence
from graphtide.graph.view import LiveView

Key = tuple[str, str, int, str, Options]


@dataclass(slots=True)
class _Shared:
    """One evaluation and the questions that share it."""

    slot: int
    question: Question
    ids: set[str]
    evidence: Evidence = ()


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
    _nearest: NearestPassages = field(default_factory=NearestPassages)
    """The evaluations that depend on similarity alone; `_index` has the others."""
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
        return self.put_all(view, {question_id: question})[question_id]

    def put_all(self, view: LiveView, questions: Mapping[str, Question]) -> dict[str, Evidence]:
        """Add or replace questions, and return their evidence at the view's version."""
        with ExitStack() as undo:  # a question whose evaluation fails is not registered
            undo.callback(self._drop_all, questions)
            self._evaluate_first(view, [each for each in itertools.starmap(self._add, questions.items()) if each])
            undo.pop_all()
        return {question_id: self.evidence(question_id) for question_id in questions}

    def _drop_all(self, question_ids: Iterable[str]) -> None:
        for question_id in question_ids:
            self.drop(question_id)

    def _add(self, question_id: str, question: Question) -> _Shared | None:
        """Add a question, and return its evaluation if it is new."""
        self.drop(question_id)
        key = _key(question)
        self._keys[question_id] = key
        shared = self._shared.get(key)
        if shared is not None:
            shared.ids.add(question_id)
            return None
        shared = self._shared[key] = self._place(replace(question, exact=True, explain=False))
        shared.ids.add(question_id)
        return shared

    def _place(self, question: Question) -> _Shared:
        slot = self._free.pop() if self._free else len(self._slots)
        if slot == len(self._slots):
            self._slots.append(None)
        self._slots[slot] = made = _Shared(slot, question, set())
        return made

    def _evaluate_first(self, view: LiveView, new: Iterable[_Shared]) -> None:
        similar: dict[int, Question] = {}
        for shared in new:
            if self._nearest.admits(shared.question):
                similar[shared.slot] = shared.question
            else:
                shared.evidence = self._evaluate(view, shared)
        for slot, evidence in self._nearest.put(view, similar).items():
            if (shared_slot := self._slots[slot]) is not None:
                shared_slot.evidence = evidence

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
            self._nearest.drop(shared.slot)
            self._index.drop(shared.slot)

    def advance(self, view: LiveView, delta: GraphDelta) -> tuple[EvidenceChange, ...]:
        """Return the changes by the delta that the view applied last, by question id.

        Cost: the product of the changed vectors and the questions' vectors, and the affected evaluations.
        """
        if not self._shared:
            return ()
        changed = ChangedRows.of(view, delta) if len(self._index) else ChangedRows.passages_of(view, delta)
        found = self._nearest.advance(view, changed)
        for slot, searched in sorted(self._index.affected(changed).items(), key=lambda each: each[0]):
            if (shared := self._slots[slot]) is not None:
                found[slot] = self._evaluate(view, shared, searched)
        self.counters.commits += 1
        self.counters.evaluated += len(found)
        self.counters.registered += len(self._shared)
        return tuple(sorted(self._changes(found), key=lambda change: change.question_id))

    def _changes(self, found: Mapping[int, Evidence]) -> Iterable[EvidenceChange]:
        """Keep the evidence of the slots, and yield the changes."""
        for slot, after in found.items():
            shared = self._slots[slot]
            if shared is None:
                continue
            before, shared.evidence = shared.evidence, after
            if not same_evidence(before, after):
                yield from (EvidenceChange(each, before, after) for each in shared.ids)

    def _evaluate(self, view: LiveView, shared: _Shared, searched: Seeds | None = None) -> Evidence:
        found = evaluate(view, shared.question, searched)
        self._index.put(shared.slot, shared.question.vector, found.dependencies)
        return found.evidence


def _key(question: Question) -> Key:
    return question.text, question.mode, question.top_k, _filters(question.filters), question.options


def _filters(filters: Filters) -> str:
    return repr(filters)
