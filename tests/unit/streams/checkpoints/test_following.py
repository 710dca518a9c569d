"""A follower that starts from checkpoints: whatever it missed, wherever it was stopped, it has the stored graphs."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from graphtide.infra.checkpoints.folder import FILE
from graphtide.streams.changes.purge_marker import mark_purge
from graphtide.streams.checkpoints.view_checkpoints import MIN_MISSED
from graphtide.streams.errors import Retryable
from graphtide.streams.follow import delta_follower
from graphtide.streams.follow.delta_follower import DeltaFollower
from graphtide.streams.follow.delta_records import full_records
from graphtide.streams.messages import DELTAS
from graphtide.streams.ports import Commit, ConsumedRecord, GraphCommit, Position, Record
from tests.model.memory import MemoryBackend, MemoryOutbox
from tests.support.checkpoint_replica import GRAPHS, CountingStore, Replica, Writers
from tests.support.stages import eventually


@pytest.fixture
async def backend() -> MemoryBackend:
    return MemoryBackend(len(GRAPHS), outbox=MemoryOutbox())


@pytest.fixture
def writers(backend: MemoryBackend) -> Writers:
    print("seed 21")
    return Writers(backend, random.Random(21))


@pytest.fixture
def replica(backend: MemoryBackend, tmp_path: Path) -> Replica:
    return Replica(backend, tmp_path)


async def saved(writers: Writers, replica: Replica) -> None:
    """Commit ten versions of a graph, and save a replica at the tenth, which then ends."""
    await writers.steps(10)
    async with replica.started():
        await replica.views.save()


async def test_start_reads_the_changes_since_the_checkpoint_and_no_snapshot(writers: Writers, replica: Replica) -> None:
    """Thirty versions were missed: at the end of the start the view has them, and nothing was read from the store."""
    for graph in GRAPHS:
        await writers.steps(10, graph)
    async with replica.started():
        await replica.views.save()
    await writers.steps(30)
    store = CountingStore(writers.backend)
    async with replica.started():
        assert await replica.current() and not store.read and not replica.follower.reloads
        await writers.steps(5, "g1")
        await replica.check()


async def test_start_that_fails_saves_nothing_that_the_next_one_would_misread(
    writers: Writers, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends amid the missed versions and saves its views, as every process does: the next start continues there."""
    await saved(writers, replica)
    await writers.steps(20)
    take, left = DeltaFollower._take, 25

    async def failing(self: DeltaFollower, delivered: ConsumedRecord) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise Retryable("the store is unreachable")
        await take(self, delivered)

    monkeypatch.setattr(DeltaFollower, "_take", failing)
    with pytest.raises(Retryable):
        async with replica.started():
            raise AssertionError("the start should fail")
    assert 10 < replica.views.version("g0") < 30
    await replica.views.save()
    store = CountingStore(writers.backend)
    async with replica.started():
        assert await replica.current() and not store.read and not replica.follower.reloads
        await replica.check()


async def test_start_without_missed_versions_reads_no_record(
    writers: Writers, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All graphs are as they were saved: the log is read from its end, also where it kept nothing of the time since."""
    await saved(writers, replica)
    await writers.backend.log.append(DELTAS, [Record("elsewhere", b"x", (), number) for number in range(3)])
    for number, end in (await writers.backend.log.end(DELTAS)).items():
        await writers.backend.log.trim(DELTAS, Position(number, end))
    taken: list[object] = []
    take = DeltaFollower._take

    async def noted(self: DeltaFollower, delivered: object) -> None:
        taken.append(delivered)
        await take(self, delivered)  # type: ignore[arg-type]

    monkeypatch.setattr(DeltaFollower, "_take", noted)
    store = CountingStore(writers.backend)
    async with replica.started():
        assert not taken and not store.read
        await replica.check()


async def test_checkpoint_that_the_log_does_not_continue_is_replaced(writers: Writers, replica: Replica) -> None:
    """The log has lost records since: the graph is loaded from the store, and saved again at once."""
    await saved(writers, replica)
    await writers.steps(4)
    await writers.backend.log.trim(DELTAS, Position(0, (await writers.backend.log.end(DELTAS))[0] - 1))
    store = CountingStore(writers.backend)
    async with replica.started():
        assert store.read == ["g0"] and not (replica.folder / "g0" / FILE).exists()
        await replica.views.save(least_versions=5)
        assert (replica.folder / "g0" / FILE).exists()
        await replica.check()


async def test_checkpoints_are_saved_before_they_are_outdated(writers: Writers, replica: Replica) -> None:
    """A graph without one is saved at the first occasion, and again before it lacks too many versions."""
    await writers.steps(3)
    async with replica.started():
        file = replica.folder / "g0" / FILE
        await replica.views.save(least_versions=500)
        first = file.read_bytes()
        await writers.steps(MIN_MISSED - 1)
        await eventually(replica.current)
        await replica.views.save(least_versions=500)
        assert file.read_bytes() == first
        await writers.steps(1)
        await eventually(replica.current)
        await replica.views.save(least_versions=500)
        assert file.read_bytes() != first


async def test_version_that_was_not_announced_is_loaded_after_the_start(
    writers: Writers, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notice of the newest version is lost, or not sent yet: the start does not wait for it, and loads nothing."""
    for name in ("POLL_INTERVAL_S", "TIMEOUT_S"):
        monkeypatch.setattr(delta_follower, name, 0.02)
    await saved(writers, replica)
    await writers.steps(3)
    await writers.commit("g0")
    store = CountingStore(writers.backend)
    started = DeltaFollower.start

    async def noted(self: DeltaFollower) -> None:
        await started(self)
        assert replica.views.version("g0") == 13 and not store.read

    monkeypatch.setattr(DeltaFollower, "start", noted)
    async with replica.started():
        await replica.check()
        assert replica.follower.reloads == 1


async def test_records_that_the_log_does_not_return_are_replaced_by_the_store(
    writers: Writers, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader of the missed records returns nothing: the start ends nevertheless, with the graph of the store."""
    for name in ("POLL_INTERVAL_S", "TIMEOUT_S"):
        monkeypatch.setattr(delta_follower, name, 0.02)
    await saved(writers, replica)
    await writers.steps(3)
    reader = writers.backend.log.reader
    deaf = [True]

    def deaf_once(topic: str, offsets: dict[int, int]) -> object:
        return reader(topic, dict.fromkeys(offsets, 10**9) if deaf and deaf.pop() else offsets)

    monkeypatch.setattr(writers.backend.log, "reader", deaf_once)
    async with replica.started():
        assert await replica.current() and replica.follower.reloads == 1
        await replica.check()


async def test_purge_that_was_announced_meanwhile_is_done_after_the_start(writers: Writers, replica: Replica) -> None:
    """The checkpoint may hold deleted texts: after the purge that the log announces, none is left in the file."""
    await saved(writers, replica)
    await writers.steps(3)
    await mark_purge(writers.backend.log)
    async with replica.started():
        await eventually(lambda: _is(replica.purges == 1))
        await replica.check()
    async with replica.started():
        assert replica.purges == 1
        await replica.check()


async def test_checkpoint_that_is_saved_amid_a_delta_is_followed_from_its_notice(
    writers: Writers, replica: Replica
) -> None:
    """The notice and some parts were read before the rows were saved, and the others come after the start."""
    await writers.steps(10)
    async with replica.started():
        records = await writers.commit("g0")
        assert len(records) > 2
        await writers.announce(*records[:2])
        incoming = replica.follower._incoming
        await eventually(lambda: _is("g0" in incoming and len(incoming["g0"].parts) == 1))
        await replica.views.save()
    await writers.announce(*records[2:])
    store = CountingStore(writers.backend)
    async with replica.started():
        assert await replica.current() and not store.read and not replica.follower.reloads
        await replica.check()


@pytest.mark.parametrize("is_evicted", [False, True])
async def test_purge_leaves_no_text_of_a_deleted_document_in_any_file(
    writers: Writers, replica: Replica, tmp_path: Path, is_evicted: bool
) -> None:
    """It is in the checkpoint, and in copies that replicas share, until the purge; a deletion of the graph ends all."""
    replica.folder, replica.place = tmp_path / "replica", tmp_path / "shared"
    replica.idle_s = 1e-6 if is_evicted else 0.0
    world = writers.worlds["g0"]

    def files_with(text: str) -> set[str]:
        found = {path for path in tmp_path.rglob("*") if path.is_file() and text.encode() in path.read_bytes()}
        return {path.suffix for path in found}

    await writers.steps(10)
    async with replica.started():
        await replica.views.wake("g0")
        await replica.views.save()
        view = replica.views.get("g0")
        assert view is not None
        doc_id, text = max(((one.doc_id, one.text) for one in view.chunks.values()), key=lambda pair: len(pair[1]))
        assert files_with(text) == {".npz", ".zip"}
        delta = world.change(doc_id)
        store = writers.backend.store
        await store.commit(Commit(0, await store.claim(0), 0, (GraphCommit(delta, {}),), ()))
        await writers.announce(*full_records(delta))
        if is_evicted:
            await replica.views.evict_idle()
        else:
            await eventually(replica.current)
        assert files_with(text) == {".npz", ".zip"}
        await mark_purge(writers.backend.log)
        await eventually(lambda: _is(replica.purges == 1))
        assert files_with(text) == set()
        await replica.views.drop("g0", 12)
        assert files_with("") == set()


async def test_rebuilt_graph_is_loaded(writers: Writers, replica: Replica) -> None:
    """A rebuilt graph has other internal numbers: it is loaded anew."""
    await saved(writers, replica)
    await writers.steps(2)
    await writers.announce(*await writers.commit("g0", rebuilt=True))
    await writers.steps(2)
    async with replica.started():
        assert replica.follower.reloads == 1
        await replica.check()


async def test_graph_that_was_evicted_unchanged_comes_back_from_its_checkpoint(
    writers: Writers, replica: Replica
) -> None:
    """A use of an idle graph reads nothing from the store, unless the graph has changed."""
    await writers.steps(10)
    replica.idle_s = 1e-6
    store = CountingStore(writers.backend)
    async with replica.started():
        await replica.views.wake("g0")
        await replica.views.evict_idle()
        assert store.read == ["g0"] and "g0" in replica.views.evicted
        await replica.views.wake("g0")
        assert store.read == ["g0"] and await replica.current()
        await replica.views.evict_idle()
        await writers.steps(1)
        await eventually(lambda: _is(replica.views.evicted.get("g0") == 11))
        await replica.views.wake("g0")
        assert store.read == ["g0", "g0"] and await replica.current()


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.thorough if seed else ()) for seed in range(12)])
async def test_views_are_the_stored_graphs_wherever_the_process_was_killed(
    backend: MemoryBackend, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saved at any moment, also amid a delta, killed, restarted; records lost, repeated, swapped; rebuilds, purges."""
    print(f"seed {seed}")
    for name in ("POLL_INTERVAL_S", "TIMEOUT_S"):
        monkeypatch.setattr(delta_follower, name, 0.05)
    rng = random.Random(seed)
    writers, replica = Writers(backend, rng), Replica(backend, tmp_path)
    kept: list[Record] = []
    for _ in range(8):
        async with replica.started():
            for _ in range(rng.randrange(12)):
                graph = rng.choice(GRAPHS)
                records = await writers.commit(graph, rebuilt=rng.random() < 0.05)
                await _announce_badly(writers, records, kept, rng)
                kept += records
                for _ in range(rng.randrange(6)):
                    await asyncio.sleep(0)
                if rng.random() < 0.3:
                    await replica.views.save(least_versions=rng.randrange(1, 5))
                if rng.random() < 0.05:
                    await mark_purge(backend.log)
        for _ in range(rng.randrange(8)):
            graph = rng.choice(GRAPHS)
            await _announce_badly(writers, await writers.commit(graph), kept, rng)
        if rng.random() < 0.1:
            number = rng.randrange(len(GRAPHS))
            await backend.log.trim(DELTAS, Position(number, (await backend.log.end(DELTAS))[number]))
        async with replica.started():
            await replica.check()


async def _announce_badly(writers: Writers, records: list[Record], kept: list[Record], rng: random.Random) -> None:
    if kept and rng.random() < 0.2:
        records = [*records, rng.choice(kept)]
    if rng.random() < 0.05:
        rng.shuffle(records)
    for record in records:
        if rng.random() > 0.02:
            await writers.announce(record)
        await asyncio.sleep(0)


async def _is(value: bool) -> bool:
    return value
