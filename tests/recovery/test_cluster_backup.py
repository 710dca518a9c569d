"""Backup and restore of a graph database: one cut beside a writer, equal digests, consumption from its watermark."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from neo4j import GraphDatabase

from graphtide.graph.digest import digest, has_digest
from graphtide.graph.records import GraphDelta
from graphtide.infra.bolt import BoltAddress, BoltBackend
from graphtide.infra.bolt.administration.backup import NODES, backup, restore
from graphtide.streams.clock import now_ms
from graphtide.streams.consolidate.stage import ConsolidateSettings, ConsolidateStage
from graphtide.streams.errors import Broken
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.ports import Record
from tests.model.memory import MemoryLog
from tests.support.backends import BoltParts
from tests.support.neo4j_server import GraphServer, clear
from tests.support.old_data import RECORDINGS
from tests.support.stages import Seen, extract_stage, running

GRAPH = "g"


def _record(number: int) -> Record:
    text = f"Person {number % 7} met Person {number % 5} in Lisbon. Meeting {number}."
    one = DocumentMessage(GRAPH, f"d{number % 20}", text)
    return Record(one.key, one.encode())


async def _ignore(_: object) -> None:
    """Return the followers: none."""


@asynccontextmanager
async def _stages(address: BoltAddress, log: MemoryLog) -> AsyncIterator[BoltParts]:
    backend = await BoltBackend.open(address, log)
    try:
        parts = BoltParts(backend, log)
        settings = ConsolidateSettings(batch_size=2, outbox=parts.store.outbox)
        consolidate = ConsolidateStage(log, parts.store, _ignore, Seen(), settings)
        async with running(extract_stage(parts).run), running(consolidate.run):
            yield parts
    finally:
        await backend.close()


async def _settled(parts: BoltParts) -> None:
    async with asyncio.timeout(300):
        while await parts.ledger.pending(GRAPH):  # noqa: ASYNC110 -- storage sets no event
            await asyncio.sleep(0.02)


async def _rows(address: BoltAddress) -> Mapping[str, GraphDelta]:
    backend = await BoltBackend.open(address, MemoryLog(1, now_ms))
    try:
        return {graph: await backend.store.snapshot(graph) for graph in await backend.store.graphs()}
    finally:
        await backend.close()


async def _digests(address: BoltAddress) -> Mapping[str, tuple[int, str]]:
    return {graph: (rows.version, digest(rows)) for graph, rows in (await _rows(address)).items()}


async def _history(address: BoltAddress) -> str:
    backend = await BoltBackend.open(address, MemoryLog(1, now_ms))
    try:
        return await backend.history()
    finally:
        await backend.close()


async def _is_as_recorded(address: BoltAddress) -> bool:
    """Return True if the graphs have the versions and digests of the recording, in the construction of that time."""
    rows, recorded = await _rows(address), RECORDINGS[-1].expected["cluster"]
    return rows.keys() == recorded.keys() and all(
        rows[graph].version == version and has_digest(rows[graph], wanted)
        for graph, (version, wanted) in recorded.items()
    )


class _Untrimmed(MemoryLog):
    """A log that keeps consumed records, as Kafka does until retention ends."""

    async def trim(self, topic: str, before: object) -> None:
        """Trim nothing."""


@pytest.mark.thorough
async def test_backup_beside_a_writer_is_one_cut_and_the_log_brings_it_up_to_date(
    graph_server: GraphServer, tmp_path: Path
) -> None:
    """The restored digests are those of the manifest; from its watermark on the log leads to the same graph."""
    clear(graph_server.address)
    log = _Untrimmed(1, now_ms)
    async with _stages(graph_server.address, log) as parts:
        await parts.ledger.accept([_record(number) for number in range(15)])
        while not await parts.store.graphs():  # noqa: ASYNC110 -- no event to wait for
            await asyncio.sleep(0.02)
        more = asyncio.create_task(parts.ledger.accept([_record(number) for number in range(15, 40)]))
        manifest = await backup(graph_server.address, tmp_path / "backup")
        await more
        await _settled(parts)
        rows = await parts.store.snapshot(GRAPH)
        final = digest(rows)
    assert manifest.graphs[GRAPH].version < rows.version, "the backup was made beside the writer"
    restored = await restore(graph_server.address, tmp_path / "backup", force=True)
    assert restored == manifest
    wanted = {graph: (state.version, state.digest) for graph, state in manifest.graphs.items()}
    assert await _digests(graph_server.address) == wanted
    async with _stages(graph_server.address, log) as parts:
        async with asyncio.timeout(300):
            while digest(await parts.store.snapshot(GRAPH)) != final:  # noqa: ASYNC110 -- no event to wait for
                await asyncio.sleep(0.1)
    clear(graph_server.address)


@pytest.mark.thorough
async def test_restored_graph_database_equals_the_one_that_was_backed_up(
    graph_server: GraphServer, tmp_path: Path
) -> None:
    """With recorded data: digests, extractions, ledger and watermarks; a database with data in it needs --force."""
    address, old = graph_server.address, RECORDINGS[-1]
    old.load(address)
    before, history = await _digests(address), await _history(address)
    assert await _history(address) == history
    manifest = await backup(address, tmp_path / "backup")
    with pytest.raises(Broken, match="--force"):
        await restore(address, tmp_path / "backup")
    clear(address)
    await restore(address, tmp_path / "backup")
    assert await _digests(address) == before
    assert await _is_as_recorded(address)
    assert await _history(address) != history, "replicas would use what they saved before the restore"
    again = await backup(address, tmp_path / "again")
    assert (again.graphs, again.watermarks) == (manifest.graphs, manifest.watermarks)
    backend = await BoltBackend.open(address, MemoryLog(1, now_ms))
    assert {doc_id async for doc_id, _ in backend.store.extractions("fixture")} >= {"ada", "facts"}
    latest = await backend.ledger.latest("fixture", "broken")
    assert latest is not None and latest.state == "failed"
    await backend.close()
    clear(address)


@pytest.mark.thorough
async def test_unfinished_restore_is_refused_by_every_process(graph_server: GraphServer, tmp_path: Path) -> None:
    """A restore that stopped half-way leaves a mark; the message names the command; repeated, it succeeds."""
    address = graph_server.address
    RECORDINGS[-1].load(address)
    await _digests(address)
    await backup(address, tmp_path / "backup")

    def stop(about: str, done: int, _total: int) -> None:
        if about == "relationships" and done:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        await restore(address, tmp_path / "backup", force=True, on_progress=stop)
    with pytest.raises(Broken, match="graphtide restore again, with --force"):
        await _digests(address)
    await restore(address, tmp_path / "backup", force=True)
    assert await _is_as_recorded(address)
    with GraphDatabase.driver(address.uri, auth=(address.user, address.password)) as driver, driver.session() as one:
        assert one.run("MATCH (n:Restored) RETURN count(*) AS left").single(strict=True)["left"] == 0
    (tmp_path / "backup" / NODES).write_bytes(b"")
    with pytest.raises(Broken, match="manifest"):
        await restore(address, tmp_path / "backup", force=True)
    clear(address)
