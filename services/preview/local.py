"""Previews of an application on the stored graphs of this process or its cluster. Nothing is written.

Models extract and embed the documents as for publishing, under the graph's budget, and their results are cached as
always, so publishing the same document afterwards calls them no more.

Invariants: one preview is computed at a time, because it holds a copy of its graph; at most EXTRACTED previews hold
extracted documents; graphs take turns at both; a preview ends by its deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from graphtide.graph.records import DocumentChange, Extraction
from graphtide.graph.retrieval.types import Question
from graphtide.graph.view import LiveView
from graphtide.services.changes.types import Change, ChangedDocument
from graphtide.services.preview.computation import StoredGraph, compute, without
from graphtide.services.preview.types import MAX_PASSAGES, Preview, PreviewRequest, QuestionPreview
from graphtide.services.runtime import Runtime
from graphtide.services.standing.service import with_default_options
from graphtide.services.standing.types import QuestionDefinition
from graphtide.streams.errors import DeadlineExceeded, Invalid, Overloaded, Rejected
from graphtide.streams.extract.pipeline import extract
from graphtide.streams.messages import DocumentMessage, decode_stored
from graphtide.streams.ports import RevisionState
from graphtide.streams.scheduling.fair_queue import Slots
from graphtide.streams.standing.question_vectors import check_vector
from graphtide.streams.usage import BillingContext, paid_by

EXTRACTED = 4
"""Maximum number of previews that hold extracted documents: each takes up to some 20 MB."""
TIMEOUT_S = 60.0
"""Timeout of a preview with its waits, the same as that of a gateway's calls."""
READS = 5
"""Attempts to read rows and documents at one version, while the graph changes."""


class LocalPreview:
    """The previews of a process."""

    def __init__(self, runtime: Runtime, timeout_s: float = TIMEOUT_S) -> None:
        self._runtime = runtime
        self._timeout_s = timeout_s
        self._extracting, self._computing = Slots(EXTRACTED), Slots(1)

    async def preview(self, view: LiveView, request: PreviewRequest) -> Preview:
        """See Application.preview."""
        if len(view.chunks) > MAX_PASSAGES:
            raise Invalid(
                "graph", f"has {len(view.chunks):,} passages; a preview copies the graph, at most {MAX_PASSAGES:,}"
            )
        try:
            async with asyncio.timeout(self._timeout_s), self._extracting.one(view.graph):
                return await self._preview(view, request)
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"the preview was not ready within {self._timeout_s:g} s; preview fewer documents, or try again later"
            ) from error

    async def _preview(self, view: LiveView, request: PreviewRequest) -> Preview:
        graph = view.graph
        with paid_by(BillingContext(graph)):
            new = {document.doc_id: await self._extracted(document) for document in request.publish}
            questions = await self._embedded(view, request.questions)
        async with self._computing.one(graph):
            stored, old = await self._stored(view, sorted({*new, *request.delete}))
            missing = [doc_id for doc_id in request.delete if old.get(doc_id) is None]
            if missing:
                raise Invalid("delete", f"graph {graph!r} has no live document {missing[0][:80]!r}")
            changes = [
                DocumentChange(doc_id, old.get(doc_id), new.get(doc_id)) for doc_id in sorted({*new, *request.delete})
            ]
            summary, evidence = await self._runtime.pool.run(lambda: compute(stored, changes, questions), graph)
        states = {
            doc_id: RevisionState.DELETED if doc_id in request.delete else RevisionState.APPLIED
            for doc_id in [change.doc_id for change in changes]
        }
        documents = tuple(ChangedDocument(doc_id, 0, state) for doc_id, state in states.items())
        version = stored.rows.version
        change = Change(
            version + 1, "", "", documents, summary.entities, summary.relations, summary.merges, summary.splits
        )
        shown = (
            QuestionPreview(
                asked.question,
                asked.mode,
                [each.chunk_id for each in before] != [each.chunk_id for each in after],
                before,
                after,
                without(after, before),
                without(before, after),
            )
            for asked, (before, after) in zip(request.questions, evidence, strict=True)
        )
        return Preview(version, change, tuple(shown))

    async def _extracted(self, document: DocumentMessage) -> Extraction:
        reading = self._runtime.reading
        if reading is None:
            raise Overloaded("this process has no models to extract documents with")
        try:
            return await extract(document, 0, *reading)
        except Rejected as error:
            raise Invalid("publish", f"document {document.doc_id!r}: {error}") from error

    async def _embedded(self, view: LiveView, questions: Sequence[QuestionDefinition]) -> list[Question]:
        if not questions:
            return []
        vectors = await self._runtime.embedder.embed([asked.question for asked in questions])
        for vector in vectors:
            check_vector(view, vector, self._runtime.embedder)
        defined = [with_default_options(asked, self._runtime.mode_options) for asked in questions]
        return [
            Question(asked.question, vector, asked.top_k, asked.mode, asked.filters, exact=True, options=asked.options)
            for asked, vector in zip(defined, vectors, strict=True)
        ]

    async def _stored(self, view: LiveView, doc_ids: Sequence[str]) -> tuple[StoredGraph, dict[str, Extraction]]:
        """Return the rows and the live extractions of these documents, at one version."""
        store, graph = self._runtime.store, view.graph
        for _ in range(READS):
            version = await store.version(graph)
            standings = await store.standings(graph, doc_ids)
            verdicts, rows = await store.verdicts(graph), await store.snapshot(graph)
            if rows.version == version == await store.version(graph):
                break
        else:
            raise Overloaded(f"graph {graph!r} changes faster than a preview can read it; try again later", 2.0)
        old: dict[str, Extraction] = {}
        for doc_id, stored in standings.items():
            if stored.extraction is not None:
                extraction = await asyncio.to_thread(decode_stored, graph, doc_id, stored.extraction)
                if extraction is not None:
                    old[doc_id] = extraction
        return StoredGraph(rows, verdicts, view.functional_predicates), old
