"""The change log: deltas and the rows that they overwrote lead from each retained version to the others, and back."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graphtide.graph.changes.summary import ChangeSummary, summarise
from graphtide.graph.changes.tables import RowTables
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import digest
from graphtide.graph.identity import entity_id, relation_id
from graphtide.graph.records import DocumentChange, EntityRow, Extraction, GraphDelta
from graphtide.infra.index_folder import IndexFolder
from graphtide.infra.sqlite import SqliteBackend
from graphtide.infra.sqlite.changes import log
from graphtide.streams.changes.change_log import ChangeRecord, ChangeRetention, encode_forward
from graphtide.streams.changes.changed_document import ChangedDocument
from graphtide.streams.changes.recent import RecentChanges
from graphtide.streams.consolidate.partitions.dependencies import Announce
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.ports import (
    Commit,
    GraphCommit,
    Overwritten,
    RevisionOutcome,
    RevisionState,
    StoredDocument,
    Watermark,
)
from tests.support.backends import Backend, Clock
from tests.support.extractions import random_extraction
from tests.support.records import Walk, plain

SEED = 20_261_122
GRAPH = "g"


class Writer:
    """The writer of one graph: random documents, committed one batch at a time."""

    def __init__(
        self, backend: Backend, seed: int, overwritten: Overwritten | None = None, announce: Announce | None = None
    ) -> None:
        self.rng = random.Random(seed)
        self.model = Consolidator(GRAPH)
        self._backend = backend
        self._overwritten = overwritten
        self._announce = announce
        self.documents: list[tuple[ChangedDocument, ...]] = []
        self._live: dict[str, Extraction] = {}
        self._watermark = Watermark(0, 0)
        self._revision = 0

    async def commit(self) -> GraphDelta:
        """Insert, edit or delete one to three documents in one commit."""
        if not self._watermark.epoch:
            self._watermark = await self._backend.store.claim(0)
        names = [f"d{number}" for number in range(12)]
        changes, outcomes, stored = [], [], {}
        for name in self.rng.sample(names, self.rng.randint(1, 3)):
            self._revision += 1
            old = self._live.pop(name, None)
            new = None if self.rng.random() < 0.3 else random_extraction(self.rng, name, self._revision, old)
            if new is not None:
                self._live[name] = new
            changes.append(DocumentChange(name, old, new))
            state = RevisionState.DELETED if new is None else RevisionState.APPLIED
            outcomes.append(RevisionOutcome(GRAPH, name, self._revision, state))
            stored[name] = StoredDocument(self._revision, None)
        delta = self.model.apply([change for change in changes if change.old or change.new])
        after = Watermark(self._watermark.epoch, self._watermark.next_offset + 1)
        part = GraphCommit(delta, stored)
        ends = tuple(outcomes)
        notices = self._announce(delta, ends) if self._announce else ()
        await self._backend.store.commit(
            Commit(0, self._watermark, after.next_offset, (part,), ends, notices, self._overwritten)
        )
        self.documents.append(tuple(ChangedDocument(each.doc_id, each.revision, each.state) for each in ends))
        self._watermark = after
        return delta


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    opened = await SqliteBackend.open(tmp_path)
    yield opened
    await opened.close()


def tables_of(snapshot: GraphDelta) -> RowTables:
    """Return the tables of a snapshot."""
    tables = RowTables(snapshot.graph)
    tables.apply(snapshot)
    return tables


def named(snapshot: GraphDelta) -> tuple[dict[str, tuple[str, int]], set[str]]:
    """Return the entities (name and mentions by public id) and the ids of relations of a snapshot."""
    labels = {row.label: row for row in snapshot.labels}
    ids = {row.node: entity_id((labels[n].name, labels[n].type) for n in row.labels) for row in snapshot.entities}
    entities = {ids[row.node]: (row.name, row.mentions) for row in snapshot.entities}
    ends = [(ids[labels[s.subject].node], s.predicate, ids[labels[s.object].node]) for s in snapshot.statements]
    return entities, {relation_id(*end) for end in ends}


async def test_records_lead_back_and_forth_between_all_versions(backend: SqliteBackend) -> None:
    """From the newest rows, each record gives the rows of the version before, vectors included; forward the digest."""
    print("seed", SEED)
    writer, stored = Writer(backend, SEED), [await backend.store.snapshot(GRAPH)]
    for _ in range(40):
        await writer.commit()
        stored.append(await backend.store.snapshot(GRAPH))
    records = await backend.changes.read(GRAPH, 0, 100)
    assert [record.version for record in records] == list(range(1, 41))
    back, forward = tables_of(stored[-1]), RowTables(GRAPH)
    for record, snapshot in zip(records, stored[1:], strict=True):
        forward.apply(record.delta())
        assert digest(forward.snapshot()) == digest(snapshot)
    for record, snapshot in zip(reversed(records), stored[-2::-1], strict=True):
        back.revert(record.delta(), record.old_rows().rows)
        assert_equal(back, snapshot)


def assert_equal(tables: RowTables, snapshot: GraphDelta) -> None:
    """Compare all rows with their vectors, apart from sums, versions and the next community, which views do not use."""
    expected = tables_of(snapshot)
    for kind in ("documents", "mentions", "evidence", "same_as", "edges", "members", "communities"):
        assert getattr(tables, kind) == getattr(expected, kind), kind
    for kind in ("chunks", "statements", "entities"):
        ours, theirs = getattr(tables, kind), getattr(expected, kind)
        assert ours.keys() == theirs.keys()
        for key, row in ours.items():
            assert plain(row.vector) == plain(theirs[key].vector)
    assert digest(tables.snapshot()) == digest(snapshot)


async def test_replica_records_what_its_views_apply(backend: SqliteBackend, tmp_path: Path) -> None:
    """The log of a replica's views leads back through the same versions as that of the writer; a reload empties it."""
    print("seed", SEED + 6)
    views = ViewRegistry(IndexFolder(tmp_path / "indexes"))
    changes = views.recorder = RecentChanges(views, backend.ledger, ChangeRetention(commits=20))
    writer, stored = Writer(backend, SEED + 6), [await backend.store.snapshot(GRAPH)]
    for _ in range(25):
        await views.follow(await writer.commit())
        stored.append(await backend.store.snapshot(GRAPH))
    view = views.get(GRAPH)
    assert view is not None
    back, records = tables_of(view.rows(vectors=True)), await changes.read(GRAPH, 0, 100)
    assert [record.version for record in records] == list(range(6, 26))
    assert (await changes.first(GRAPH), await changes.last(GRAPH)) == (5, 25)
    for record, snapshot in zip(reversed(records), stored[-2::-1], strict=False):
        back.revert(record.delta(), record.old_rows().rows)
        assert_equal(back, snapshot)
    [theirs] = await backend.changes.read(GRAPH, 24, 1)
    [ours] = await changes.read(GRAPH, 24, 1)
    assert summarise(ours.delta(), *_old(ours)) == summarise(theirs.delta(), *_old(theirs))
    await views.follow(await backend.store.snapshot(GRAPH))  # it shows that version already
    assert await changes.last(GRAPH) == 25
    await writer.commit()
    await views.follow(await backend.store.snapshot(GRAPH))
    assert (await changes.first(GRAPH), await changes.read(GRAPH, 0, 100)) == (26, [])
    await views.close()


def _old(record: ChangeRecord) -> tuple[GraphDelta, tuple[EntityRow, ...]]:
    old = record.old_rows()
    return old.rows, old.context


async def test_summaries_are_the_differences_between_versions(backend: SqliteBackend) -> None:
    """Added, changed and removed entities are those that a comparison of the two snapshots finds; so are relations."""
    print("seed", SEED + 1)
    writer, before = Writer(backend, SEED + 1), await backend.store.snapshot(GRAPH)
    merged = split = 0
    for version in range(1, 41):
        await writer.commit()
        after = await backend.store.snapshot(GRAPH)
        [record] = await backend.changes.read(GRAPH, version - 1, 1)
        old = record.old_rows()
        found = summarise(record.delta(), old.rows, old.context)
        check_summary(found, before, after)
        merged, split, before = merged + len(found.merges), split + len(found.splits), after
        states = {document.id: document.state for document in record.documents}
        assert all((state == "deleted") == (name not in live(after)) for name, state in states.items())
    assert merged and split


def live(snapshot: GraphDelta) -> set[str]:
    return {row.doc_id for row in snapshot.documents}


def check_summary(found: ChangeSummary, before: GraphDelta, after: GraphDelta) -> None:
    """Compare a summary with the two snapshots."""
    (old, old_relations), (new, new_relations) = named(before), named(after)
    assert {each.id: (each.name, each.mentions) for each in found.entities.added} == {
        ident: entity for ident, entity in new.items() if ident not in old
    }
    assert {each.id for each in found.entities.removed} == old.keys() - new.keys()
    differing = {ident for ident in old.keys() & new.keys() if old[ident] != new[ident]}
    assert {each.id for each in found.entities.changed} >= differing
    assert {each.id for each in found.relations.added} <= new_relations
    assert {each.id for each in found.relations.removed} <= old_relations
    if not found.merges and not found.splits and old.keys() == new.keys():
        assert {each.id for each in found.relations.added} >= new_relations - old_relations
        assert {each.id for each in found.relations.removed} >= old_relations - new_relations
    for merge in found.merges:
        assert merge.into in new and set(merge.sources) <= old.keys() and len(merge.sources) > 1
        assert merge.evidence
    for division in found.splits:
        assert division.source in old and set(division.into) <= new.keys() and len(division.into) > 1


async def test_any_rows_survive_the_way_back(backend: SqliteBackend) -> None:
    """Rows of every kind with awkward texts, and numbers reused in the delta that frees them, are restored."""
    print("seed", SEED + 2)
    walk, watermark = Walk(random.Random(SEED + 2), GRAPH), await backend.store.claim(0)
    stored = [await backend.store.snapshot(GRAPH)]
    for step in range(25):
        commit = Commit(0, Watermark(watermark.epoch, step), step + 1, (walk.commit(step),), ())
        await backend.store.commit(commit)
        stored.append(await backend.store.snapshot(GRAPH))
    records = await backend.changes.read(GRAPH, 0, 100)
    back = tables_of(stored[-1])
    for record, snapshot in zip(reversed(records), stored[-2::-1], strict=True):
        back.revert(record.delta(), record.old_rows().rows)
        expected_rows = tables_of(snapshot)
        for kind in ("documents", "mentions", "evidence", "same_as", "edges", "members", "communities"):
            assert getattr(back, kind) == getattr(expected_rows, kind), (record.version, kind)


@pytest.mark.parametrize(
    ("retention", "kept"),
    [
        (ChangeRetention(commits=5), 5),
        (ChangeRetention(age_s=0.004), 5),
        (ChangeRetention(size_bytes=1), 1),
        (ChangeRetention(commits=0), 0),
    ],
)
async def test_retention_is_kept_at_every_commit(tmp_path: Path, retention: ChangeRetention, kept: int) -> None:
    """The log holds the newest commits within the limits; a reader that needs older ones learns where it begins."""
    clock = Clock()
    backend = await SqliteBackend.open(tmp_path, clock, retention=retention)
    writer = Writer(backend, SEED + 3)
    for _ in range(15):
        clock.now_ms += 1
        await writer.commit()
    found = await backend.changes.read(GRAPH, 0, 100)
    assert [record.version for record in found] == list(range(16 - kept, 16))
    assert (await backend.changes.first(GRAPH), await backend.changes.last(GRAPH)) == (15 - kept, 15)
    await backend.close()


async def test_rebuild_begins_the_log_anew(backend: SqliteBackend) -> None:
    """A rebuilt graph has new numbers: its record says so, and nothing before it is retained."""
    writer = Writer(backend, SEED + 4)
    for _ in range(3):
        await writer.commit()
    snapshot = await backend.store.snapshot(GRAPH)
    await backend.store.replace(GraphDelta(GRAPH, 4, documents=snapshot.documents, snapshot=True))
    [record] = await backend.changes.read(GRAPH, 0, 10)
    assert (record.version, record.replaced, await backend.changes.first(GRAPH)) == (4, True, 3)


async def test_reader_that_waits_is_woken_by_a_commit(backend: SqliteBackend) -> None:
    """A wait ends with the next commit of its graph, and at once when there is one already."""
    writer = Writer(backend, SEED + 5)
    waiting = asyncio.create_task(backend.changes.wait(GRAPH, 0))
    await asyncio.sleep(0)
    assert not waiting.done()
    await writer.commit()
    await waiting
    await backend.changes.wait(GRAPH, 0)
    assert await backend.changes.version_of(GRAPH, {0: 100}) == 1
    assert await backend.changes.version_of(GRAPH, {0: 0}) == 0


@pytest.mark.parametrize(("large", "thread"), [(True, "asyncio"), (False, "graphtide-writer")])
async def test_large_delta_is_encoded_before_its_transaction(
    large: bool, thread: str, backend: SqliteBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All other writes of the process wait for the transaction. A small delta is not worth another thread."""
    threads: list[str] = []

    def encode(delta: GraphDelta) -> bytes:
        threads.append(threading.current_thread().name)
        return encode_forward(delta)

    monkeypatch.setattr(log, "encode_forward", encode)
    monkeypatch.setattr(log, "LARGE_ROWS", 0 if large else 1 << 30)
    delta = await Writer(backend, SEED).commit()
    [record] = await backend.changes.read(GRAPH, 0, 10)
    assert record.forward == encode_forward(delta)
    assert [name.split("_")[0] for name in threads] == [thread]
