"""The service of standing questions of a process: registration, reading, and waiting for events.

In the embedded runtime the process evaluates the questions itself; a query replica stores them, and another process of
the cluster evaluates them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from graphtide.graph.retrieval.options.fields import options_json
from graphtide.graph.retrieval.options.table import ModeOptions, with_defaults
from graphtide.graph.standing.types import Evidence
from graphtide.graph.view import LiveView
from graphtide.infra.observability.metrics.readers import StreamReader
from graphtide.services.inspection.cursors import decode_cursor, encode_cursor
from graphtide.services.standing.types import EvidenceItem, QuestionPage, StandingEvent, StandingQuestion
from graphtide.streams.errors import DeadlineExceeded, Expired, Invalid, NotFound
from graphtide.streams.standing.records import QuestionDefinition, QuestionEvent, StoredQuestion, filters_json
from graphtide.streams.standing.store import EVENTS_KEPT, QuestionStore

EVENTS_PAGE = 100
EVALUATION_TIMEOUT_S = 20.0
_LISTING = "questions"


class Registrar(Protocol):
    """Registration of questions, and the version that their evidence is of."""

    async def put(self, graph: str, definition: QuestionDefinition) -> StoredQuestion: ...

    async def delete(self, graph: str, question_id: str) -> bool: ...

    def version(self, graph: str) -> int: ...

    async def caught_up(self, graph: str) -> None:
        """Return once the questions are evaluated at the version that queries see in this process."""
        ...


class EventSignal:
    """Wakes the readers of events of this process. Belongs to one event loop."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def recorded(self) -> None:
        """Wake every reader."""
        self._changed.set()
        self._changed = asyncio.Event()

    def next(self) -> asyncio.Event:
        """Return the event that is set by the next `recorded`."""
        return self._changed


@dataclass(frozen=True, slots=True)
class StandingService:
    """The components of standing questions in a process. Readers look for events at least every `poll_s`."""

    store: QuestionStore
    registrar: Registrar
    signal: EventSignal
    poll_s: float

    async def read(self, graph: str, question_id: str) -> StoredQuestion:
        """Return a stored question. Raises NotFound."""
        stored = await self.store.get(graph, question_id)
        if stored is None:
            raise NotFound(f"graph {graph!r} has no question {question_id!r}")
        return stored

    async def page(self, graph: str, limit: int, cursor: str, view: LiveView | None) -> QuestionPage:
        """Return a page of questions. Raises Invalid."""
        listing = (_LISTING, graph)
        after = str(decode_cursor(listing, (str,), cursor)[0]) if cursor else ""
        found = await self.store.page(graph, after, limit + 1)
        following = encode_cursor(listing, (found[limit - 1].definition.id,)) if len(found) > limit else ""
        return QuestionPage(tuple(self.shown(graph, each, view) for each in found[:limit]), following)

    def shown(self, graph: str, stored: StoredQuestion, view: LiveView | None) -> StandingQuestion:
        """Return a stored question as callers see it."""
        definition = stored.definition
        return StandingQuestion(
            definition.id,
            definition.question,
            definition.mode,
            definition.top_k,
            max(stored.version, self.registrar.version(graph)) if stored.version else 0,
            stored.version,
            _time(stored.changed_ms) if stored.version else "",
            stored.seq,
            _items(view, stored.evidence),
            definition.answer,
            stored.answer if stored.answer_seq == stored.seq else "",
            filters_json(definition.filters),
            options_json(definition.options),
        )

    async def events(
        self, graph: str, question_id: str, after: str, view: LiveView | None, reader: StreamReader
    ) -> AsyncIterator[StandingEvent | None]:
        """Yield None, then the events of a question after a number or a token. See StandingQuestions."""
        stored = await self.read(graph, question_id)
        seen = await self._start(graph, stored, after)
        yield None
        while True:
            changed = self.signal.next()
            for event in await self.store.events(graph, question_id, seen, EVENTS_PAGE):
                if event.answer_due:
                    break
                seen = event.seq
                reader.received(event.version - 1)
                yield _event(event, view)
            else:
                if changed.is_set():
                    continue
            reader.is_current()
            if await self.store.get(graph, question_id) is None:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(self.poll_s):
                    await changed.wait()

    async def _start(self, graph: str, stored: StoredQuestion, after: str) -> int:
        """Return the number of the last event that the reader has. Raises Invalid, Expired."""
        if not after:
            return max(0, stored.seq - EVENTS_KEPT)
        if after.isascii() and after.isdigit() and len(after) <= 15:
            number = int(after)
        elif after[:1] == "v" and after[1:].isascii() and after[1:].isdigit() and len(after) <= 16:
            number = await self._until(graph, stored, int(after[1:]))
        else:
            raise Invalid("after", f"{after[:40]!r} is not the number or the token of an event")
        if number > stored.seq:
            known = f"question {stored.definition.id!r} has {stored.seq} events"
            raise Invalid("after", f"{known}, and none has number {number}; resume after its `seq`")
        if number < stored.seq - EVENTS_KEPT:
            raise Expired(
                f"event {number + 1} of question {stored.definition.id!r} is no longer retained;"
                " read the question, and resume after its `seq`"
            )
        return number

    async def _until(self, graph: str, stored: StoredQuestion, version: int) -> int:
        """Return the number of the last event at or before a version."""
        number = max(0, stored.seq - EVENTS_KEPT)
        while events := await self.store.events(graph, stored.definition.id, number, EVENTS_PAGE):
            for event in events:
                if event.version > version:
                    return number
                number = event.seq
        return number


def with_default_options(definition: QuestionDefinition, defaults: ModeOptions) -> QuestionDefinition:
    """Return the question with the options of the settings that it does not set itself."""
    options = with_defaults(definition.options, defaults.get(definition.mode, ()))
    return replace(definition, options=options)


class StoredRegistrar:
    """Registration in a process that evaluates nothing: it waits until another process has evaluated the question."""

    def __init__(self, store: QuestionStore, poll_s: float = 0.1) -> None:
        self._store = store
        self._poll_s = poll_s

    async def put(self, graph: str, definition: QuestionDefinition) -> StoredQuestion:
        """Store the question, and return it once it is evaluated. Raises DeadlineExceeded; it is then registered."""
        stored = await self._store.put(graph, definition)
        try:
            async with asyncio.timeout(EVALUATION_TIMEOUT_S):
                while not stored.version:
                    await asyncio.sleep(self._poll_s)
                    stored = await self._store.get(graph, definition.id) or stored
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"question {definition.id!r} is registered, but no summarize worker has evaluated it within"
                f" {EVALUATION_TIMEOUT_S:g} s; check that one runs"
            ) from error
        return stored

    async def delete(self, graph: str, question_id: str) -> bool:
        """Delete the question."""
        return await self._store.delete(graph, question_id)

    def version(self, graph: str) -> int:
        """Return 0: the stored version is known to this process, and no later one."""
        return 0

    async def caught_up(self, graph: str) -> None:
        """Return at once: another process evaluates the questions."""


def _event(event: QuestionEvent, view: LiveView | None) -> StandingEvent:
    return StandingEvent(
        event.question_id,
        event.seq,
        event.version,
        event.token,
        _time(event.occurred_ms),
        event.causes,
        _items(view, event.entered),
        _items(view, event.left),
        _items(view, event.passages),
        event.answer,
    )


def _items(view: LiveView | None, evidence: Evidence) -> tuple[EvidenceItem, ...]:
    return tuple(_read(view, evidence))


def _read(view: LiveView | None, evidence: Evidence) -> Iterable[EvidenceItem]:
    """Yield the passages with their texts. Tables are read without the lock: a passage's text never changes."""
    for passage in evidence:
        number = view.chunk_numbers.get(passage.chunk_id) if view else None
        chunk = view.chunks.get(number) if view and number is not None else None
        document = view.documents.get(passage.doc_id) if view else None
        found = chunk is not None and chunk.chunk_id == passage.chunk_id
        yield EvidenceItem(
            passage.doc_id,
            passage.chunk_id,
            passage.score,
            chunk.text if found and chunk else "",
            document.info.title if found and document else "",
        )


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
