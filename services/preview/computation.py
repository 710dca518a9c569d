"""The computation of a preview on a copy of the stored graph, by the code that applies a published document.

Invariant: the summary equals that of the commit which applies the same documents at the same version, and the evidence
that of the exact questions before and after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from graphtide.graph.changes.capture import capture
from graphtide.graph.changes.summary import ChangeSummary, summarise
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange, GraphDelta
from graphtide.graph.resolution import PairKey, Verdict
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.types import Question
from graphtide.graph.validity.predicates import FunctionalPredicates
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.services.standing.types import EvidenceItem
from graphtide.streams.checkpoints.saved_views import dimensions


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """The stored rows of a graph at one version, and the verdicts that belong to its input."""

    rows: GraphDelta
    verdicts: Mapping[PairKey, Verdict]
    functional_predicates: FunctionalPredicates


Evidence = tuple[EvidenceItem, ...]


def compute(
    stored: StoredGraph, changes: Sequence[DocumentChange], questions: Sequence[Question]
) -> tuple[ChangeSummary, list[tuple[Evidence, Evidence]]]:
    """Return the summary of the changes, and the evidence of each question before and after. Cost: the graph."""
    writer = Consolidator.restore(stored.rows, verdicts=stored.verdicts)
    delta = writer.apply(changes)
    view = _view(stored, delta)
    before = [_evidence(view, question) for question in questions]
    overwritten, context = capture(view, delta)
    view.apply(delta)
    after = [_evidence(view, question) for question in questions]
    return summarise(delta, overwritten, context), list(zip(before, after, strict=True))


def without(passages: Iterable[EvidenceItem], others: Iterable[EvidenceItem]) -> Evidence:
    """Return the passages that are not among the others."""
    known = {each.chunk_id for each in others}
    return tuple(each for each in passages if each.chunk_id not in known)


def _view(stored: StoredGraph, delta: GraphDelta) -> LiveView:
    size = dimensions(stored.rows) if stored.rows.chunks else dimensions(delta)
    view = LiveView(
        stored.rows.graph, VectorIndexes(*(ExactIndex(size) for _ in range(3))), stored.functional_predicates
    )
    view.apply(stored.rows)
    return view


def _evidence(view: LiveView, question: Question) -> Evidence:
    found = retrieve(view, replace(question, exact=True)).passages
    titles = (view.documents[each.doc_id].info.title for each in found)
    return tuple(
        EvidenceItem(each.doc_id, each.chunk_id, each.score, view.chunks[view.chunk_numbers[each.chunk_id]].text, title)
        for each, title in zip(found, titles, strict=True)
    )
