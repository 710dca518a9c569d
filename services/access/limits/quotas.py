"""Quotas of documents, bytes and graphs: upper bounds on the total content of the graphs that a credential may write.

Stored content is counted in the views, or in the store for graphs that are not in memory. Both are a function of the
live documents: a deletion or a shorter edit releases exactly what it removes, and nothing is counted twice. Accepted
revisions that neither contains yet are counted in addition, as if all of it were new. The invariants: what this process
accepts never exceeds a quota; a request that fits once all earlier ones are applied is never refused permanently, only
with 429 until then. Cost of a request: the graphs that the credential reaches, in three statements, and only for
credentials with a quota. No graph is loaded for it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from graphtide.graph.view import LiveView
from graphtide.services.access.credentials import CALLER
from graphtide.services.access.policy import Principal, Quota
from graphtide.services.api.schema.errors import QuotaExceeded
from graphtide.services.runtime import Runtime
from graphtide.streams.content import extraction_bytes
from graphtide.streams.errors import Overloaded
from graphtide.streams.messages import decode_stored
from graphtide.streams.ports import GraphContent, StoredDocument


@dataclass(frozen=True, slots=True)
class Entering:
    """A document to be accepted."""

    graph: str
    doc_id: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of documents, and the UTF-8 bytes of their texts."""

    documents: int = 0
    size_bytes: int = 0

    def __add__(self, second: Amount) -> Amount:
        return Amount(self.documents + second.documents, self.size_bytes + second.size_bytes)

    def __sub__(self, second: Amount) -> Amount:
        return Amount(self.documents - second.documents, self.size_bytes - second.size_bytes)


NOTHING = Amount()


@dataclass(frozen=True, slots=True)
class GraphUse:
    """The use of a graph: the content of its view, the documents to be replaced, and the revisions not yet in the view.

    `settled` is the part of all that this process ever accepted for the graph that is in the view, or superseded.
    """

    stored: Amount
    replaced: Mapping[str, int]
    pending: int
    settled: Amount


class Quotas:
    """The quota check of all requests of a process. Belongs to one event loop."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._accepted: defaultdict[str, Amount] = defaultdict(Amount)
        self._settled: defaultdict[str, Amount] = defaultdict(Amount)
        self._entering: defaultdict[str, Amount] = defaultdict(Amount)

    async def admit(self, documents: Sequence[Entering]) -> AbstractContextManager[None]:
        """Return a block in which to accept the documents; it reserves their size.

        Raises QuotaExceeded when they exceed the caller's quota, Overloaded while pending revisions leave that open.
        """
        who = CALLER.get().who
        quota = who.allowance.quota
        if quota:
            usage = await self._usage(who, documents)
            self._check(who, quota, usage, documents)  # no other task runs between the check and the reservation
        return self._keep(documents)

    @contextmanager
    def _keep(self, documents: Sequence[Entering]) -> Iterator[None]:
        amounts = _by_graph(documents)
        for graph, amount in amounts.items():
            self._entering[graph] += amount
        try:
            yield
        finally:  # also after a failure: the documents may have been accepted
            for graph, amount in amounts.items():
                self._entering[graph] -= amount
                self._accepted[graph] += amount

    async def _usage(self, who: Principal, documents: Sequence[Entering]) -> dict[str, GraphUse]:
        runtime, views = self._runtime, self._runtime.views
        graphs = {name for name in (*views.evicted, *views.versions(), *self._accepted) if who.reaches(name)}
        graphs |= {document.graph for document in documents}
        accepted = {graph: self._accepted[graph] for graph in graphs}
        pending = await runtime.ledger.pending_counts()
        # After `pending`: it includes what is no longer pending.
        contents = await runtime.store.contents() if views.evicted else {}
        stored = {name: content.version for name, content in contents.items()} or await runtime.store.graphs()
        found = {}
        for graph in graphs:
            view, ids = views.get(graph), _ids(documents, graph)
            if view is None and graph in contents:
                version, amount, replaced = await self._stored(graph, contents[graph], ids)
            else:
                version, amount, replaced = await asyncio.to_thread(_figures, view, ids)
            if not pending.get(graph) and version >= stored.get(graph, 0):
                self._settled[graph] = _later(self._settled[graph], accepted[graph])
            found[graph] = GraphUse(amount, replaced, pending.get(graph, 0), self._settled[graph])
        return found

    async def _stored(
        self, graph: str, content: GraphContent, doc_ids: Collection[str]
    ) -> tuple[int, Amount, dict[str, int]]:
        """Return the figures of a graph that is not in memory, as `_figures` does, without loading it."""
        stored = await self._runtime.store.standings(graph, sorted(doc_ids)) if doc_ids else {}
        sizes = await asyncio.to_thread(_text_sizes, graph, stored)
        return content.version, Amount(content.size.documents, content.size.text_bytes), sizes

    def _check(
        self, who: Principal, quota: Quota, usage: Mapping[str, GraphUse], documents: Sequence[Entering]
    ) -> None:
        waiting = {graph: self._waiting(graph, use) for graph, use in usage.items()}
        added, replaced = Counter[str](), 0
        for graph, doc_id in {(document.graph, document.doc_id) for document in documents}:
            added[graph] += doc_id not in usage[graph].replaced
            replaced += usage[graph].replaced.get(doc_id, 0)
        used = sum((use.stored for use in usage.values()), NOTHING)
        wanted = Amount(sum(added.values()), sum(document.size_bytes for document in documents) - replaced)
        filled = {graph for graph, use in usage.items() if use.stored.documents or waiting[graph].documents}
        begun = len({document.graph for document in documents} - filled)
        late = sum(waiting.values(), NOTHING)
        for name, limit, now, waits, more in (
            ("documents", quota.documents, used.documents, late.documents, wanted.documents),
            ("bytes", quota.size_bytes, used.size_bytes, late.size_bytes, wanted.size_bytes),
            ("graphs", quota.graphs, len(filled), 0, begun),
        ):
            if limit and more > 0 and now + waits + more > limit:
                self._runtime.metrics.over_quota(name)
                raise _refusal(who, name, limit, now, more, late.documents)

    def _waiting(self, graph: str, usage: GraphUse) -> Amount:
        own = self._accepted[graph] - usage.settled + self._entering[graph]
        return Amount(max(own.documents, usage.pending), own.size_bytes)


def _refusal(who: Principal, name: str, limit: int, now: int, more: int, waiting: int) -> QuotaExceeded | Overloaded:
    message = f"{who.name} may store {limit} {name} in its graphs; they hold {now}, and {more} more do not fit"
    if waiting:
        return Overloaded(f"{message} while {waiting} revisions wait to be applied: try again later", 1.0)
    return QuotaExceeded(f"{message}: delete documents, or raise the quota of the key")


def _figures(view: LiveView | None, doc_ids: Iterable[str]) -> tuple[int, Amount, dict[str, int]]:
    """Return version, content, and the sizes of the stored documents among `doc_ids`, all from one snapshot."""
    if view is None:
        return 0, NOTHING, {}
    with view.lock.read():
        sizes = {
            doc_id: sum(len(view.chunks[chunk].utf8) for chunk in row.chunks)
            for doc_id in doc_ids
            if (row := view.documents.get(doc_id)) is not None
        }
        return view.version, Amount(len(view.documents), view.text_bytes), sizes


def _text_sizes(graph: str, documents: Mapping[str, StoredDocument]) -> dict[str, int]:
    found = {}
    for doc_id, document in documents.items():
        if document.extraction is not None:
            extraction = decode_stored(graph, doc_id, document.extraction, statements=False)
            found[doc_id] = extraction_bytes(extraction) if extraction else 0
    return found


def _by_graph(documents: Iterable[Entering]) -> dict[str, Amount]:
    amounts: defaultdict[str, Amount] = defaultdict(Amount)
    for document in documents:
        amounts[document.graph] += Amount(1, document.size_bytes)
    return dict(amounts)


def _ids(documents: Iterable[Entering], graph: str) -> set[str]:
    return {document.doc_id for document in documents if document.graph == graph}


def _later(first: Amount, second: Amount) -> Amount:
    return Amount(max(first.documents, second.documents), max(first.size_bytes, second.size_bytes))
