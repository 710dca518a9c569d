"""Mode `global-dynamic`: from the root of the hierarchy down, only below reports relevant to the question.

"GraphRAG: Improving global search via dynamic community selection", "Static vs. dynamic global search": rate the
reports of the coarsest level; an irrelevant one is dropped with all below it; the children of a relevant one are rated
in turn; the relevant reports enter map-reduce, where one with a relevant child is replaced by the child. The rater is a
parameter: `Selection` names the reports to rate and takes the ratings, does no I/O, and the view may change between two
rounds. `by_neighbourhood` is the rater without a model.

Deviations: ratings are 0 to 5 and `relevant` is the minimum that counts (the source says "relevant" or not); only
reports that the question can reach are rated, those above one of its nearest passages and entities, since a graph of
many small components has more roots than a rater should read (a question about the whole corpus reaches all); if no
report of the coarsest level is relevant, none is, and the nearest passages are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from graphtide.graph.retrieval.filters import admitted_chunks
from graphtide.graph.retrieval.global_search.reports import (
    ReportScope,
    ReportView,
    child_reports,
    handed_out,
    level_of,
    readable,
    worth_reading,
)
from graphtide.graph.retrieval.options.fields import settings_from
from graphtide.graph.retrieval.options.settings import GlobalDynamicSettings
from graphtide.graph.retrieval.question_words import is_corpus_question
from graphtide.graph.retrieval.scoring.links import entities_of
from graphtide.graph.retrieval.seeds import nearest, nearest_passages, searched_indexes
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPart, TraceItem, TraceStep
from graphtide.graph.view import LiveView

MAX_REPORTS = 5
_RANKS = (4, 10, 20, 40, 80)
"""Best rank inside a community for the ratings 5, 4, 3, 2, 1."""
_EVEN = 3


class Selection:
    """One walk down the hierarchy for one question: `begin`, then `rate` as long as it returns reports, then `finish`.

    Call every method under `view.lock.read()`. The view may change between calls: communities that no longer exist are
    dropped, and the result is of the version at `finish`.
    """

    def __init__(self, question: Question) -> None:
        self._question = question
        self._relevant = settings_from(GlobalDynamicSettings, question.options).relevant
        self._level = 0
        self._open: list[ReportView] = []
        self._kept: dict[int, tuple[int, ReportView]] = {}
        self._above: dict[int, int] = {}
        self._steps: list[TraceStep] = []
        self._ranks: tuple[int, dict[int, int] | None] = (-1, None)

    def begin(self, view: LiveView) -> Sequence[ReportView]:
        """Return the reports of the coarsest level to be rated; none when there is nothing to rate or nothing to read.

        Raises ValueError for an unknown level. Cost: two searches, and the reports.
        """
        self._level = level_of(view, self._question)
        if any(map(str.isalnum, self._question.text)):
            roots = view.hierarchy.roots()
            reached = self._reached(view, roots)
            about = f"{len(reached)} of {len(roots)} communities of the coarsest level are near the question."
            self._steps.append(TraceStep("reach", about))
            self._open = self._readable(view, reached)
        return tuple(self._open)

    def ranks(self, view: LiveView) -> dict[int, int] | None:
        """Return `neighbourhood_ranks` at the view's present version."""
        if self._ranks[0] != view.version:
            self._ranks = view.version, neighbourhood_ranks(view, self._question)
        return self._ranks[1]

    def rate(self, view: LiveView, ratings: Sequence[int]) -> Sequence[ReportView]:
        """Take the ratings of the last reports, in their order, and return the next ones to rate; none at the end.

        Cost: the next reports.
        """
        rated = [(max(0, min(MAX_REPORTS, rating)), report) for rating, report in zip(ratings, self._open, strict=True)]
        relevant = [(rating, report) for rating, report in rated if rating >= self._relevant]
        self._note(rated)
        under: list[int] = []
        for rating, report in relevant:
            self._kept[report.community] = (rating, report)
            self._kept.pop(self._above.get(report.community, 0), None)
            under += self._below(view, report.community, report.community)
        self._open = self._readable(view, under)
        return tuple(self._open)

    def finish(self, view: LiveView, mode: str = "global-dynamic") -> RetrievalResult:
        """Return the present relevant reports, the most relevant first, and the passages they cite."""
        scope = self._scope(view)
        found: list[tuple[int, ReportView]] = []
        for rating, report in self._kept.values():
            now = readable(view, report.community, scope) if view.contents.entities(report.community) else None
            if now is not None:
                found.append((rating, now))
        found.sort(key=lambda pair: (-pair[0], -pair[1].rating, -pair[1].size, view.contents.digest(pair[1].community)))
        parts: list[RetrievedPart] = [replace(report.part, score=float(rating)) for rating, report in found]
        return handed_out(view, self._question, mode, parts, self._steps)

    def _readable(self, view: LiveView, communities: Iterable[int]) -> list[ReportView]:
        """Return their reports; in place of one that cites no passage, or none that a filter admits, those of its
        children.

        A report shows only the best of a community, so an empty report does not mean an empty community.
        """
        found: list[ReportView] = []
        scope, left = self._scope(view), list(communities)
        while left:
            fresh = worth_reading(view, left, scope)
            found += fresh
            passed = set(left) - {each.community for each in fresh}
            left = [child for each in passed for child in self._below(view, each, self._above.get(each, 0))]
        return found

    def _below(self, view: LiveView, community: int, above: int) -> list[int]:
        """Return the communities to read below a community; the kept ones replace `above`."""
        children = self._reached(view, child_reports(view, community, self._level))
        self._above.update(dict.fromkeys(children, above))
        return children

    def _reached(self, view: LiveView, communities: Iterable[int]) -> list[int]:
        ranks = self.ranks(view)
        return [community for community in communities if ranks is None or community in ranks]

    def _scope(self, view: LiveView) -> ReportScope:
        return ReportScope.of(view, self._question.filters)

    def _note(self, rated: Sequence[tuple[int, ReportView]]) -> None:
        items = [
            TraceItem("", report.part.title, float(rating), (("entities", float(report.size)),))
            for rating, report in rated
        ]
        items.sort(key=lambda item: (-item.score, item.name))
        below = f"the children of reports rated below {self._relevant} are not read"
        about = f"{len(rated)} reports rated 0 to {MAX_REPORTS}; {below}."
        self._steps.append(TraceStep(f"rating {len(self._steps)}", about, tuple(items)))


def retrieve_global_dynamic(view: LiveView, question: Question) -> RetrievalResult:
    """Return the reports that the neighbourhood of the question makes relevant. Call under `view.lock.read()`.

    Cost: two searches, and the reports that they reach.
    """
    selection = Selection(question)
    asked = selection.begin(view)
    rating = by_neighbourhood(selection.ranks(view)) if asked else None
    while asked and rating is not None:
        asked = selection.rate(view, [rating(each.community) for each in asked])
    return selection.finish(view)


def by_neighbourhood(ranks: dict[int, int] | None) -> Callable[[int], int]:
    """Return a rating of communities without a model: by the best rank of the question's neighbours inside them.

    A community without any of them is rated 0; without ranks every community gets the same rating.
    """
    if ranks is None:
        return lambda community: _EVEN
    return lambda community: _rating(ranks.get(community, _RANKS[-1]))


def neighbourhood_ranks(view: LiveView, question: Question) -> dict[int, int] | None:
    """Return the best rank of the question's nearest passages and entities in each community that has any.

    None for a question about the whole corpus, which has no neighbours. Cost: two searches.
    """
    if is_corpus_question(question.text):
        return None
    admits = admitted_chunks(view, question.filters)
    named = None if admits is None else lambda node: any(map(admits, view.entities[node].chunks))
    indexes = searched_indexes(view, question)
    count = settings_from(GlobalDynamicSettings, question.options).entities
    passages = nearest_passages(view, question.vector, admits, _RANKS[-1], indexes)
    entities = nearest(indexes.entities, question.vector, count, view.entity_id, named)
    best: dict[int, int] = {}
    for rank, hit in enumerate(passages):
        for node in entities_of(view, hit.number):
            _mark(view, node, rank, best)
    for rank, hit in enumerate(entities):
        _mark(view, hit.number, rank, best)
    return best


def _mark(view: LiveView, node: int, rank: int, best: dict[int, int]) -> None:
    community = view.hierarchy.community(node)
    while community:
        best[community] = min(rank, best.get(community, rank))
        community = view.hierarchy.parent(community)


def _rating(rank: int) -> int:
    return next((MAX_REPORTS - place for place, bound in enumerate(_RANKS) if rank < bound), 0)
