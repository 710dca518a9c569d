"""Graphtide in one process: the application port on the embedded runtime.

It answers requests and keeps the stages running beside them; it owns no driver (`services/wiring.py` builds those) and
speaks no protocol. Questions run in threads, under the read lock of one graph's view, so each sees one version.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace

from graph.consolidation.netting import repeats
from graph.digest import digest as digest_of
from graph.identity import chunk_id
from graph.records import Extraction, Unit
from graph.retrieval import MODES, Question, Retrieved
from graph.validity.reading import Validity
from graph.view import LiveView
from infra.metrics import Metrics
from infra.models.accounting import Accounts
from infra.view_gauges import counts
from services import letters
from services.answering import answer
from services.application import (
    Answer,
    Ask,
    CommunityReport,
    Digest,
    DocumentStatus,
    EntityStatus,
    GraphStats,
    Health,
    LetterList,
    LetterQuery,
    LetterStatus,
    Piece,
    Rebuilt,
    Receipt,
    RelatedDocuments,
    StatedFact,
    Usage,
    Verification,
)
from services.explaining import explain_entity, explain_related
from services.health import Dependency, with_dependencies
from services.retrieving import found
from services.spending import spending, usage
from services.synthesis import Material, Written, write, written
from services.upkeep import Upkeep, rows_of
from streams.errors import DeadlineExceeded, Invalid, NotFound, Overloaded, Retryable
from streams.followers import Views
from streams.messages import DocumentMessage, decode_extraction, document_key
from streams.models import Embedder, Generator, Rater
from streams.ports import GraphStore, Ledger, LedgerEntry, Log, Position, Record, Standing, State
from streams.progress import Progress, token
from streams.reports import Shelves
from streams.spending import Bill, Payer, paid_by
from streams.tracing import Kind, Span, carried, ending, span


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts an embedded service is made of, as `services/wiring.py` puts them together."""

    log: Log
    store: GraphStore
    ledger: Ledger
    views: Views
    progress: Progress
    upkeep: Upkeep
    embedder: Embedder
    generator: Generator
    rater: Rater | None
    metrics: Metrics
    shelves: Shelves
    models: Mapping[str, str]
    accounts: Accounts
    dependencies: tuple[Dependency, ...] = ()
    """What is asked when somebody asks how it is."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is refused for now, with 429, so that what was accepted stays quick."""

    pending_revisions: int = 100_000
    running_queries: int = 64


class EmbeddedApplication:
    """See `services.application.Application`, which says what each method promises."""

    def __init__(self, runtime: Runtime, limits: Limits | None = None) -> None:
        self._runtime = runtime
        self._limits = limits or Limits()
        self._queries = 0

    # -- documents -----------------------------------------------------------------------------------------------------

    async def publish(self, documents: Sequence[DocumentMessage]) -> Receipt:
        for graph in {document.graph for document in documents}:
            await self._refuse_when_behind(graph)
        with _published(documents):
            headers = carried()
            records = [Record(document.key, document.encode(), headers) for document in documents]
            return Receipt(token(await self._runtime.ledger.accept(records)), len(records))

    async def delete(self, graph: str, doc_id: str) -> Receipt:
        latest = await self._latest(graph, doc_id)
        if latest.state is State.DELETED:
            raise NotFound(f"document {doc_id!r} of graph {graph!r} is deleted already")
        await self._refuse_when_behind(graph)
        with span("publish", Kind.PRODUCER, graph=graph, doc_id=doc_id, documents=1):
            record = Record(document_key(graph, doc_id), None, carried())
            return Receipt(token(await self._runtime.ledger.accept([record])), 1)

    async def document(self, graph: str, doc_id: str) -> DocumentStatus:
        latest = await self._latest(graph, doc_id)
        standings = await self._runtime.store.standings(graph, [doc_id])
        spent = await self._runtime.accounts.spending.document(graph, doc_id)
        return self._status(latest, standings.get(doc_id), usage(spent, self._runtime.accounts))

    async def related(self, graph: str, doc_id: str, count: int) -> RelatedDocuments:
        view = await self._view(graph)
        async with self._place():
            found = await asyncio.to_thread(_related, view, doc_id, count)
        if found is None:
            raise NotFound(f"graph {graph!r} holds no document {doc_id!r}")
        return found

    async def _latest(self, graph: str, doc_id: str) -> LedgerEntry:
        latest = await self._runtime.ledger.latest(graph, doc_id)
        if latest is None:
            await self._known(graph)
            raise NotFound(f"graph {graph!r} has no document {doc_id!r}")
        return latest

    async def _known(self, graph: str) -> None:
        """Raise NotFound for a graph that nothing was ever published to."""
        if self._runtime.views.get(graph) is None and not any((await self._runtime.ledger.counts(graph)).values()):
            raise NotFound(f"there is no graph {graph!r}; it comes into being with its first document")

    async def _refuse_when_behind(self, graph: str) -> None:
        pending = await self._runtime.ledger.pending(graph)
        if pending >= self._limits.pending_revisions:
            raise Overloaded(f"{pending} revisions of graph {graph!r} are waiting; publish slower", 5.0)

    def _status(self, latest: LedgerEntry, standing: Standing | None, used: Usage) -> DocumentStatus:
        live = decode_extraction(standing.extraction).extraction if standing and standing.extraction else None
        key = (latest.graph, latest.doc_id)
        waiting = self._runtime.upkeep.waiting.get(key, "") if latest.state is State.ACCEPTED else ""
        return DocumentStatus(
            *key,
            latest.state,
            latest.position.offset,
            latest.reason or waiting,
            token([latest.position]),
            live.revision if live else None,
            live.info.title if live else "",
            live.info.source if live else "",
            live.info.occurred_at if live else "",
            {name: json.loads(value) for name, value in live.info.metadata} if live else {},
            live.text if live else "",
            tuple(_stated(self._runtime.views.get(latest.graph), live)) if live else (),
            used,
        )

    # -- questions -----------------------------------------------------------------------------------------------------

    async def query(self, graph: str, ask: Ask) -> Answer:
        who = _asker(graph)
        with paid_by(who), _asked(graph, ask) as asked:
            async with self._slot(graph, ask), _deadline(ask, self._until(ask)):
                retrieved, used = await self._retrieve(graph, ask)
                _answered(asked, retrieved)
                whole = await self._written(ask, used) if ask.generate else None
        return self._billed(answer(retrieved, whole), who)

    async def _written(self, ask: Ask, used: Material) -> Written:
        with span("generate"):
            return await written(self._runtime.generator, ask.question, used)

    async def stream(self, graph: str, ask: Ask) -> AsyncIterator[Answer | Piece]:
        until, who = self._until(ask), _asker(graph)
        with ending(_asked(graph, ask)) as asked:
            async with self._slot(graph, ask):
                with paid_by(who), asked.current():
                    async with _deadline(ask, until):
                        retrieved, used = await self._retrieve(graph, ask)
                    _answered(asked, retrieved)
                yield self._billed(answer(retrieved, None), who)
                whole = None
                if ask.generate:
                    with asked.current():
                        writing = span("generate")
                    with ending(writing):
                        async with aclosing(self._pieces(ask, used, until, (who, writing))) as pieces:
                            async for piece in pieces:
                                if isinstance(piece, Written):
                                    whole = piece
                                else:
                                    yield Piece(piece)
                yield self._billed(answer(retrieved, whole), who)

    async def _pieces(
        self, ask: Ask, used: Material, until: float, on_behalf: tuple[Payer, Span]
    ) -> AsyncGenerator[str | Written, None]:
        """The answer as it is written, the whole of it at the end."""
        who, writing = on_behalf
        async with aclosing(write(self._runtime.generator, ask.question, used)) as pieces:
            while True:
                # Not one deadline around the loop: it would also run while the reader of this stream is busy.
                with paid_by(who), writing.current():
                    async with _deadline(ask, until):
                        piece = await anext(pieces)
                yield piece
                if isinstance(piece, Written):
                    return

    def _billed(self, given: Answer, who: Payer) -> Answer:
        """The answer with what the calls on its behalf came to, whoever made them."""
        return replace(given, usage=usage(who.bill.llm, self._runtime.accounts)) if who.bill else given

    async def _retrieve(self, graph: str, ask: Ask) -> tuple[Retrieved, Material]:
        if ask.mode not in MODES:
            raise Invalid("mode", f"{ask.mode!r} is not a mode; there are {', '.join(sorted(MODES))}")
        await self._known(graph)
        if ask.after:
            with span("wait"):
                await self._runtime.progress.reach(graph, ask.after, ask.timeout_s)
        view = self._runtime.views.get(graph)
        if view is None:
            for (waiting, _), reason in self._runtime.upkeep.waiting.items():
                if waiting == graph:
                    raise Retryable(f"the first documents of graph {graph!r} wait: {reason}", 5.0)
            raise NotFound(f"graph {graph!r} has no document applied yet; pass `after` to wait for one")
        with span("embed", texts=1):
            vector = (await self._runtime.embedder.embed([ask.question]))[0]
        question = Question(ask.question, vector, ask.top_k, ask.mode, ask.filters, ask.explain, ask.level)
        rater = self._runtime.rater if ask.generate else None
        with span("retrieve", mode=ask.mode):
            return await found(view, question, self._runtime.shelves, rater)

    @asynccontextmanager
    async def _slot(self, graph: str, ask: Ask) -> AsyncIterator[None]:
        """One of the places for questions, counted and timed. Raises Overloaded when all are taken."""
        with self._runtime.metrics.asking(graph, ask.mode if ask.mode in MODES else "unknown"):
            async with self._place():
                yield

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        if self._queries >= self._limits.running_queries:
            raise Overloaded(f"{self._queries} questions are being answered already")
        self._queries += 1
        try:
            yield
        finally:
            self._queries -= 1

    def _until(self, ask: Ask) -> float:
        return asyncio.get_running_loop().time() + ask.timeout_s

    # -- the graph as a whole ------------------------------------------------------------------------------------------

    async def graphs(self) -> Mapping[str, int]:
        return self._runtime.views.versions()

    async def stats(self, graph: str) -> GraphStats:
        await self._known(graph)
        runtime, view = self._runtime, self._runtime.views.get(graph)
        revisions = await runtime.ledger.counts(graph)
        waiting = await runtime.ledger.unfinished(_now_ms() + 1, 10_000)
        oldest = min((entry.accepted_ms for entry in waiting if entry.graph == graph), default=None)
        return GraphStats(
            graph,
            view.version if view else 0,
            await asyncio.to_thread(_counts, view) if view else {},
            {state.value: count for state, count in revisions.items()},
            await runtime.ledger.pending(graph),
            0.0 if oldest is None else max(0.0, (_now_ms() - oldest) / 1000),
            runtime.metrics.event_to_queryable_ms(graph),
            {**runtime.upkeep.kernels, **({"pagerank": view.walk.name} if view else {})},
            runtime.models,
            _indexes(view) if view else {},
            await spending(graph, runtime.accounts),
        )

    async def entity(self, graph: str, entity_id: str) -> EntityStatus:
        view = await self._view(graph)
        found = await asyncio.to_thread(_entity, view, entity_id)
        if found is None:
            raise NotFound(f"graph {graph!r} has no entity {entity_id!r}")
        return found

    async def reports(self, graph: str) -> Sequence[CommunityReport]:
        view = await self._view(graph)
        await self._runtime.shelves.fill(view)
        return await asyncio.to_thread(_reports, view)

    async def digest(self, graph: str) -> Digest:
        view = await self._view(graph)
        version, rows = await asyncio.to_thread(rows_of, view)
        return Digest(version, await asyncio.to_thread(digest_of, rows))

    async def verify(self, graph: str) -> Verification:
        return await self._runtime.upkeep.verify(await self._view(graph))

    async def rebuild(self, graph: str) -> Rebuilt:
        return await self._runtime.upkeep.rebuild(await self._view(graph))

    # -- dead letters --------------------------------------------------------------------------------------------------

    async def dead_letters(self, graph: str, query: LetterQuery) -> LetterList:
        return await letters.listed(self._runtime.log, graph, query)

    async def dead_letter(self, graph: str, letter_id: str) -> LetterStatus:
        return await letters.shown(self._runtime.log, graph, letter_id)

    async def retry_letter(self, graph: str, letter_id: str, correction: DocumentMessage | None = None) -> Receipt:
        await self._refuse_when_behind(graph)
        return await letters.retried(self._runtime.log, graph, letter_id, self._accept, correction)

    async def drop_letter(self, graph: str, letter_id: str) -> LetterStatus:
        return await letters.dropped(self._runtime.log, graph, letter_id)

    async def _accept(self, record: Record) -> Position:
        [position] = await self._runtime.ledger.accept([record])
        return position

    async def health(self) -> Health:
        return await with_dependencies(self._runtime.upkeep.health(), self._runtime.dependencies)

    async def _view(self, graph: str) -> LiveView:
        await self._known(graph)
        view = self._runtime.views.get(graph)
        if view is None:
            raise NotFound(f"graph {graph!r} has no document applied yet")
        return view


@asynccontextmanager
async def _deadline(ask: Ask, until: float) -> AsyncIterator[None]:
    """Raise DeadlineExceeded when the block is not done by `until`, in the event loop's time."""
    try:
        async with asyncio.timeout_at(until):
            yield
    except TimeoutError as error:
        raise DeadlineExceeded(f"the answer was not ready within {ask.timeout_s:g} s") from error


def _published(documents: Sequence[DocumentMessage]) -> Span:
    """The span of publishing: of its graph, where it is one, and its document likewise."""
    said: dict[str, str] = {}
    if len({document.graph for document in documents}) == 1:
        said["graph"] = documents[0].graph
    if len(documents) == 1:
        said["doc_id"] = documents[0].doc_id
    return span("publish", Kind.PRODUCER, documents=len(documents), **said)


def _asked(graph: str, ask: Ask) -> Span:
    """The span of a question. What is no mode is the caller's text, and not told."""
    return span("query", graph=graph, mode=ask.mode if ask.mode in MODES else "unknown", generate=ask.generate)


def _answered(asked: Span, retrieved: Retrieved) -> None:
    asked.note(version=retrieved.version, mode=retrieved.mode, passages=len(retrieved.passages))


def _asker(graph: str) -> Payer:
    return Payer(graph, question=True, bill=Bill())


def _entity(view: LiveView, entity_id: str) -> EntityStatus | None:
    with view.lock.read():
        node = view.entity_nodes.get(entity_id)
        return None if node is None else explain_entity(view, node)


def _related(view: LiveView, doc_id: str, count: int) -> RelatedDocuments | None:
    with view.lock.read():
        return explain_related(view, doc_id, count) if doc_id in view.documents else None


def _reports(view: LiveView) -> list[CommunityReport]:
    with view.lock.read():
        held = sorted(view.reports.reports(view), key=lambda row: (-row.level, row.community))
    return [
        CommunityReport(
            row.community, row.level, row.title, row.summary, row.sources, row.version, row.findings, row.rating
        )
        for row in held
    ]


def _counts(view: LiveView) -> dict[str, int]:
    with view.lock.read():
        return {
            **counts(view),
            "merged_labels": len(view.same_as),
        }


def _indexes(view: LiveView) -> dict[str, Mapping[str, object]]:
    named = {"chunks": view.indexes.chunks, "entities": view.indexes.entities, "relations": view.indexes.statements}
    found: dict[str, Mapping[str, object]] = {}
    for name, index in named.items():
        held = index.statistics()
        found[name] = {
            "kind": held.kind,
            "live": held.live,
            "tombstones": held.tombstones,
            "size_bytes": held.size_bytes,
            "rebuilds": held.rebuilds,
        }
    return found


def _stated(view: LiveView | None, live: Extraction) -> list[StatedFact]:
    """What the graph has from a document: under its entities' names, or as extracted until the view shows it."""
    if view is not None:
        with view.lock.read():
            row = view.documents.get(live.doc_id)
            if row is not None and row.revision == live.revision:
                return [fact for chunk in row.chunks for fact in _chunk_facts(view, chunk)]
    return [
        fact for unit, repeat in zip(live.units, repeats(live), strict=True) for fact in _unit_facts(live, unit, repeat)
    ]


def _unit_facts(live: Extraction, unit: Unit, repeat: int) -> list[StatedFact]:
    name = chunk_id(live.doc_id, unit.text, repeat)
    return [
        StatedFact(
            unit.mentions[fact.subject].name,
            fact.predicate,
            unit.mentions[fact.object].name,
            fact.description,
            fact.weight_milli / 1000,
            fact.sentence,
            name,
            fact.valid_from,
            fact.valid_to,
        )
        for fact in unit.facts
    ]


def _chunk_facts(view: LiveView, chunk: int) -> list[StatedFact]:
    held = view.chunks[chunk]
    validity = Validity(view)
    facts = []
    for shown in held.evidence:
        subject, object_ = view.ends(shown.statement)
        names = (view.entities[subject].name, view.statements[shown.statement].predicate, view.entities[object_].name)
        fact = StatedFact(*names, shown.description, shown.weight_milli / 1000, shown.sentence, held.chunk_id)
        times = validity.of_support(shown)
        ended_by = times.ended_by[0] if times.ended_by else ""
        fact = replace(fact, valid_from=times.valid_from, valid_to=times.valid_to)
        facts.append(replace(fact, ended_by=ended_by, instead=times.instead))
    return facts


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
