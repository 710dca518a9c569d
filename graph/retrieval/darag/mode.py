"""Mode `da-rag`: reports of communities, as many as the token budget holds, and passages in the rest of it.

Zeng et al. 2026, sections 4 and 5. No model is called here: reports are made from structure (report.py), or a language
model wrote them after a first search, from the texts of `communities_to_read` (reading.py). The answer is made from
reports and passages in one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphtide.graph.layers import KnowledgeLayer, heading
from graphtide.graph.retrieval.darag.adaptive import Community, CommunityReportText, Rated, pack, rate
from graphtide.graph.retrieval.darag.coarse_to_fine import (
    PASSAGES,
    CommunitySearchResult,
    coarse_to_fine,
)
from graphtide.graph.retrieval.darag.reading import Written, passages_report, rate_written, text_to_read
from graphtide.graph.retrieval.darag.report import report
from graphtide.graph.retrieval.darag.settings import DaRagSettings
from graphtide.graph.retrieval.filters import admitted_chunks
from graphtide.graph.retrieval.options.fields import settings_from
from graphtide.graph.retrieval.scoring.candidates import NEAR, ScoredPassages, score_passages, titled
from graphtide.graph.retrieval.scoring.pair_reranking import admitted_mass
from graphtide.graph.retrieval.search.ppr import personalised_pagerank
from graphtide.graph.retrieval.seeds import find_seeds, restart, searched_indexes
from graphtide.graph.retrieval.subgraph import supported_subgraph
from graphtide.graph.retrieval.types import (
    Question,
    RetrievalResult,
    RetrievedPart,
    RetrievedPassage,
    Subgraph,
    Trace,
    TraceItem,
    TraceStep,
    quoted_part,
)
from graphtide.graph.text.quotation import neutralise
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.view import LiveView, walk_entity

TITLES = 3
RELATIONS = 20


def retrieve_da_rag(
    view: LiveView, question: Question, course: DaRagSettings | None = None, written: Written | None = None
) -> RetrievalResult:
    """Return reports within `course.report_tokens`, and up to `top_k` passages within the rest of `context_tokens`.

    `written` are a model's reports, by whose scores they are packed; a community without one, as after a change of the
    graph, is left out. A passage's `score` is its cosine, plus `membership` times the relevance of the best community
    of passages that contains it, and of the best whose report cites it. There is at least one passage, if any is near.
    Without `course` the question's options are used. Call under `view.lock.read()`. Cost: four searches and one for
    each working entity, one walk, and matrices of `coarse` and `working` rows: bounded, whatever the graph's size.
    """
    course = course or settings_from(DaRagSettings, question.options)
    searched = _searched(view, question, course)
    if searched is None:
        return RetrievalResult((), Subgraph(), view.version, "da-rag", Trace() if question.explain else None)
    found = searched.found
    if written is None:
        rated = rate([report for report in searched.reports if report.text], question.text)
    else:
        rated = rate_written((*searched.reports, *_coarse_reports(view, found, course)), written)
    chosen = pack(rated, course.report_tokens)
    left = course.context_tokens - sum(each.report.tokens for each in chosen)
    scores = _scores(view, question, searched, chosen, course.membership)
    passages = _packed(view, scores, question.top_k, left)
    members = {
        walk_entity(n): each.score
        for each in reversed(chosen)
        if each.report.community.layer != PASSAGES
        for n in each.report.community.members
    }
    shown = supported_subgraph(view, [view.chunk_numbers[passage.chunk_id] for passage in passages], members)
    parts = tuple(_part(each, written) for each in chosen)
    trace = _trace(view, found, rated, chosen, passages) if question.explain else None
    return RetrievalResult(passages, shown, view.version, "da-rag", trace, parts)


def communities_to_read(
    view: LiveView, question: Question, course: DaRagSettings | None = None
) -> tuple[RetrievedPart, ...]:
    """Return the communities of a question, of every layer, as texts for a model. Call under `view.lock.read()`.

    Cost: as `retrieve_da_rag`.
    """
    course = course or settings_from(DaRagSettings, question.options)
    searched = _searched(view, question, course)
    if searched is None:
        return ()
    reports = (*searched.reports, *_coarse_reports(view, searched.found, course))
    return tuple(dict.fromkeys(text_to_read(report) for report in reports if report.sources))


@dataclass(frozen=True, slots=True)
class _Searched:
    """The communities of a question, the reports of the fine ones from structure, and the nearest passages."""

    found: CommunitySearchResult
    reports: tuple[CommunityReportText, ...]
    near: set[int]


def _searched(view: LiveView, question: Question, course: DaRagSettings) -> _Searched | None:
    """Return None if no passage is near the question."""
    admits = admitted_chunks(view, question.filters)
    seeds = find_seeds(view, question.vector, admits, max(NEAR, question.top_k), searched_indexes(view, question))
    if not seeds.passages:
        return None
    mass = admitted_mass(personalised_pagerank(view.walk, restart(view, seeds), course.restart), admits)
    found = coarse_to_fine(view, question, seeds.passages, mass, admits, course)
    near = found.near.__getitem__
    reports = tuple(report(view, community, near, admits, course.report_tokens) for community in found.fine)
    return _Searched(found, reports, {hit.number for hit in seeds.passages})


def _coarse_reports(
    view: LiveView, found: CommunitySearchResult, course: DaRagSettings
) -> tuple[CommunityReportText, ...]:
    return tuple(passages_report(view, each, _called(view, each), course.report_tokens) for each in found.coarse)


def _part(each: Rated, written: Written | None) -> RetrievedPart:
    """Return a chosen report; the citations of a written one are checked, and remain."""
    report = each.report
    if written is not None:
        return RetrievedPart(neutralise(report.title), report.text, report.sources, each.score)
    return quoted_part(report.title, report.text, report.sources, each.score)


def _scores(
    view: LiveView, question: Question, searched: _Searched, chosen: Sequence[Rated], membership: float
) -> dict[int, float]:
    """Return every candidate passage with its score, best first, equal ones by name."""
    near, coarse = searched.near, searched.found.coarse
    anchors = {number: community.relevance for community in reversed(coarse) for number in community.members}
    resting = {
        view.chunk_numbers[chunk_id]: each.report.community.relevance
        for each in reversed(chosen)
        for chunk_id in each.report.sources
    }
    found: ScoredPassages = score_passages(view, question, near.union(anchors, resting))
    rows = zip(found.numbers, found.cosine.tolist(), strict=True)
    scores = {
        number: cosine + membership * (anchors.get(number, 0.0) + resting.get(number, 0.0)) for number, cosine in rows
    }
    return dict(sorted(scores.items(), key=lambda row: -row[1]))  # stable: the numbers are in the order of names


def _packed(view: LiveView, scores: Mapping[int, float], count: int, budget: int) -> tuple[RetrievedPassage, ...]:
    """Return the best `count`, as long as they fit; the first in any case."""
    passages: list[RetrievedPassage] = []
    for number, score in scores.items():
        budget -= count_tokens(titled(view, number))
        if len(passages) == count or (passages and budget < 0):
            break
        chunk = view.chunks[number]
        passages.append(RetrievedPassage(chunk.chunk_id, chunk.doc_id, score, chunk.text))
    return tuple(passages)


def _called(view: LiveView, coarse: Community) -> str:
    """Return the titles of a community's first passages."""
    titles = dict.fromkeys(heading(view, number).title for number in coarse.members[:TITLES])
    return "; ".join(titles)


def _trace(
    view: LiveView,
    found: CommunitySearchResult,
    rated: Sequence[Rated],
    chosen: Sequence[Rated],
    passages: Sequence[RetrievedPassage],
) -> Trace:
    coarse = tuple(
        TraceItem(_members(view, each), _called(view, each), each.relevance, _parts(each)) for each in found.coarse
    )
    fine = tuple(
        TraceItem(
            _members(view, each.report.community),
            f"{each.report.community.layer}: {each.report.title}",
            each.score,
            (
                *_parts(each.report.community),
                ("coverage", each.coverage),
                ("tokens", float(each.report.tokens)),
                ("packed", float(each in chosen)),
            ),
        )
        for each in rated
    )
    handed = tuple(TraceItem(passage.chunk_id, "", passage.score) for passage in passages)
    return Trace(
        (
            TraceStep(
                "chunk communities", "Communities of passages, by QRScore: the search continues in them.", coarse
            ),
            TraceStep(
                "communities",
                "Communities by their reports: QRScore and the question's words in them, or a model's rating.",
                fine,
            ),
            TraceStep(
                "relations",
                "Relations inside the chosen communities, by trussness in the whole graph.",
                _edges(view, chosen),
            ),
            TraceStep("passages", "Passages by similarity, and by the communities that contain or cite them.", handed),
        )
    )


def _edges(view: LiveView, chosen: Sequence[Rated]) -> tuple[TraceItem, ...]:
    """Return the edges among the members of the chosen communities of entities, with weight and kept trussness."""
    layer, links = KnowledgeLayer(view), set[tuple[int, int]]()
    for each in chosen:
        if each.report.community.layer != PASSAGES:
            links.update((a, b) for a, b, _ in layer.induced_edges(each.report.community.members))
    items = []
    for a, b in links:
        one, other = sorted((a, b), key=view.entity_id)
        parts = (("weight", float(view.neighbours[a][b].weight)),)
        name = f"{view.entities[one].name} + {view.entities[other].name}"
        ids = f"{view.entity_id(one)} + {view.entity_id(other)}"
        items.append(TraceItem(ids, name, float(layer.trussness(a, b)), parts))
    return tuple(sorted(items, key=lambda item: (-item.score, item.id))[:RELATIONS])


def _members(view: LiveView, community: Community) -> str:
    if community.layer == PASSAGES:
        return " + ".join(view.chunks[n].chunk_id for n in community.members)
    return " + ".join(view.entity_id(n) for n in community.members)


def _parts(community: Community) -> tuple[tuple[str, float], ...]:
    return (
        ("k", float(community.k)),
        ("members", float(len(community.members))),
        ("QRScore", community.relevance),
        ("density", community.density),
    )
