"""Reading of a question's communities by a language model, for mode `da-rag`.

Each community is one call, outside the view's lock; all are billed to the question. What the model wrote is kept in
memory by question and text, so that a repeated question costs no call; a text whose passages were deleted is dropped.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from weakref import WeakKeyDictionary

from graphtide.graph.retrieval.darag.mode import communities_to_read
from graphtide.graph.retrieval.darag.reading import WrittenReport
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPart, Subgraph
from graphtide.graph.view import LiveView
from graphtide.services.query.context import build_context
from graphtide.streams.model_ports import ContextPart, Generator, PartAnswer
from graphtide.streams.scheduling.work_pool import WorkPool

KEPT = 512
"""Number of reports kept in memory per graph."""

_Key = tuple[str, RetrievedPart]


class CommunityReader:
    """The reader (see the module). One event loop uses it."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._kept: WeakKeyDictionary[LiveView, OrderedDict[_Key, WrittenReport]] = WeakKeyDictionary()

    async def read(self, view: LiveView, question: Question, pool: WorkPool) -> dict[RetrievedPart, WrittenReport]:
        """Return the model's report of each community of a question. Raises the model's errors; then all calls end."""
        kept = self._kept.setdefault(view, OrderedDict())
        searched = await pool.run(partial(_search, view, question, tuple(kept)), view.graph)
        for key in searched.out_of_date:
            kept.pop(key, None)
        found = {part: made for part in searched.parts if (made := kept.get((question.text, part))) is not None}
        fresh = {part: text for part, text in zip(searched.parts, searched.texts, strict=True) if part not in found}
        answers = await self._answers(question.text, fresh.values())
        for part, answer in zip(fresh, answers, strict=True):
            found[part] = WrittenReport(answer.text, answer.rating / 100)
            if answer.llm_calls:
                kept[question.text, part] = found[part]
        while len(kept) > KEPT:
            kept.popitem(last=False)
        return found

    async def _answers(self, question: str, parts: Iterable[ContextPart]) -> list[PartAnswer]:
        tasks = [asyncio.ensure_future(self._generator.answer_part(question, part)) for part in parts]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()


@dataclass(frozen=True, slots=True)
class _Searched:
    """The communities of a question, as the model reads them, and the keys of reports whose passages are deleted."""

    parts: tuple[RetrievedPart, ...]
    texts: tuple[ContextPart, ...]
    out_of_date: tuple[_Key, ...]


def _search(view: LiveView, question: Question, keys: Iterable[_Key]) -> _Searched:
    with view.lock.read():
        gone = tuple(key for key in keys if not view.chunk_numbers.keys() >= set(key[1].sources))
        parts = communities_to_read(view, question)
        whole = RetrievalResult((), Subgraph(), view.version, question.mode, parts=parts)
        return _Searched(parts, build_context(view, whole, question.filters.as_of).parts, gone)
