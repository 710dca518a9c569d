"""Reranking of a question's passages by a cross-encoder, outside the lock of the graph's view.

The mode's best candidates are scored, the highest first; passages beyond them follow in the mode's order. Invariants: a
failure, or a reranker that is late, gives the mode's own result, and its trace names no address; the result is of one
version. If the graph changes while the reranker works, the mode runs again, and its passages are ordered by the scores
that exist: a passage without one comes after those with one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.scoring.candidates import titled
from graphtide.graph.retrieval.subgraph import supported_subgraph
from graphtide.graph.retrieval.temporal import dated
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPassage, Trace, TraceItem, TraceStep
from graphtide.graph.view import LiveView
from graphtide.services.api.schema.disclosure import without_addresses
from graphtide.streams.errors import GraphtideError, Retryable
from graphtide.streams.model_ports import Reranker
from graphtide.streams.scheduling.work_pool import WorkPool
from graphtide.streams.tracing import span

log = logging.getLogger("graphtide.query")

RERANKED_MODES = frozenset({"local", "passages", "vector"})
"""Modes whose result is a ranking of passages."""
MAX_CHARS = 8_000
"""Maximum length of a text for the reranker; the rest of a longer passage is cut off."""

Find = Callable[[], RetrievalResult]


def _uncounted(outcome: str, seconds: float) -> None:
    """Count nothing."""


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranker, the number of passages that it scores, and its time limit. `called` receives outcome and duration."""

    reranker: Reranker
    candidates: int = 40
    timeout_s: float = 5.0
    called: Callable[[str, float], None] = _uncounted


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The mode's ranking at a version, and the texts of its best passages."""

    ranking: RetrievalResult
    texts: tuple[str, ...]


async def ranking_by(view: LiveView, question: Question, reranking: Reranking, pool: WorkPool) -> Find:
    """Return the function that makes the question's result, to be called under `view.lock.read()`."""
    wide = replace(question, top_k=max(question.top_k, reranking.candidates))
    found = await pool.run(partial(_candidates, view, wide, reranking.candidates), view.graph)
    if len(found.texts) < 2:
        return partial(retrieve, view, question)
    try:
        scores = await _scores(question.text, found.texts, reranking)
    except GraphtideError as error:
        log.warning("reranking failed, the order is that of mode %s: %s", question.mode, error)
        return partial(_unranked, view, question, reranking.reranker.name, without_addresses(str(error)))
    by_id = {each.chunk_id: score for each, score in zip(found.ranking.passages, scores, strict=False)}
    return partial(_reordered, view, (question, wide), found.ranking, by_id, reranking.reranker.name)


async def _scores(question: str, texts: Sequence[str], reranking: Reranking) -> Sequence[float]:
    """Return the scores. Raises GraphtideError, for a late reranker too."""
    loop = asyncio.get_running_loop()
    began, outcome = loop.time(), "failed"
    try:
        async with asyncio.timeout(reranking.timeout_s):
            with span("rerank", texts=len(texts)):
                scores = await reranking.reranker.rerank(question, texts)
        outcome = "reranked"
        return scores
    except TimeoutError as error:
        raise Retryable(f"no scores within {reranking.timeout_s:g} s") from error
    finally:
        reranking.called(outcome, loop.time() - began)


def _candidates(view: LiveView, wide: Question, count: int) -> _Candidates:
    with view.lock.read():
        ranking = retrieve(view, wide)
        numbers = (view.chunk_numbers[each.chunk_id] for each in ranking.passages[:count])
        return _Candidates(ranking, tuple(titled(view, number)[:MAX_CHARS] for number in numbers))


def _reordered(
    view: LiveView,
    asked: tuple[Question, Question],
    ranking: RetrievalResult,
    scores: Mapping[str, float],
    name: str,
) -> RetrievalResult:
    question, wide = asked
    if view.version != ranking.version:
        ranking = retrieve(view, wide)
    places = {passage.chunk_id: place for place, passage in enumerate(ranking.passages)}
    scored = sorted(
        (chunk_id for chunk_id in places if chunk_id in scores),
        key=lambda chunk_id: (-scores[chunk_id], places[chunk_id]),
    )
    order = [*scored, *(chunk_id for chunk_id in places if chunk_id not in scores)][: question.top_k]
    lowest = min(scores.values())
    passages = tuple(
        replace(ranking.passages[places[chunk_id]], score=scores.get(chunk_id, lowest - 1 - rank))
        for rank, chunk_id in enumerate(order)
    )
    subgraph = supported_subgraph(view, [view.chunk_numbers[chunk_id] for chunk_id in order])
    trace = ranking.trace
    if trace is not None:
        trace = Trace((*trace.steps, _step(name, passages, places)))
    return dated(view, replace(ranking, passages=passages, subgraph=subgraph, trace=trace), question.filters.as_of)


def _step(name: str, passages: Sequence[RetrievedPassage], places: Mapping[str, int]) -> TraceStep:
    items = tuple(
        TraceItem(passage.chunk_id, "", passage.score, (("place before", float(places[passage.chunk_id] + 1)),))
        for passage in passages
    )
    return TraceStep("rerank", f"Passages by the scores of the reranker {name}.", items)


def _unranked(view: LiveView, question: Question, name: str, reason: str) -> RetrievalResult:
    result = retrieve(view, question)
    if result.trace is None:
        return result
    about = f"The reranker {name} failed, so the order is that of the mode: {reason[:300]}"
    return replace(result, trace=Trace((*result.trace.steps, TraceStep("rerank", about))))
