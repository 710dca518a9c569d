"""A small in-memory Application for tests of the protocols alone: it applies at once and fails on request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from graphtide.services.application import (
    Answer,
    AnswerChunk,
    Change,
    ChangeQuery,
    Citation,
    CommunityReport,
    DeletedGraph,
    Digest,
    DocumentStatus,
    EntityStatus,
    FeedItem,
    FeedOpened,
    GraphStats,
    Health,
    LetterList,
    LetterQuery,
    LetterStatus,
    Preview,
    PreviewRequest,
    Purged,
    QueryRequest,
    RankedPassage,
    Rebuilt,
    Receipt,
    RelatedDocument,
    RelatedDocuments,
    StatedFact,
    SubgraphEdge,
    SubgraphNode,
    Usage,
    Verification,
)
from graphtide.services.changes.types import ChangedDocument
from graphtide.services.component_state import WELL, degraded
from graphtide.streams.errors import GraphtideError, Invalid, NotFound
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.ports import RevisionState
from tests.support.browser import InMemoryBrowser
from tests.support.questions import InMemoryStandingQuestions


class InMemoryApplication(InMemoryBrowser, InMemoryStandingQuestions):
    """An Application whose passages are whole documents, ranked by shared words.

    While `fail_with` is set, every call raises it; each error of `failures` is raised by one call.
    """

    def __init__(self) -> None:
        super().__init__()
        self.documents: dict[tuple[str, str], tuple[int, DocumentMessage | None]] = {}
        self.publishes: list[tuple[DocumentMessage, ...]] = []
        self.fail_with: GraphtideError | None = None
        self.failures: list[GraphtideError] = []
        self.fail_after_context: GraphtideError | None = None
        self.letters: list[LetterStatus] = []
        self.differences: tuple[str, ...] = ()
        self.ready = True
        self.gate: asyncio.Event | None = None
        self.streams_closed = 0
        self.stream_closed = asyncio.Event()
        self._version: dict[str, int] = {}

    async def publish(self, documents: Sequence[DocumentMessage]) -> Receipt:
        await self._pass()
        self.publishes.append(tuple(documents))
        for document in documents:
            self._enter(document.graph, document.doc_id, document)
        return Receipt(self._token(documents[0].graph), len(documents))

    async def preview(self, graph: str, request: PreviewRequest) -> Preview:
        await self._pass()
        version = self._version[self._known(graph)]
        return Preview(version, Change(version + 1, "", ""), ())

    async def delete(self, graph: str, doc_id: str) -> Receipt:
        await self._pass()
        if self.documents.get((graph, doc_id), (0, None))[1] is None:
            raise NotFound(f"graph {graph} has no document {doc_id}")
        self._enter(graph, doc_id, None)
        return Receipt(self._token(graph), 1)

    async def document(self, graph: str, doc_id: str) -> DocumentStatus:
        await self._pass()
        if (graph, doc_id) not in self.documents:
            raise NotFound(f"graph {graph} has no document {doc_id}")
        revision, stored = self.documents[graph, doc_id]
        if stored is None:
            state, live = RevisionState.DELETED, None
            stored = DocumentMessage(graph, doc_id, "")
        else:
            state, live = RevisionState.APPLIED, revision
        facts = tuple(
            StatedFact(f.subject, f.predicate, f.object, f.description, f.weight, "", f"{doc_id}#0")
            for f in stored.facts or ()
        )
        frame = (stored.info.title, stored.info.source, stored.info.occurred_at)
        metadata = {key: json.loads(value) for key, value in stored.info.metadata}
        token = self._token(graph)
        return DocumentStatus(graph, doc_id, state, revision, "", token, live, *frame, metadata, stored.text, facts)

    async def query(self, graph: str, ask: QueryRequest) -> Answer:
        await self._pass()
        self._known(graph)
        if ask.mode not in ("local", "vector"):
            raise Invalid("mode", f"there is no mode {ask.mode!r}; there are local, vector")
        if ask.after and not ask.after.startswith(f"{graph}."):
            raise Invalid("after", "is not a token of this service; pass one as it was given")
        return self._answer(graph, ask, "".join(self._pieces(graph, ask)))

    async def stream(self, graph: str, ask: QueryRequest) -> AsyncGenerator[Answer | AnswerChunk, None]:
        try:
            whole = await self.query(graph, ask)
            yield self._answer(graph, ask, "")
            if self.fail_after_context is not None:
                raise self.fail_after_context
            for piece in self._pieces(graph, ask):
                yield AnswerChunk(piece)
                if self.gate is not None:
                    await self.gate.wait()
            yield whole
        finally:
            self.streams_closed += 1
            self.stream_closed.set()

    async def changes(self, graph: str, query: ChangeQuery) -> AsyncGenerator[FeedItem, None]:
        """Yield one change per document, then end: there are no commits."""
        await self._pass()
        self._known(graph)
        yield FeedOpened(0)
        for version, ((_, doc_id), (revision, _)) in enumerate(sorted(self.documents.items()), 1):
            document = ChangedDocument(doc_id, revision, "applied")
            yield Change(version, f"v{version}", "2026-01-01T00:00:00.000Z", (document,))

    async def graphs(self) -> Mapping[str, int]:
        await self._pass()
        return dict(self._version)

    async def stats(self, graph: str) -> GraphStats:
        await self._pass()
        live = len(self._live(self._known(graph)))
        seconds: dict[str, Mapping[str, object]] = {"chunks": {"kind": "exact", "size": live}}
        counts, states = {"documents": live}, {"applied": live}
        parts = ({"p50": 1.5}, {"trussness": "python"}, {"embedder": "hashing"})
        return GraphStats(graph, self._version[graph], counts, states, 0, 0.0, *parts, seconds)

    async def related(self, graph: str, doc_id: str, count: int) -> RelatedDocuments:
        await self._pass()
        await self.document(graph, doc_id)
        others = sorted(
            name for (of_graph, name), (_, document) in self.documents.items() if of_graph == graph and document
        )
        rows = (RelatedDocument(name, "", 0.5, 0.5, 0.0, ()) for name in others if name != doc_id)
        return RelatedDocuments(doc_id, self._version[self._known(graph)], tuple(rows)[:count])

    async def entity(self, graph: str, entity_id: str, at: str = "") -> EntityStatus:
        await self._pass()
        raise NotFound(f"graph {self._known(graph)} has no entity {entity_id}")

    async def reports(self, graph: str) -> Sequence[CommunityReport]:
        await self._pass()
        self._known(graph)
        return []

    async def digest(self, graph: str, at: str = "") -> Digest:
        await self._pass()
        return Digest(self._version[self._known(graph)], self._sha(graph))

    async def verify(self, graph: str) -> Verification:
        await self._pass()
        digest = self._sha(self._known(graph))
        checked = {"documents": len(self._live(graph))}
        return Verification(graph, self._version[graph], digest, digest, self.differences, checked)

    async def rebuild(self, graph: str) -> Rebuilt:
        await self._pass()
        digest = self._sha(self._known(graph))
        return Rebuilt(graph, self._version[graph], digest, digest, True)

    async def delete_graph(self, graph: str, wait_s: float) -> DeletedGraph:
        await self._pass()
        self._known(graph)
        return DeletedGraph(graph, wait_s > 0)

    async def purge(self) -> Purged:
        await self._pass()
        return Purged({"dead_letters": 1, "memo_entries": 2}, 4096, 2048, ("the topics",))

    async def dead_letters(self, graph: str, query: LetterQuery) -> LetterList:
        await self._pass()
        letters = [] if query.resolved else [replace(letter, text="", original="") for letter in self.letters]
        return LetterList(tuple(each for each in letters if each.graph == graph)[: query.limit], "")

    async def dead_letter(self, graph: str, letter_id: str) -> LetterStatus:
        await self._pass()
        for letter in self.letters:
            if (letter.graph, letter.id) == (graph, letter_id):
                return letter
        raise NotFound(f"graph {graph} has no dead letter {letter_id}")

    async def retry_letter(self, graph: str, letter_id: str, correction: DocumentMessage | None = None) -> Receipt:
        letter = await self.dead_letter(graph, letter_id)
        self.letters.remove(letter)
        return await self.publish([correction or DocumentMessage(graph, letter.doc_id, letter.text)])

    async def discard_letter(self, graph: str, letter_id: str) -> LetterStatus:
        letter = await self.dead_letter(graph, letter_id)
        self.letters.remove(letter)
        return replace(letter, resolution="dropped")

    async def health(self) -> Health:
        await self._pass()
        return Health(self.ready, {"store": WELL if self.ready else degraded("the store is replaying")})

    async def _pass(self) -> None:
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop()
        if self.fail_with is not None:
            raise self.fail_with

    def _enter(self, graph: str, doc_id: str, document: DocumentMessage | None) -> None:
        self._version[graph] = self._version.get(graph, 0) + 1
        self.documents[graph, doc_id] = (self._version[graph], document)

    def _known(self, graph: str) -> str:
        if graph not in self._version:
            raise NotFound(f"there is no graph {graph}; publish a document to make it")
        return graph

    def _token(self, graph: str) -> str:
        return f"{graph}.{self._version[graph]}"

    def _live(self, graph: str) -> list[DocumentMessage]:
        return [
            document
            for (name, _), (_, document) in sorted(self.documents.items())
            if name == graph and document is not None
        ]

    def _sha(self, graph: str) -> str:
        return sha256(b"".join(document.key.encode() + document.encode() for document in self._live(graph))).hexdigest()

    def _ranked(self, graph: str, ask: QueryRequest) -> list[RankedPassage]:
        words = set(ask.question.lower().strip("?").split())
        wanted = ask.filters.doc_ids
        passages = [
            RankedPassage(
                document.doc_id,
                f"{document.doc_id}#0",
                float(len(words & set(document.text.lower().split()))),
                document.text,
            )
            for document in self._live(graph)
            if not wanted or document.doc_id in wanted
        ]
        return sorted(passages, key=lambda each: (-each.score, each.doc_id))[: ask.top_k]

    def _pieces(self, graph: str, ask: QueryRequest) -> list[str]:
        best = self._ranked(graph, ask)[:1]
        return [f"{word} " for passage in best for word in passage.text.split()] if ask.generate else []

    def _answer(self, graph: str, ask: QueryRequest, text: str) -> Answer:
        passages = tuple(self._ranked(graph, ask))
        cited = tuple(Citation(each.doc_id, each.chunk_id, each.text) for each in passages[:1])
        nodes = (SubgraphNode("e1", "Curie", "person", 0.5), SubgraphNode("e2", "polonium", "element", 0.25))
        edges = (SubgraphEdge("r1", "e1", "discovered", "e2", 1.0),)
        trace = ({"step": "rank", "seconds": 0.001},) if ask.explain else None
        version, usage = self._version[graph], Usage(1, 10, len(text.split()))
        return Answer(text, cited, passages, nodes, edges, version, ask.mode, usage, trace)
