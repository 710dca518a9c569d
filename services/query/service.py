"""The service of questions until the answer's last piece: places, deadline, span and billing.

`retrieve.py` finds the context, `generate.py` writes the answer. The invariant: a question holds one place from its
retrieval to its last piece, however it ends, and none while it waits for a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial

from graphtide.graph.retrieval.modes.table import MODES
from graphtide.graph.retrieval.options.table import with_defaults
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.view import LiveView
from graphtide.services.access.credentials import CALLER
from graphtide.services.access.limits.places import FairPlaces
from graphtide.services.application import Answer, AnswerChunk, QueryRequest
from graphtide.services.changes.past_views import PastViews
from graphtide.services.inspection.usage import usage
from graphtide.services.query.communities import CommunityReader
from graphtide.services.query.context import compose_answer
from graphtide.services.query.generate import AnswerContext, WrittenAnswer, generate_answer, stream_answer
from graphtide.services.query.retrieve import READS_REPORTS, RetrievalTools, retrieve_context
from graphtide.services.runtime import Runtime
from graphtide.streams.errors import DeadlineExceeded, GraphtideError, Invalid, NotFound, Retryable
from graphtide.streams.model_ports import WideReader
from graphtide.streams.scheduling.precedence import QUESTIONS
from graphtide.streams.standing.question_vectors import check_vector
from graphtide.streams.tracing import Span, ending, span
from graphtide.streams.usage import Bill, BillingContext, paid_by


class QueryService:
    """Service of at most `max_running` concurrent questions over all graphs."""

    def __init__(self, runtime: Runtime, max_running: int, past: PastViews) -> None:
        self._runtime = runtime
        self._past = past
        self._places = FairPlaces(max_running, "questions")
        self._reader = CommunityReader(runtime.generator) if runtime.rater is not None else None

    async def answer(self, graph: str, ask: QueryRequest) -> Answer:
        who = _asker(graph)
        use = self._runtime.views.in_use(graph)
        with paid_by(who), use, _asked(graph, ask) as asked, self._counted(graph, ask):
            async with _deadline(ask, self._until(ask)):
                past = await self._wait(graph, ask)
                with self.place(), QUESTIONS.question(graph):
                    retrieved, used = await self._retrieve(graph, ask, past)
                    _answered(asked, retrieved)
                    whole = await self._written(ask, used) if ask.generate else None
        return self._billed(await self._composed(graph, retrieved, used, whole), who)

    async def _composed(
        self, graph: str, retrieved: RetrievalResult, used: AnswerContext, whole: WrittenAnswer | None
    ) -> Answer:
        """Return the answer with its citations, which are located in a thread."""
        if whole is None:
            return compose_answer(retrieved, used, None)
        with QUESTIONS.question(graph):
            return await self._runtime.pool.run(partial(compose_answer, retrieved, used, whole), graph)

    async def _written(self, ask: QueryRequest, used: AnswerContext) -> WrittenAnswer:
        with span("generate"):
            return await generate_answer(self._runtime.generator, ask.question, used)

    async def stream(self, graph: str, ask: QueryRequest) -> AsyncIterator[Answer | AnswerChunk]:
        until, who = self._until(ask), _asker(graph)
        use = self._runtime.views.in_use(graph)
        with use, ending(_asked(graph, ask)) as asked, self._counted(graph, ask):
            with asked.current():
                async with _deadline(ask, until):
                    past = await self._wait(graph, ask)
            with self.place(), QUESTIONS.question(graph):
                with paid_by(who), asked.current():
                    async with _deadline(ask, until):
                        retrieved, used = await self._retrieve(graph, ask, past)
                    _answered(asked, retrieved)
                yield self._billed(compose_answer(retrieved, used, None), who)
                whole = None
                if ask.generate:
                    with asked.current():
                        writing = span("generate")
                    with ending(writing):
                        async with aclosing(self._pieces(ask, used, until, (who, writing))) as pieces:
                            async for piece in pieces:
                                if isinstance(piece, WrittenAnswer):
                                    whole = piece
                                else:
                                    yield AnswerChunk(piece)
                yield self._billed(await self._composed(graph, retrieved, used, whole), who)

    async def _pieces(
        self, ask: QueryRequest, used: AnswerContext, until: float, on_behalf: tuple[BillingContext, Span]
    ) -> AsyncGenerator[str | WrittenAnswer, None]:
        """Yield the pieces of the answer while it is written, then the whole."""
        who, writing = on_behalf
        async with aclosing(stream_answer(self._runtime.generator, ask.question, used)) as pieces:
            while True:
                # One deadline per piece: a deadline around the loop would include the time of the stream's reader.
                with paid_by(who), writing.current():
                    async with _deadline(ask, until):
                        piece = await anext(pieces)
                yield piece
                if isinstance(piece, WrittenAnswer):
                    return

    def _billed(self, given: Answer, who: BillingContext) -> Answer:
        """Return the answer with the use of all model calls made for it."""
        return replace(given, usage=usage(who.bill.llm, self._runtime.accounts)) if who.bill else given

    async def _wait(self, graph: str, ask: QueryRequest) -> LiveView | None:
        """Wait, without a place, until the graph includes the token of the question; return the view of the earlier
        version that it asks, None for the present one. Raises Invalid, NotFound, Expired.
        """
        if ask.mode not in MODES:
            raise Invalid("mode", f"{ask.mode!r} is not a mode; use one of {', '.join(sorted(MODES))}")
        if ask.at and ask.mode in READS_REPORTS:
            raise Invalid(
                "mode",
                f"{ask.mode!r} reads reports, which describe the present version only; with `at` use one of "
                + ", ".join(sorted(MODES.keys() - READS_REPORTS)),
            )
        await self._runtime.known(graph, ask.after, ask.timeout_s)
        if ask.after:
            with span("wait"):
                await self._runtime.progress.reach(graph, ask.after, ask.timeout_s, self._runtime.maintenance.refusal)
        return await self._past.at(graph, ask.at) if ask.at else None

    async def _retrieve(
        self, graph: str, ask: QueryRequest, past: LiveView | None
    ) -> tuple[RetrievalResult, AnswerContext]:
        view = self._runtime.views.get(graph) if past is None else past
        if view is None:
            raise self._absence(graph, ask)
        with span("embed", texts=1):
            vector = (await self._runtime.embedder.embed([ask.question]))[0]
        check_vector(view, vector, self._runtime.embedder)
        defaults = self._runtime.mode_options
        options = with_defaults(ask.options, defaults.get(ask.mode, ()))
        question = Question(
            ask.question, vector, ask.top_k, ask.mode, ask.filters, ask.explain, ask.level, ask.exact, options
        )
        rater = self._runtime.rater if ask.generate else None
        reader = self._reader if ask.generate else None
        runtime = self._runtime
        tools = RetrievalTools(
            runtime.shelves, runtime.pool, rater, reader, defaults, runtime.reranking, with_facts=ask.generate
        )
        with span("retrieve", mode=ask.mode):
            return await retrieve_context(view, question, tools, self._more(ask))

    def _more(self, ask: QueryRequest) -> int:
        """Return how many passages the generator reads beyond those of the result."""
        generator = self._runtime.generator
        return generator.context_passages if ask.generate and isinstance(generator, WideReader) else 0

    def _absence(self, graph: str, ask: QueryRequest) -> GraphtideError:
        """Return the reason why a graph without an applied document cannot be queried."""
        if ask.generate:
            self._runtime.accounts.check()
        if refusal := self._runtime.maintenance.refusal(graph):
            return refusal
        reasons = (reason for (waiting, _), reason in self._runtime.maintenance.waiting.items() if waiting == graph)
        if reason := next(reasons, ""):
            return Retryable(f"the first documents of graph {graph!r} wait: {reason}", 5.0)
        return NotFound(f"graph {graph!r} has no document applied yet; pass `after` to wait for one")

    def _counted(self, graph: str, ask: QueryRequest) -> AbstractContextManager[None]:
        """Count and time the question, including its wait."""
        return self._runtime.metrics.asking(graph, ask.mode if ask.mode in MODES else "unknown")

    def place(self) -> AbstractContextManager[None]:
        """Hold one place of the caller's share. Raises Overloaded."""
        return self._places.hold(CALLER.get().who.name)

    def _until(self, ask: QueryRequest) -> float:
        return asyncio.get_running_loop().time() + ask.timeout_s


@asynccontextmanager
async def _deadline(ask: QueryRequest, until: float) -> AsyncIterator[None]:
    """Raise DeadlineExceeded when the block is not done by `until`, in the event loop's time."""
    try:
        async with asyncio.timeout_at(until):
            yield
    except TimeoutError as error:
        raise DeadlineExceeded(f"the answer was not ready within {ask.timeout_s:g} s") from error


def _asked(graph: str, ask: QueryRequest) -> Span:
    """Return the span of a question. An unknown mode is the caller's text and is not exported."""
    return span("query", graph=graph, mode=ask.mode if ask.mode in MODES else "unknown", generate=ask.generate)


def _answered(asked: Span, retrieved: RetrievalResult) -> None:
    asked.note(version=retrieved.version, mode=retrieved.mode, passages=len(retrieved.passages))


def _asker(graph: str) -> BillingContext:
    return BillingContext(graph, question=True, bill=Bill())
