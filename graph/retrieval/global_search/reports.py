"""Reports as a question reads them: the part that both global modes share.

A community without a valid report (none yet, or out of date) is read through a short extractive one, made on request,
so that no answer waits for a report and none shows a stale one; the cache records the request. A filter keeps only the
findings of a report that an admitted passage supports. A question as of a moment drops the findings known to be of
another time, and then also the report's summary, which covers all of them.

Communities are heuristic and found in the order of arrival, so these modes are as independent of that order as the
communities are: equal communities give equal results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from graphtide.graph.identity import relation_id
from graphtide.graph.reports.rows import ReportFinding, ReportRow
from graphtide.graph.reports.subject import MIN_SIZE, Report, community_context, extractive_report, render_report
from graphtide.graph.retrieval.filters import ChunkPredicate, admitted_chunks
from graphtide.graph.retrieval.modes.vector import retrieve_vector
from graphtide.graph.retrieval.subgraph import supported_subgraph
from graphtide.graph.retrieval.types import (
    Filters,
    Question,
    RetrievalResult,
    RetrievedPart,
    RetrievedPassage,
    Synthesis,
    Trace,
    TraceStep,
)
from graphtide.graph.text.quotation import neutralise
from graphtide.graph.validity.intervals import ValidityReader
from graphtide.graph.view import LiveView

LEVEL = 1
"""The default level, between the finest, 0, and the coarsest: about as many reports as the source's level 1 has for a
corpus of that size.
"""


@dataclass(frozen=True, slots=True)
class ReportView:
    """A community's report for one question: the input of a rater and, as `part`, of the answer."""

    community: int
    size: int
    part: RetrievedPart
    rating: float

    @property
    def text(self) -> str:
        """The whole report, as the source rates it."""
        return f"{self.part.title}\n{self.part.text}"


@dataclass(frozen=True, slots=True)
class ReportScope:
    """The findings of reports that a question reads: supported by an admitted passage, and valid at the requested
    moment.
    """

    admits: ChunkPredicate | None
    validity: ValidityReader

    @staticmethod
    def of(view: LiveView, filters: Filters) -> ReportScope:
        """Return the scope of a question as `admitted_chunks`; discard it with the question. Raises ValueError for an
        invalid date.
        """
        return ReportScope(admitted_chunks(view, filters), ValidityReader(view, filters.as_of))

    def narrowed(self, view: LiveView, report: Report | ReportRow) -> Report | ReportRow:
        """Return the report without the findings that were not valid; without its summary, too, if there are any."""
        if not self.validity.asked:
            return report
        findings = tuple(finding for finding in report.findings if self._is_supported(view, finding))
        return report if findings == report.findings else replace(report, findings=findings, summary="")

    def _is_supported(self, view: LiveView, finding: ReportFinding) -> bool:
        """Return whether any of its passages states any of its relations as of then. A finding without relations has no
        date.
        """
        rows = [row for chunk in finding.chunks for row in view.chunks[view.chunk_numbers[chunk]].evidence]
        stating = [row for row in rows if _relation(view, row.statement) in finding.relations]
        return not stating or any(map(self.validity.in_force, stating))


def _relation(view: LiveView, statement: int) -> str:
    subject, object_ = view.ends(statement)
    return relation_id(view.entity_id(subject), view.statements[statement].predicate, view.entity_id(object_))


def level_of(view: LiveView, question: Question) -> int:
    """Return the level a question reads, or descends to. Raises ValueError for a level that the hierarchy does not
    have.
    """
    if question.level is None:
        return LEVEL
    if not 0 <= question.level < view.hierarchy.levels():
        raise ValueError(f"unknown level {question.level}: choose one from 0 to {view.hierarchy.levels() - 1}")
    return question.level


def readable(view: LiveView, community: int, scope: ReportScope) -> ReportView | None:
    """Return the community's report; None when nothing of it is in the question's scope. Bounded cost."""
    stored = view.reports.report(view, community)
    if stored is None:
        view.reports.request((community,))
    report = scope.narrowed(view, extractive_report(community_context(view, community)) if stored is None else stored)
    admits = scope.admits
    chunks = dict.fromkeys(chunk for finding in report.findings for chunk in finding.chunks)
    sources = tuple(chunk for chunk in chunks if admits is None or admits(view.chunk_numbers[chunk]))
    text = render_report(report, sources)
    if not text:
        return None
    # Under a filter the title may cover excluded passages: then the first finding replaces it.
    title = report.title if admits is None else text.partition(" [")[0][:80]
    part = RetrievedPart(neutralise(title), text, sources, report.rating)
    return ReportView(community, view.contents.entities(community), part, report.rating)


def worth_reading(view: LiveView, communities: Iterable[int], scope: ReportScope) -> list[ReportView]:
    """Return the reports of the communities that merit one, by size and then by content, whatever their ids."""
    large = [community for community in communities if view.contents.entities(community) >= MIN_SIZE]
    large.sort(key=lambda community: (-view.contents.entities(community), view.contents.digest(community)))
    return [found for community in large if (found := readable(view, community, scope)) is not None]


def child_reports(view: LiveView, community: int, level: int) -> Iterator[int]:
    """Yield a community's direct children that merit a report, unless they are below `level`. Cost: its children."""
    if view.contents.entities(community) and view.hierarchy.level(community) > level:
        children = view.hierarchy.members(community).tolist()
        yield from (child for child in children if view.contents.entities(child) >= MIN_SIZE)


def covering(view: LiveView, communities: Iterable[int], level: int, scope: ReportScope) -> list[ReportView]:
    """Return the reports of a level below these; where no community of that level merits one, the finest above that
    does.

    So content whose communities of the level are too small for reports of their own is still covered. Cost: those
    reports, and the communities above.
    """
    found: list[ReportView] = []
    for community in communities:
        finer = covering(view, child_reports(view, community, level), level, scope)
        found += finer or worth_reading(view, (community,), scope)
    return found


def handed_out(
    view: LiveView, question: Question, mode: str, parts: Sequence[RetrievedPart], steps: Sequence[TraceStep]
) -> RetrievalResult:
    """Return the parts, and the passages they cite: each part's first, then each one's second, up to `top_k`.

    Without any part, as in a graph too small for communities, returns the nearest passages.
    """
    if not parts:
        return _nearest(view, question, mode, steps)
    places = range(max(len(part.sources) for part in parts))
    order = [(part, place) for place in places for part in parts if place < len(part.sources)]
    scores: dict[str, float] = {}
    for part, place in order:
        scores.setdefault(part.sources[place], part.score / (1 + place))
    best = sorted(scores, key=lambda chunk: (-scores[chunk], chunk))[: question.top_k]
    numbers = [view.chunk_numbers[chunk] for chunk in best]
    passages = tuple(
        RetrievedPassage(
            view.chunks[n].chunk_id, view.chunks[n].doc_id, scores[view.chunks[n].chunk_id], view.chunks[n].text
        )
        for n in numbers
    )
    trace = Trace(tuple(steps)) if question.explain else None
    shown = supported_subgraph(view, numbers)
    return RetrievalResult(passages, shown, view.version, mode, trace, tuple(parts), Synthesis.BY_PART)


def _nearest(view: LiveView, question: Question, mode: str, steps: Sequence[TraceStep]) -> RetrievalResult:
    found = retrieve_vector(view, question)
    step = TraceStep("no reports", "No community has a report to read: the nearest passages are returned instead.")
    rest = found.trace.steps if found.trace else ()
    trace = Trace((*steps, step, *rest)) if question.explain else None
    return RetrievalResult(found.passages, found.subgraph, found.version, mode, trace)
