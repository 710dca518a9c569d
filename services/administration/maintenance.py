"""Maintenance of graphs: verification, rebuild and purge, in the embedded runtime and in a cluster.

In the embedded runtime the writers are in this process, and are paused. In a cluster they run in other processes, and
receive a record in `extractions` (`streams/consolidate/maintenance_requests.py`): no other work changes a graph while
it is verified or rebuilt.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from graphtide.graph.digest import digest as digest_of
from graphtide.graph.records import GraphDelta
from graphtide.graph.view import LiveView
from graphtide.infra.index_folder import IndexFolder
from graphtide.services.administration.damage import Damage
from graphtide.services.application import Health, Purged, Rebuilt, Verification
from graphtide.services.component_state import degraded, task_states
from graphtide.streams.consolidate import verification as recounting
from graphtide.streams.consolidate.maintenance_requests import MaintenanceKind, MaintenanceReply, MaintenanceRequest
from graphtide.streams.consolidate.stage import ConsolidateStage
from graphtide.streams.document_progress import DocumentProgress
from graphtide.streams.errors import Broken, BudgetExceeded, DeadlineExceeded, NotFound
from graphtide.streams.extract.stage import ExtractStage
from graphtide.streams.follow.progress import TokenWaiter
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DEAD_LETTERS, DELTAS, DOCUMENTS, EXTRACTIONS, DeltaNotice
from graphtide.streams.ports import GraphDeletion, GraphStore, Log, Position, Record

DELETED = "graph {graph!r} was deleted before it was processed; publish a document to create it again"


class Maintenance(Protocol):
    """The operations on the writers of an application's graphs."""

    @property
    def waiting(self) -> Mapping[tuple[str, str], str]:
        """Return by (graph, document) why an accepted revision waits, as far as this process knows."""
        ...

    def document_progress(self, graph: str, doc_id: str, revision: int) -> DocumentProgress | None:
        """Return the progress of an accepted revision that is large, as far as this process knows."""
        ...

    def refusal(self, graph: str, until: Sequence[Position] | None = None) -> BudgetExceeded | None:
        """Return the budget's refusal that delays a document of the graph (`ExtractStage.refusal`), as far as
        this process knows.
        """
        ...

    async def verify(self, view: LiveView) -> Verification: ...

    async def rebuild(self, view: LiveView) -> Rebuilt: ...

    async def purge(self) -> Purged: ...

    def health(self) -> Health: ...


@dataclass(frozen=True, slots=True)
class EmbeddedMaintenance:
    """Maintenance with the writers in this process. `notes` holds the reason why each stage waits, "" while it runs."""

    log: Log
    store: GraphStore
    views: ViewRegistry
    progress: TokenWaiter
    extract: ExtractStage
    consolidate: ConsolidateStage
    notes: dict[str, str]
    purger: Callable[[], Awaitable[Purged]]
    summarizing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while reports are written, so that no deleted content is stored during a purge."""
    damage: Damage = field(default_factory=Damage)

    @property
    def waiting(self) -> Mapping[tuple[str, str], str]:
        return self.extract.waiting

    def document_progress(self, graph: str, doc_id: str, revision: int) -> DocumentProgress | None:
        return self.extract.progress.of(graph, doc_id, revision)

    def refusal(self, graph: str, until: Sequence[Position] | None = None) -> BudgetExceeded | None:
        return self.extract.refusal(graph, until)

    async def verify(self, view: LiveView) -> Verification:
        with self.damage.noted(view.graph):
            async with self.consolidate.paused():
                view = self._present(view)
                found = await recounting.recount(self.store, view, self.consolidate.writer(view.graph))
        self.damage.note_differences(view.graph, found.differences)
        return Verification(view.graph, found.version, found.stored, found.recounted, found.differences, found.checked)

    async def rebuild(self, view: LiveView) -> Rebuilt:
        graph = view.graph
        async with self.consolidate.paused():
            view = self._present(view)
            _, before = await asyncio.to_thread(rows_of, view)
            with self.damage.noted(graph):
                snapshot = await recounting.build(self.store, graph, view.version + 1)
            await self.store.replace(snapshot)
            self.damage.repaired(graph)
            # Communities have new ids, and old ids may now denote others.
            named = [row.community for row in await self.store.reports(graph)]
            await self.store.save_reports(graph, [], named)
            self.consolidate.forget(graph)
            await self.views.replace(snapshot)
            notice = DeltaNotice(graph, snapshot.version, replaced=True)
            await self.log.append(DELTAS, [Record(graph, notice.encode())])
            self.progress.moved()
            was, now = await asyncio.to_thread(lambda: (digest_of(before), digest_of(snapshot)))
        return Rebuilt(graph, snapshot.version, was, now, True)

    async def purge(self) -> Purged:
        async with self.summarizing:
            return await self.purger()

    def _present(self, view: LiveView) -> LiveView:
        """Return the graph's current view: a rebuild may have replaced it while this call waited for the pause.

        Raises NotFound if the graph was deleted meanwhile.
        """
        present = self.views.get(view.graph)
        if present is None and view.graph not in self.views.damaged:
            raise NotFound(DELETED.format(graph=view.graph))
        return present or view

    def _forget_deleted(self) -> None:
        """Forget the damage of graphs that were deleted."""
        self.damage.keep(lambda graph: self.views.get(graph) is not None or graph in self.views.damaged)

    @property
    def stopped(self) -> Mapping[str, str]:
        """Return the reason why each stage is stopped, "" while it runs: its task waits, or one of its partitions."""
        troubles = self.consolidate.troubles
        return {**self.notes, "consolidate": next(iter(troubles.values()))} if troubles else self.notes

    def health(self) -> Health:
        self._forget_deleted()
        stopped = self.stopped
        components = task_states(stopped)
        if self.waiting:
            (graph, doc_id), reason = next(iter(self.waiting.items()))
            components["extract"] = degraded(
                f"{len(self.waiting)} documents wait, among them {doc_id!r} of graph {graph!r}: {reason}"
            )
        if maintenance := self.consolidate.maintenance:
            components["deletion"] = degraded(next(iter(maintenance.values())))
        components |= self.damage.components()
        return Health(not any(stopped.values()) and not self.damage, components)


Asked = asyncio.Future[MaintenanceReply]
ELSEWHERE = (
    "the graph database, the topics, and the other query replicas: run graphtide purge with the cluster's settings"
)


class ClusterMaintenance:
    """Maintenance with the writers in other processes. The follower calls `replied` for replies in `deltas`, in order.

    `notes` describes the tasks of this process, as above. A following process is ready: it answers from its views, even
    while broker or store are unreachable, and reports that.
    """

    def __init__(
        self,
        log: Log,
        views: ViewRegistry,
        notes: Mapping[str, str],
        timeout_s: float = 3600.0,
        purger: Callable[[], Awaitable[int]] | None = None,
    ) -> None:
        """Create the maintenance of a process. `purger` is called instead of the purge of the views."""
        self._log = log
        self._views = views
        self._purger = purger or views.purge
        self._notes = notes
        self._timeout_s = timeout_s
        self._asked: dict[str, Asked] = {}
        self.ready: Callable[[], bool] = lambda: True

    @property
    def waiting(self) -> Mapping[tuple[str, str], str]:
        return {}

    def document_progress(self, graph: str, doc_id: str, revision: int) -> DocumentProgress | None:
        return None

    def refusal(self, graph: str, until: Sequence[Position] | None = None) -> BudgetExceeded | None:
        return None

    async def verify(self, view: LiveView) -> Verification:
        """Verify a graph: the writer compares rows and kernels, this process its view, if it has the same version."""
        reply = await self._ask(view.graph, MaintenanceKind.VERIFY)
        checked = dict(reply.checked)
        return Verification(reply.graph, reply.version, reply.stored, reply.recounted, reply.differences, checked)

    async def rebuild(self, view: LiveView) -> Rebuilt:
        reply = await self._ask(view.graph, MaintenanceKind.REBUILD)
        await self._views.reach(reply.graph, reply.version)
        return Rebuilt(reply.graph, reply.version, reply.stored, reply.recounted, True)

    async def purge(self) -> Purged:
        """Purge the saved indexes of this process, and its copies of earlier commits. It owns nothing else."""
        indexes = await self._purger()
        return Purged({"indexes": indexes}, 0, 0, (ELSEWHERE,))

    async def replied(self, reply: MaintenanceReply) -> None:
        """Process a reply in `deltas`. A requested verification costs the whole graph, in a thread."""
        asked = self._asked.pop(reply.id, None)
        if asked is None or asked.done():
            return
        view = self._views.get(reply.graph)
        if reply.kind is MaintenanceKind.VERIFY and view is not None and not reply.failure:
            found = await asyncio.to_thread(recounting.view_differences, view, reply.version, reply.stored)
            lines = [f"queryable {line}" for line in found]
            reply = replace(reply, differences=(*reply.differences, *lines))
        asked.set_result(reply)

    async def _ask(self, graph: str, kind: MaintenanceKind) -> MaintenanceReply:
        request = MaintenanceRequest(graph, kind, uuid.uuid4().hex)
        asked = self._asked[request.id] = asyncio.get_running_loop().create_future()
        try:
            await self._log.append(EXTRACTIONS, [request.record()])
            async with asyncio.timeout(self._timeout_s):
                reply: MaintenanceReply = await asked
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"the writer of graph {graph!r} did not {kind} it in time; check that the consolidators run"
            ) from error
        finally:
            self._asked.pop(request.id, None)
        if reply.failure and self._views.get(graph) is None and graph not in self._views.damaged:
            raise NotFound(DELETED.format(graph=graph))
        if reply.failure:
            raise Broken(f"graph {graph!r}: {kind} failed: {reply.failure}")
        return reply

    def health(self) -> Health:
        return Health(self.ready(), task_states(self._notes))


async def request_deletion(log: Log, graph: str) -> GraphDeletion:
    """Request the deletion of a graph from its writer, durably: it covers every revision that was accepted before."""
    before, letters = dict(await log.end(DOCUMENTS)), dict(await log.end(DEAD_LETTERS))
    request = MaintenanceRequest(graph, MaintenanceKind.DELETE, uuid.uuid4().hex, before, letters)
    await log.append(EXTRACTIONS, [request.record()])
    return GraphDeletion(graph, before)


async def drop_deleted_indexes(indexes: IndexFolder, store: GraphStore) -> None:
    """Delete the saved indexes of graphs that were deleted while this process was down, or died."""
    await drop_deleted(indexes.saved(), indexes.drop, store)


async def drop_deleted(saved: Sequence[str], drop: Callable[[str], None], store: GraphStore) -> None:
    """Call `drop`, in a thread, with each graph of `saved` that was deleted."""
    existing = await store.graphs()
    for graph in await store.deletions([graph for graph in saved if graph not in existing]):
        await asyncio.to_thread(drop, graph)


def rows_of(view: LiveView) -> tuple[int, GraphDelta]:
    """Return the version of a view, and all its rows without vectors. Cost: the whole graph."""
    with view.lock.read():
        return view.version, view.rows()
