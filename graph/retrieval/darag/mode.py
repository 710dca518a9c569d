"""Mode `da-rag`: reports of communities, as many as the token budget holds, and passages in the rest of it.

Zeng et al. 2026, sections 4 and 5. No model is called: reports are made from structure (report.py), and the answer is
made from reports and passages in one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphtide.graph.layers import heading
from graphtide.graph.retrieval.darag.adaptive import Community, Rated, pack, rate
from graphtide.graph.retrieval.darag.coarse_to_fine import COURSE, CommunitySearchResult, DaRagSettings, coarse_to_fine
from graphtide.graph.retrieval.darag.report import report
from graphtide.graph.retrieval.filters import admitted_chunks
from graphtide.graph.retrieval.scoring.candidates import NEAR, ScoredPassages, score_passages, titled
from graphtide.graph.retrieval.scoring.pair_reranking import admitted_mass
from graphtide.graph.retrieval.search.ppr import personalised_pagerank
from graphtide.graph.retrieval.seeds import find_seeds, restart, searched_indexes
from graphtide.graph.retrieval.subgraph import supported_subgraph
from graphtide.graph.retrieval.types import (
    Question,
    RetrievalResult,
    RetrievedPassage,
    Subgraph,
    Trace,
    TraceItem,
    TraceStep,
    quoted_part,
)
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.view import LiveView, walk_entity

TITLES = 3
SHARE = 0.25
"""Weight of community membership beside similarity. It is not from the paper, which returns communities and no
passages.
"""


def retrieve_da_rag(view: LiveView, question: Question, course: DaRagSettings = COURSE) -> RetrievalResult:
    """Return reports within `course.report_tokens`, and up to `top_k` passages within the rest of `context_tokens`.

    A passage's `score` is its cosine, plus SHARE of the relevance of the best community of passages that contains it,
    and of the best whose report cites it. There is at least one passage, if any is near. Call under `view.lock.read()`.
    Cost: four searches and one for each working entity, one walk, and matrices of COARSE and WORKING rows: bounded,
    whatever the graph's size.
    """
    admits = admitted_chunks(view, question.filters)
    seeds = find_seeds(view, question.vector, admits, max(NEAR, question.top_k), searched_indexes(view, question))
    if not seeds.passages:
        return RetrievalResult((), Subgraph(), view.version, "da-rag", Trace() if question.explain else None)
    mass = admitted_mass(personalised_pagerank(view.walk, restart(view, seeds)), admits)
    found = coarse_to_fine(view, question, seeds.passages, mass, admits, course)
    near = found.near.__getitem__
    reports = [report(view, community, near, admits, course.report_tokens) for community in found.fine]
    rated = rate([report for report in reports if report.text], question.text)
    chosen = pack(rated, course.report_tokens)
    left = course.context_tokens - sum(each.report.tokens for each in chosen)
    scores = _scores(view, question, {hit.number for hit in seeds.passages}, found.coarse, chosen)
    passages = _packed(view, scores, question.top_k, left)
    members = {walk_entity(n): each.score for each in reversed(chosen) for n in each.report.community.members}
    shown = supported_subgraph(view, [view.chunk_numbers[passage.chunk_id] for passage in passages], members)
    parts = tuple(quoted_part(each.report.title, each.report.text, each.report.sources, each.score) for each in chosen)
    trace = _trace(view, found, rated, chosen, passages) if question.explain else None
    return RetrievalResult(passages, shown, view.version, "da-rag", trace, parts)


def _scores(
    view: LiveView, question: Question, near: set[int], coarse: Sequence[Community], chosen: Sequence[Rated]
) -> dict[int, float]:
    """Return every candidate passage with its score, best first, equal ones by name."""
    anchors = {number: community.relevance for community in reversed(coarse) for number in community.members}
    resting = {
        view.chunk_numbers[chunk_id]: each.report.community.relevance
        for each in reversed(chosen)
        for chunk_id in each.report.sources
    }
    found: ScoredPassages = score_passages(view, question, near.union(anchors, resting))
    rows = zip(found.numbers, found.cosine.tolist(), strict=True)
    scores = {number: cosine + SHARE * (anchors.get(number, 0.0) + resting.get(number, 0.0)) for number, cosine in rows}
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
        TraceItem(
            " + ".join(view.chunks[n].chunk_id for n in each.members), _called(view, each), each.relevance, _parts(each)
        )
        for each in found.coarse
    )
    fine = tuple(
        TraceItem(
            " + ".join(view.entity_id(n) for n in each.report.community.members),
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
                "communities", "Communities of entities, by QRScore and the question's words in their report.", fine
            ),
            TraceStep("passages", "Passages by similarity, and by the communities that contain or cite them.", handed),
        )
    )


def _parts(one: Community) -> tuple[tuple[str, float], ...]:
    return (
        ("k", float(one.k)),
        ("members", float(len(one.members))),
        ("QRScore", one.relevance),
        ("density", one.density),
    )
