"""Reports as a question reads them: what both global modes have in common.

A community without a report that holds (none yet, or out of date) is read through a short one that quotes, made on
the spot, so that no answer waits for a report and none shows a stale one; it is noted on the shelf that a question
would have read it. A filter leaves of a report the findings that an admitted passage supports, and a question as of a
moment those that are not known to be of another time: what a report says in its own words of all of them goes then.

Communities are found heuristically and in the order of arrival, so these modes are as independent of that order as the
communities are: on equal communities the same comes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from graphtide.graph.identity import relation_id
from graphtide.graph.quotation import neutralise
from graphtide.graph.reports.cache import ReportFinding, ReportRow
from graphtide.graph.reports.subject import MIN_SIZE, Report, community_context, extractive_report, render_report
from graphtide.graph.retrieval.filters import ChunkPredicate, admitted_chunks
from graphtide.graph.retrieval.modes.vector import retrieve_vector
from graphtide.graph.retrieval.subgraph import supported_subgraph
from graphtide.graph.retrieval.types import (
    ContextPart,
    Filters,
    Question,
    RetrievalResult,
    RetrievedPassage,
    Synthesis,
    Trace,
    TraceStep,
)
from graphtide.graph.validity.intervals import ValidityReader
from graphtide.graph.view import LiveView

LEVEL = 1
"""Between the finest, 0, and the coarsest: about as many reports as the source's level 1 has for a corpus its size."""
_RATED_CHARS = 320
"""What a rater sees of a report: rating is for sorting, and must stay much cheaper than reading."""


@dataclass(frozen=True, slots=True)
class ReportView:
    """A community's report for one question. `text` is what a rater sees, `part` what an answer is made from."""

    community: int
    size: int
    text: str
    part: ContextPart
    rating: float


@dataclass(frozen=True, slots=True)
class ReportScope:
    """What a question reads of reports: findings that rest on an admitted passage, and held at the moment asked of."""

    admits: ChunkPredicate | None
    validity: ValidityReader

    @staticmethod
    def of(view: LiveView, filters: Filters) -> ReportScope:
        """As `admitted_chunks`: raises ValueError for what is no date. To be thrown away with the question."""
        return ReportScope(admitted_chunks(view, filters), ValidityReader(view, filters.as_of))

    def narrowed(self, view: LiveView, report: Report | ReportRow) -> Report | ReportRow:
        """The report without the findings that did not hold; without its summary, too, if there are any."""
        if not self.validity.asked:
            return report
        held = tuple(one for one in report.findings if self._held(view, one))
        return report if held == report.findings else replace(report, findings=held, summary="")

    def _held(self, view: LiveView, finding: ReportFinding) -> bool:
        """Whether any of its passages states any of its relations as of then. What states no relation is not dated."""
        rows = [row for chunk in finding.chunks for row in view.chunks[view.chunk_numbers[chunk]].evidence]
        stating = [row for row in rows if _relation(view, row.statement) in finding.relations]
        return not stating or any(map(self.validity.in_force, stating))


def _relation(view: LiveView, statement: int) -> str:
    subject, object_ = view.ends(statement)
    return relation_id(view.entity_id(subject), view.statements[statement].predicate, view.entity_id(object_))


def level_of(view: LiveView, question: Question) -> int:
    """The level a question reads, or goes down to. Raises ValueError for one that the hierarchy does not have."""
    if question.level is None:
        return LEVEL
    if not 0 <= question.level < view.hierarchy.levels():
        raise ValueError(f"level {question.level} is none of 0 to {view.hierarchy.levels() - 1}")
    return question.level


def readable(view: LiveView, community: int, scope: ReportScope) -> ReportView | None:
    """The community's report; None when nothing of it is in the question's scope. Bounded cost."""
    held = view.reports.report(view, community)
    if held is None:
        view.reports.request((community,))
    report = scope.narrowed(view, extractive_report(community_context(view, community)) if held is None else held)
    admits = scope.admits
    chunks = dict.fromkeys(chunk for finding in report.findings for chunk in finding.chunks)
    sources = tuple(one for one in chunks if admits is None or admits(view.chunk_numbers[one]))
    text = render_report(report, sources)
    if not text:
        return None
    # Under a filter title and summary may tell of what it refuses: then the findings that are left speak for all.
    title, summary = (report.title, report.summary) if admits is None else (text.partition(" [")[0][:80], text)
    part = ContextPart(neutralise(title), text, sources, report.rating)
    rated = f"{title}: {summary}"[:_RATED_CHARS]
    return ReportView(community, view.contents.entities(community), rated, part, report.rating)


def worth_reading(view: LiveView, communities: Iterable[int], scope: ReportScope) -> list[ReportView]:
    """The reports of communities that are worth one, by size and then by content, whatever they are called inside."""
    large = [one for one in communities if view.contents.entities(one) >= MIN_SIZE]
    large.sort(key=lambda one: (-view.contents.entities(one), view.contents.digest(one)))
    return [found for one in large if (found := readable(view, one, scope)) is not None]


def child_reports(view: LiveView, community: int, level: int) -> Iterator[int]:
    """The communities right below one that are worth reading, unless they are below `level`. Cost: its children."""
    if view.contents.entities(community) and view.hierarchy.level(community) > level:
        children = view.hierarchy.members(community).tolist()
        yield from (child for child in children if view.contents.entities(child) >= MIN_SIZE)


def covering(view: LiveView, communities: Iterable[int], level: int, scope: ReportScope) -> list[ReportView]:
    """The reports of a level below these; where nothing of that level is worth reading, the finest above that is.

    So what a level has in pieces too small for a report of their own is still told of. Cost: those reports, and the
    communities above.
    """
    found: list[ReportView] = []
    for one in communities:
        finer = covering(view, child_reports(view, one, level), level, scope)
        found += finer or worth_reading(view, (one,), scope)
    return found


def handed_out(
    view: LiveView, question: Question, mode: str, parts: Sequence[ContextPart], steps: Sequence[TraceStep]
) -> RetrievalResult:
    """The parts, and the passages they rest on: each part's first, then each one's second, up to `top_k`.

    Without any part, as in a graph too small for communities, the nearest passages.
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
    said = TraceStep("no reports", "There is no community to read a report of: the nearest passages instead.")
    rest = found.trace.steps if found.trace else ()
    trace = Trace((*steps, said, *rest)) if question.explain else None
    return RetrievalResult(found.passages, found.subgraph, found.version, mode, trace)
