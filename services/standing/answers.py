"""Answers of standing questions: written after their events, by the configured generator, under the graph's budget.

An event whose answer is due is shown to readers once the answer is stored, or cannot be written. A later event of the
question ends the wait of an earlier one. The evidence alone is the context, so that a change of what an answer may
quote always causes an event.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from graphtide.graph.retrieval.types import RetrievalResult, RetrievedPassage, Subgraph
from graphtide.graph.view import LiveView
from graphtide.services.query.context import build_context
from graphtide.services.query.generate import AnswerContext, generate_answer
from graphtide.services.standing.service import EventSignal
from graphtide.streams.errors import GraphtideError
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.model_ports import Generator
from graphtide.streams.standing.records import QuestionEvent
from graphtide.streams.standing.store import QuestionStore
from graphtide.streams.usage import Bill, BillingContext, paid_by

log = logging.getLogger("graphtide.streams")

TIMEOUT_S = 120.0


class AnswerWriter:
    """The task that writes due answers, one after the other. `recorded` wakes it."""

    def __init__(self, store: QuestionStore, views: ViewRegistry, generator: Generator, signal: EventSignal) -> None:
        self._store = store
        self._views = views
        self._generator = generator
        self._signal = signal
        self._due: asyncio.Queue[tuple[str, QuestionEvent]] = asyncio.Queue()

    def recorded(self, graph: str, events: Sequence[QuestionEvent]) -> None:
        """Note new events, and wake the readers."""
        for event in events:
            if event.answer_due:
                self._due.put_nowait((graph, event))
        self._signal.recorded()

    async def run(self) -> None:
        """Write answers until cancelled: first those that an earlier run left due."""
        for graph in await self._store.graphs():
            for event in await self._store.due_answers(graph):
                self._due.put_nowait((graph, event))
        while True:
            graph, event = await self._due.get()
            answer = ""
            try:
                answer = await self._write(graph, event)
            except (GraphtideError, TimeoutError) as error:
                log.warning("graph %s: question %s: no answer was written: %s", graph, event.question_id, error)
            await self._store.answer(graph, event.question_id, event.seq, answer)
            self._signal.recorded()

    async def _write(self, graph: str, event: QuestionEvent) -> str:
        stored, view = await self._store.get(graph, event.question_id), self._views.get(graph)
        if stored is None or view is None or stored.seq != event.seq:
            return ""
        used = await asyncio.to_thread(partial(_context, view, event, stored.definition.filters.as_of))
        if not used.passages:
            return ""
        with paid_by(BillingContext(graph, question=True, bill=Bill())):
            async with asyncio.timeout(TIMEOUT_S):
                return (await generate_answer(self._generator, stored.definition.question, used)).text


def _context(view: LiveView, event: QuestionEvent, as_of: str) -> AnswerContext:
    """Return the evidence that still exists as context."""
    with view.lock.read():
        live = [each for each in event.passages if each.chunk_id in view.chunk_numbers]
        passages = tuple(RetrievedPassage(each.chunk_id, each.doc_id, each.score, "") for each in live)
        return build_context(view, RetrievalResult(passages, Subgraph(), view.version, ""), as_of)
