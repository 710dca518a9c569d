"""Retrieval of a question's context: the mode's search, and report selection with ratings by a model.

All except the model's ratings and reports runs in threads under the read lock of the graph's view, so that the result
reflects one version. Every process that answers questions uses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from graphtide.graph.retrieval.darag.mode import retrieve_da_rag
from graphtide.graph.retrieval.darag.reading import Written
from graphtide.graph.retrieval.global_search.dynamic import Selection
from graphtide.graph.retrieval.modes.auto import ModeChoice, choose, with_choice
from graphtide.graph.retrieval.modes.table import MODES, concluded, retrieve
from graphtide.graph.retrieval.options.table import ModeOptions
from graphtide.graph.retrieval.question_words import time_words
from graphtide.graph.retrieval.time_limits import with_time_limits
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.view import LiveView
from graphtide.services.query.background import background
from graphtide.services.query.communities import CommunityReader
from graphtide.services.query.context import build_context
from graphtide.services.query.generate import AnswerContext
from graphtide.services.query.reranking import RERANKED_MODES, Reranking, ranking_by
from graphtide.streams.model_ports import Rater
from graphtide.streams.scheduling.work_pool import WorkPool
from graphtide.streams.summarize.report_writer import Shelves

T = TypeVar("T")

AUTO = "auto"
READS_REPORTS = frozenset({"global", "global-dynamic", "dynagrag", AUTO})
"""Modes that read reports of communities, or summaries of entities."""
FOR_WRITERS = frozenset({"global", "global-dynamic"})
"""Modes that `auto` does not choose for a generator that quotes: quotations of reports say less than of documents."""
RATED_BY_MODEL = "global-dynamic"
READ_BY_MODEL = "da-rag"
TEXTS_A_CALL = 16
TOKENS_A_CALL = 4_000
"""Maximum of texts, and of tokens of several texts, in a call of the rater."""


@dataclass(frozen=True, slots=True)
class RetrievalTools:
    """The collaborators of a retrieval. Without a `rater` the question's neighbourhood rates the reports of
    `global-dynamic`; without a `reader` the reports of `da-rag` are composed from structure. `defaults` are the options
    of a mode that `auto` chose. With `reranking` the passages of RERANKED_MODES are in the order of a reranker.
    `with_facts`: whether a generator reads the facts of the passages.
    """

    shelves: Shelves
    pool: WorkPool
    rater: Rater | None = None
    reader: CommunityReader | None = None
    defaults: ModeOptions = field(default_factory=dict)
    reranking: Reranking | None = None
    with_facts: bool = True


async def retrieve_context(
    view: LiveView, question: Question, tools: RetrievalTools, more: int = 0
) -> tuple[RetrievalResult, AnswerContext]:
    """Return the result of the question's mode, and the context of its answer.

    The context has up to `more` passages beyond the result. Raises the errors of `retrieve`, of the rater and of the
    reader.
    """
    pool = tools.pool
    if time_words(question.text):
        question = await _reading(pool, view, partial(with_time_limits, view, question))
    choice = None
    if question.mode == AUTO:
        modes = MODES if not more else MODES.keys() - FOR_WRITERS
        choice = await _reading(pool, view, lambda: choose(view, question.text, modes))
        question = replace(question, mode=choice.mode, options=tools.defaults.get(choice.mode, ()))
    if question.mode in READS_REPORTS:
        await tools.shelves.fill(view)
    conclusion = _Conclusion(view, question, choice, more, tools.with_facts)
    find = await _search(view, question, tools)
    return await _reading(pool, view, partial(conclusion.of, find))


async def _search(view: LiveView, question: Question, tools: RetrievalTools) -> Callable[[], RetrievalResult]:
    """Return the last step of the mode's search, which runs under the read lock, after the calls of models."""
    pool, rater, reader = tools.pool, tools.rater, tools.reader
    if reader is not None and question.mode == READ_BY_MODEL:
        return partial(_da_rag, view, question, await reader.read(view, question, pool))
    if tools.reranking is not None and question.mode in RERANKED_MODES:
        return await ranking_by(view, question, tools.reranking, pool)
    if rater is None or question.mode != RATED_BY_MODEL:
        return partial(retrieve, view, question)
    selection = Selection(question)
    asked = await _reading(pool, view, partial(selection.begin, view))
    while asked:
        calls = await pool.run(partial(rated_together, [each.text for each in asked]), view.graph)
        ratings = await _ratings(rater, question.text, calls)
        asked = await _reading(pool, view, partial(selection.rate, view, ratings))
    return partial(_finished, view, question, selection)


def _da_rag(view: LiveView, question: Question, written: Written) -> RetrievalResult:
    return concluded(view, question, retrieve_da_rag(view, question, written=written))


def _finished(view: LiveView, question: Question, selection: Selection) -> RetrievalResult:
    return concluded(view, question, selection.finish(view))


async def _ratings(rater: Rater, question: str, calls: Sequence[Sequence[str]]) -> list[int]:
    """Return the ratings of one round, from concurrent calls with a few texts each. All calls end when one fails."""
    tasks = [asyncio.ensure_future(rater.rate(question, texts)) for texts in calls]
    try:
        return [rating for ratings in await asyncio.gather(*tasks) for rating in ratings]
    finally:
        for task in tasks:
            task.cancel()


def rated_together(texts: Sequence[str]) -> list[list[str]]:
    """Return the texts of each call of the rater, in their order: at most TEXTS_A_CALL of at most TOKENS_A_CALL."""
    calls: list[list[str]] = []
    left = 0
    for text in texts:
        needed = count_tokens(text)
        if not calls or needed > left or len(calls[-1]) == TEXTS_A_CALL:
            calls.append([])
            left = TOKENS_A_CALL
        calls[-1].append(text)
        left -= needed
    return calls


@dataclass(frozen=True, slots=True)
class _Conclusion:
    """The last step of a retrieval, for a question whose mode `auto` may have chosen."""

    view: LiveView
    question: Question
    choice: ModeChoice | None
    more: int
    with_facts: bool

    def of(self, find: Callable[[], RetrievalResult]) -> tuple[RetrievalResult, AnswerContext]:
        """Return the result that `find` returns, and the context of its answer."""
        view, question, retrieved = self.view, self.question, find()
        beyond = background(view, question, retrieved, self.more) if self.more else ()
        used = build_context(view, retrieved, question.filters.as_of, beyond, with_facts=self.with_facts)
        return retrieved if self.choice is None else with_choice(retrieved, self.choice), used


async def _reading(pool: WorkPool, view: LiveView, read: Callable[[], T]) -> T:
    def locked() -> T:
        with view.lock.read():
            return read()

    return await pool.run(locked, view.graph)
