"""Guarantees of the graph database's adapters beyond the ports: atomic commits, one version, one writer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

import pytest

from graphtide.infra.bolt import BoltBackend, BoltVectorStore
from graphtide.infra.bolt.database import Transaction
from graphtide.infra.bolt.graph_store import store as store_module
from graphtide.streams.errors import Broken, Retryable
from graphtide.streams.messages import DOCUMENTS
from graphtide.streams.ports import (
    Commit,
    ConsumedRecord,
    GraphCommit,
    Position,
    Record,
    RevisionOutcome,
    RevisionState,
    StoredDocument,
)
from tests.model.memory import MemoryLog
from tests.model.memory.rows import Rows
from tests.support.bolt_stores import filled, through
from tests.support.neo4j_server import GraphServer
from tests.support.ports import free_port
from tests.support.proxy import Proxy
from tests.support.records import Walk, plain

COMMIT = b"\x00\x02\xb0\x12\x00\x00"
"""Bolt's COMMIT in its wire format."""


async def test_open_refuses_wrong_credentials_and_says_where_they_are_set(
    graph_server: GraphServer, log: MemoryLog
) -> None:
    """The error is Broken, so that no client retries in a loop; the password is not in the message."""
    if not graph_server.address.user:
        pytest.skip("this server asks for no credentials")
    with pytest.raises(Broken, match="bolt_user and bolt_password") as refused:
        await BoltBackend.open(replace(graph_server.address, password="not this one"), log)  # noqa: S106 - that is the point
    assert "not this one" not in str(refused.value)


async def test_open_gives_up_in_time_when_nobody_answers(
    wire: Proxy, graph_server: GraphServer, log: MemoryLog
) -> None:
    """A refused connection and a dead network are Retryable; the message names the address."""
    wire.stall()
    for uri in (f"bolt://127.0.0.1:{free_port()}", f"bolt://{wire.address}"):
        with pytest.raises(Retryable, match=uri):
            await BoltBackend.open(replace(graph_server.address, uri=uri, timeout_s=0.5), log)


async def test_open_refuses_a_schema_of_a_newer_version(backend: BoltBackend, graph_server: GraphServer) -> None:
    """Nothing is changed; the message names the remedy."""

    async def set_version(tx: Transaction, version: int) -> None:
        await tx.run("MATCH (s:Schema) SET s.version = $version", version=version)

    await backend.database.write(lambda tx: set_version(tx, 99))
    try:
        with pytest.raises(Broken, match="schema 99"):
            await BoltBackend.open(graph_server.address, backend.log)
    finally:
        await backend.database.write(lambda tx: set_version(tx, 1))


@pytest.mark.thorough
@pytest.mark.parametrize("arrives", [True, False])
async def test_commit_of_unknown_outcome_is_settled_by_the_watermark(
    arrives: bool, wire: Proxy, graph_server: GraphServer, backend: BoltBackend
) -> None:
    """The connection is lost exactly on COMMIT, before or after the server has it: applied once, either way."""
    remote = await BoltBackend.open(through(wire, graph_server), backend.log, backend.clock_ms)
    walk = Walk(Random(3))
    watermark, fold = await filled(remote, walk, 3)
    revision = await _numbered(backend, "g|a")
    seen: list[bytes] = []

    def cut(data: bytes) -> bool:
        if COMMIT not in data or seen:
            return False
        seen.append(data)
        if arrives:
            wire.drop_answers()
        return not arrives

    delta = walk.delta()
    fold.apply(delta)
    outcome, notice = RevisionOutcome("g", "a", revision, RevisionState.APPLIED), Record("g", b"n")
    part = GraphCommit(delta, {"a": StoredDocument(0, b"x")})
    wire.on_bytes = cut
    await remote.store.commit(Commit(0, watermark, watermark.next_offset + 1, (part,), (outcome,), (notice,)))
    assert len(seen) == 1
    assert plain(await backend.store.snapshot("g")) == plain(fold.snapshot())
    assert [record for _, record in await backend.store.outbox.waiting(0, 9)] == [notice]
    assert (await backend.ledger.counts("g"))[RevisionState.APPLIED] == 1
    assert (await backend.store.claim(0)).next_offset == watermark.next_offset + 1
    await remote.close()


async def test_commit_is_retryable_when_the_database_stays_away(
    wire: Proxy, graph_server: GraphServer, backend: BoltBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes after bounded attempts; nothing has changed, and the commit succeeds after recovery."""
    monkeypatch.setattr("graphtide.infra.bolt.database.FIRST_WAIT_S", 0.001)
    remote = await BoltBackend.open(through(wire, graph_server), backend.log, backend.clock_ms)
    watermark = await remote.store.claim(0)
    commit = Commit(0, watermark, 1, (GraphCommit(Walk(Random(1)).delta(), {}),), ())
    wire.refuse()
    with pytest.raises(Retryable):
        await remote.store.commit(commit)
    assert await backend.store.graphs() == {}
    wire.resume()
    await remote.store.commit(commit)
    assert await backend.store.graphs() == {"g": 1}
    await remote.close()


async def _numbered(backend: BoltBackend, document: str) -> int:
    """Return the number of a revision that was accepted and seen by extraction."""
    [position] = await backend.ledger.accept([Record(document, b"")])
    [number] = await backend.ledger.register([ConsumedRecord(position, 1, Record(document, b""))])
    return number


async def test_rivals_for_one_offset_commit_once(backend: BoltBackend) -> None:
    """Several commits with the same watermark run at the same time: one succeeds, the others are fenced."""
    watermark = await backend.store.claim(0)
    commits = [Commit(0, watermark, 1, (GraphCommit(Walk(Random(seed)).delta(), {}),), ()) for seed in range(5)]
    ended = await asyncio.gather(*(backend.store.commit(one) for one in commits), return_exceptions=True)
    assert sorted(type(one).__name__ for one in ended) == ["Fenced"] * 4 + ["NoneType"], ended
    assert await backend.store.graphs() == {"g": 1}


@pytest.mark.thorough
async def test_partitions_commit_beside_each_other(backend: BoltBackend, log: MemoryLog) -> None:
    """Writers of several partitions, with graphs of their own, share one ledger: no commit blocks or is lost."""
    walks = {partition: Walk(Random(partition), f"g{partition}") for partition in range(3)}
    folds = {partition: Rows(f"g{partition}") for partition in walks}
    positions = await backend.ledger.accept([Record(f"g{i % 3}|d{i}", b"") for i in range(30)])
    assert {position.partition for position in positions} == {0, 1, 2}
    delivered = [ConsumedRecord(at, 1, Record(f"g{i % 3}|d{i}", b"")) for i, at in enumerate(positions)]
    numbers = await backend.ledger.register(delivered)

    async def run(partition: int) -> None:
        watermark = await backend.store.claim(partition)
        mine = [i for i in range(30) if i % 3 == partition]
        for step, i in enumerate(mine):
            delta = walks[partition].delta()
            folds[partition].apply(delta)
            outcome = RevisionOutcome(f"g{partition}", f"d{i}", numbers[i], RevisionState.APPLIED)
            notices = tuple(Record(f"g{partition}", b"%d" % n) for n in (2 * step, 2 * step + 1))
            await backend.store.commit(
                Commit(partition, watermark, step + 1, (GraphCommit(delta, {}),), (outcome,), notices)
            )
            watermark = replace(watermark, next_offset=step + 1)

    await asyncio.gather(*(run(partition) for partition in walks))
    for partition, fold in folds.items():
        assert plain(await backend.store.snapshot(f"g{partition}")) == plain(fold.snapshot())
        assert (await backend.ledger.counts(f"g{partition}"))[RevisionState.APPLIED] == 10
        assert await backend.ledger.pending(f"g{partition}") == 0


async def test_outbox_hands_out_in_order_until_sent(backend: BoltBackend) -> None:
    """Numbers span commits, headers and tombstones are kept, partitions are separate; a restart loses nothing."""
    notices = [Record("g", b"%d" % i if i % 3 else None, (("h", b"\0\xff"), ("h", b""))) for i in range(25)]
    for partition in (0, 1):
        watermark = await backend.store.claim(partition)
        for at in range(0, 25, 5):
            await backend.store.commit(
                Commit(partition, watermark, watermark.next_offset, (), (), tuple(notices[at : at + 5]))
            )
    found = await backend.store.outbox.waiting(0, 7)
    assert [record for _, record in found] == notices[:7]
    assert [number for number, _ in found] == sorted({number for number, _ in found})
    await backend.store.outbox.sent(0, found[-1][0])
    await backend.store.outbox.settle(0)
    again = await BoltBackend.open(backend.database.address, backend.log, backend.clock_ms)
    assert [record for _, record in await again.store.outbox.waiting(0, 99)] == notices[7:]
    assert [record for _, record in await again.store.outbox.waiting(1, 99)] == notices
    await again.close()


@pytest.mark.thorough
async def test_snapshot_is_of_one_version_while_a_rival_writes(backend: BoltBackend) -> None:
    """Every snapshot taken beside a busy writer equals the fold of the deltas up to the version it names."""
    seed = 8
    print(f"seed {seed}")
    walk = Walk(Random(seed))
    claimed, fold = await filled(backend, walk, 2)
    snapshots = {2: plain(fold.snapshot())}
    rival = await BoltBackend.open(backend.database.address, backend.log, backend.clock_ms)
    done = asyncio.Event()

    async def write() -> None:
        watermark = claimed
        for _ in range(25):
            delta = walk.delta()
            fold.apply(delta)
            snapshots[delta.version] = plain(fold.snapshot())
            await rival.store.commit(Commit(0, watermark, watermark.next_offset + 1, (GraphCommit(delta, {}),), ()))
            watermark = replace(watermark, next_offset=watermark.next_offset + 1)
        done.set()

    writing = asyncio.create_task(write())
    versions = []
    while not done.is_set():
        found = await backend.store.snapshot("g")
        versions.append(found.version)
        assert plain(found) == snapshots[found.version]
    await writing
    assert versions == sorted(versions) and len(versions) >= 2
    await rival.close()


async def test_snapshot_makes_the_writer_wait_when_it_never_gets_through(
    backend: BoltBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no optimistic read allowed it reads under the lock: the concurrent commit comes before it or after it."""
    monkeypatch.setattr(store_module, "OPTIMISTIC_READS", 0)
    walk = Walk(Random(2))
    watermark, fold = await filled(backend, walk, 3)
    before, delta = plain(fold.snapshot()), walk.delta()
    fold.apply(delta)
    commit = backend.store.commit(Commit(0, watermark, watermark.next_offset + 1, (GraphCommit(delta, {}),), ()))
    found, _ = await asyncio.gather(backend.store.snapshot("g"), commit)
    assert plain(found) in (before, plain(fold.snapshot()))


async def test_ledger_is_healed_by_enter_when_accept_died_between_its_steps(
    backend: BoltBackend, log: MemoryLog
) -> None:
    """The record is in `documents` and unknown to the ledger; extraction reads it and enters it, once."""
    await log.append(DOCUMENTS, [Record("g|a", b"text")])
    assert await backend.ledger.latest("g", "a") is None
    [delivered] = await log.consumer(DOCUMENTS, "x").poll(5, 0)
    await asyncio.gather(*(backend.ledger.register([delivered]) for _ in range(5)))
    entry = await backend.ledger.latest("g", "a")
    assert entry is not None and entry.position == delivered.position
    assert await backend.ledger.pending("g") == 1


async def test_ledger_counts_one_end_when_rivals_conclude(backend: BoltBackend) -> None:
    """Several processes end the same revisions differently at once: each has one end, and the totals agree."""
    entered = [ConsumedRecord(Position(0, i), 1, Record(f"g|d{i}", b"")) for i in range(20)]
    numbers = list(enumerate(await backend.ledger.register(entered)))
    ends = [RevisionState.APPLIED, RevisionState.FAILED, RevisionState.SUPERSEDED, RevisionState.DELETED]
    await asyncio.gather(
        *(backend.ledger.finish([RevisionOutcome("g", f"d{i}", number, end) for i, number in numbers]) for end in ends)
    )
    counts = await backend.ledger.counts("g")
    assert sum(counts.values()) == 20 and counts[RevisionState.ACCEPTED] == 0
    states = [entry.state for i in range(20) if (entry := await backend.ledger.latest("g", f"d{i}"))]
    assert {state: states.count(state) for state in RevisionState} == dict(counts)


async def test_ledger_keeps_revisions_of_one_number_apart(backend: BoltBackend) -> None:
    """Offsets repeat over partitions: documents that share one, and ids with the key's separator, do not mix."""
    keys = ["g|a", "g|1/a", "g|a/1", "g|é|x"]
    entered = [ConsumedRecord(Position(i, 1), 1, Record(key, b"")) for i, key in enumerate(keys)]
    numbers = await backend.ledger.register(entered)
    await backend.ledger.finish([RevisionOutcome("g", "1/a", numbers[1], RevisionState.FAILED, "why")])
    found = [await backend.ledger.latest("g", key.partition("|")[2]) for key in keys]
    assert [entry and (entry.position.partition, entry.state) for entry in found] == [
        (0, RevisionState.ACCEPTED),
        (1, RevisionState.FAILED),
        (2, RevisionState.ACCEPTED),
        (3, RevisionState.ACCEPTED),
    ]


async def test_memo_is_shared_and_gives_back_the_bytes_it_took(backend: BoltBackend) -> None:
    """Another process sees the entries of the first; tables do not mix; unknown keys are left out."""
    rng = Random(9)
    items = {rng.randbytes(32): rng.randbytes(rng.choice((0, 1, 1536))) for _ in range(40)}
    ours, theirs, other = (backend.vectors("memo"), BoltVectorStore(backend.database, "memo"), backend.vectors("other"))
    await asyncio.gather(ours.put_many(items), theirs.put_many(dict(list(items.items())[:20])))
    assert await theirs.get_many([*items, b"x" * 32]) == items
    assert await other.get_many(list(items)) == {} == await ours.get_many([])
    await ours.put_many({})


async def test_memo_keeps_what_is_used_and_forgets_the_rest_when_it_is_full(backend: BoltBackend) -> None:
    """A key that is read between puts is never evicted; of the others at most `capacity` are left."""
    memo = backend.vectors("memo", capacity=20)
    keys = [b"%032d" % i for i in range(100)]
    await memo.put_many({b"used": b"value"})
    for at in range(0, 100, 5):
        await memo.put_many(dict.fromkeys(keys[at : at + 5], b"v"))
        assert await memo.get_many([b"used"]) == {b"used": b"value"}
    left = await memo.get_many(keys)
    assert 5 <= len(left) <= 20 and set(left) == set(keys[-len(left) :])


@pytest.mark.thorough
async def test_store_holds_what_it_committed_when_the_server_is_killed(
    backend: BoltBackend, graph_server: GraphServer
) -> None:
    """After kill -9 and a restart: same rows, same watermark, same ledger, same outbox; the client reconnects."""
    walk = Walk(Random(31))
    watermark, fold = await filled(backend, walk, 4)
    await backend.ledger.accept([Record("g|a", b"")])
    await backend.store.commit(Commit(0, watermark, watermark.next_offset, (), (), (Record("g", b"n"),)))
    await asyncio.to_thread(graph_server.kill)
    await asyncio.to_thread(graph_server.restart)
    assert plain(await backend.store.snapshot("g")) == plain(fold.snapshot())
    assert await backend.ledger.pending("g") == 1
    assert [record for _, record in await backend.store.outbox.waiting(0, 9)] == [Record("g", b"n")]
    delta = walk.delta()
    await backend.store.commit(Commit(0, watermark, watermark.next_offset + 1, (GraphCommit(delta, {}),), ()))
    assert (await backend.store.claim(0)).next_offset == watermark.next_offset + 1
