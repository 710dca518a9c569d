"""The consolidate stage with rivals, unknown outcomes, cancellation, lost records and full disks."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange, GraphDelta
from graphtide.infra.sqlite import SqliteBackend
from graphtide.streams import retry
from graphtide.streams.consolidate.stage import ConsolidateStage
from graphtide.streams.errors import Fenced, Retryable
from graphtide.streams.messages import DEAD_LETTERS, EXTRACTIONS
from graphtide.streams.ports import Commit, Position
from tests.support.consolidate_harness import ConsolidateHarness, applied, claimed, live, message, shows, true
from tests.support.stages import eventually, records, running


async def test_consolidate_writes_nothing_when_a_rival_claims_and_goes_on_after_it_claims_again(
    harness: ConsolidateHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit of the fenced writer changes nothing and is reported; it claims again, and its views catch up."""
    rng = random.Random(7)
    await harness.accept("g|a", "g|b", "g|c")
    messages = [message(rng, doc_id, revision) for revision, doc_id in enumerate("abc")]
    stage = harness.stage()
    await harness.emit(messages[0])
    async with running(stage.run):
        await eventually(harness.consumed)
    versions: list[int] = []
    commit = harness.backend.store.commit

    async def watched(given: Commit) -> None:
        try:
            await commit(given)
        except Fenced:
            versions.append((await harness.backend.store.graphs())["g"])
            raise

    async with running(stage.run):
        await eventually(lambda: claimed(harness, 2))
        await harness.backend.store.claim(0)
        monkeypatch.setattr(harness.backend.store, "commit", watched)
        await harness.emit(messages[1])
        await eventually(lambda: true("the writer held epoch 2" in stage.troubles.get(0, "")))
        await harness.emit(messages[2])
        await eventually(lambda: applied(harness, 3))
        await eventually(lambda: true(not stage.troubles))
    assert versions == [1]
    await harness.check(live(messages))


@pytest.mark.parametrize("happened", [False, True])
async def test_consolidate_settles_a_commit_whose_outcome_is_unknown(
    harness: ConsolidateHarness, happened: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit raises, applied or not: the next run detects which, and the view shows every revision."""
    rng = random.Random(8)
    await harness.accept("g|a", "g|b")
    messages = [message(rng, "a", 0), message(rng, "b", 1)]
    commit = harness.backend.store.commit

    async def failing(given: Commit) -> None:
        if happened:
            await commit(given)
        raise Retryable("the connection dropped on COMMIT")

    stage = harness.stage()
    await harness.emit(messages[0])
    async with running(stage.run):
        await eventually(harness.consumed)
    await harness.emit(messages[1])
    with monkeypatch.context() as patched:
        patched.setattr(harness.backend.store, "commit", failing)
        async with running(stage.run):
            await eventually(lambda: true("dropped on COMMIT" in stage.troubles.get(0, "")))
            patched.undo()
            await eventually(lambda: shows(harness, 2))
    await harness.check(live(messages))
    assert not await records(harness.backend, DEAD_LETTERS)


async def test_consolidate_has_the_views_start_over_when_one_cannot_follow(
    harness: ConsolidateHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view that fails half-way is replaced from a snapshot; no record is blamed for it."""
    rng = random.Random(9)
    await harness.accept("g|a", "g|b")
    messages = [message(rng, "a", 0), message(rng, "b", 1)]
    await harness.emit(messages[0])
    await harness.work()
    view = harness.views.get("g")
    assert view is not None

    def broken(_: object) -> None:
        raise RuntimeError("half applied")

    monkeypatch.setattr(type(view), "_take_labels", broken)
    follow = harness.views.follow

    async def following(delta: GraphDelta) -> None:
        if delta.snapshot:
            monkeypatch.undo()
        await follow(delta)

    monkeypatch.setattr(harness.views, "follow", following)
    await harness.emit(messages[1])
    await harness.work()
    await harness.check(live(messages))
    assert harness.views.get("g") is not view and not await records(harness.backend, DEAD_LETTERS)


async def test_consolidate_resumes_when_it_was_cancelled_while_applying(
    harness: ConsolidateHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM comes while the write model works in its thread: nothing is committed, and the next run does it all."""
    begun, release = threading.Event(), threading.Event()
    apply = Consolidator.apply

    def slow(self: Consolidator, changes: Sequence[DocumentChange]) -> GraphDelta:
        begun.set()
        release.wait(30)
        return apply(self, changes)

    rng = random.Random(10)
    await harness.accept("g|a", "g|b")
    messages = [message(rng, "a", 0), message(rng, "b", 1)]
    await harness.emit(*messages)
    stage = harness.stage()
    with monkeypatch.context() as patched:
        patched.setattr(Consolidator, "apply", slow)
        task = asyncio.create_task(_forever(stage))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        release.set()
    assert not await harness.backend.store.graphs()
    async with running(stage.run):
        await eventually(harness.consumed)
    await harness.check(live(messages))


async def test_consolidate_stops_and_says_so_when_the_watermark_is_beyond_the_log(
    harness: ConsolidateHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Store and log have different histories: Broken with the cause, on every retry, and nothing is reset."""
    monkeypatch.setattr(retry, "SETTLED_S", 600.0)  # on a busy machine a retry may take long until it fails
    watermark = await harness.backend.store.claim(0)
    await harness.backend.store.commit(Commit(0, watermark, 7, (), ()))
    stage = harness.stage()
    async with running(stage.run):
        await eventually(lambda: true("different histories" in stage.troubles.get(0, "")))
        while (claimed := await harness.backend.store.claim(0)).epoch < 8:
            assert "different histories" in stage.troubles[0], "a failing stage must not look well in between"
            await asyncio.sleep(0.05)
    assert claimed.next_offset == 7


async def test_consolidate_stops_when_the_log_has_lost_what_is_not_applied(harness: ConsolidateHarness) -> None:
    """Records between the watermark and the log's start were deleted: Broken, not a silent gap."""
    rng = random.Random(11)
    await harness.accept("g|a", "g|b")
    await harness.emit(message(rng, "a", 0), message(rng, "b", 1))
    await harness.backend.log.trim(EXTRACTIONS, Position(0, 1))
    stage = harness.stage()
    async with running(stage.run):
        await eventually(lambda: true("lost" in stage.troubles.get(0, "")))
    assert not await harness.backend.store.graphs()


async def test_consolidate_goes_on_when_the_disk_has_room_again(tmp_path: Path) -> None:
    """SQLITE_FULL in the commit: nothing is applied, the error is reported; with free space all of it is applied."""
    backend = await SqliteBackend.open(tmp_path)
    try:
        harness, rng = ConsolidateHarness(backend), random.Random(12)
        names = [f"d{number}" for number in range(40)]
        await harness.accept(*(f"g|{name}" for name in names))
        messages = [message(rng, name, revision) for revision, name in enumerate(names)]
        await harness.emit(*messages)
        pages = await backend.database.read(lambda one: int(one.execute("PRAGMA page_count").fetchone()[0]))
        await backend.database.write(lambda one: one.execute(f"PRAGMA max_page_count = {pages + 1}").fetchall())
        stage = harness.stage()
        async with running(stage.run):
            await eventually(lambda: true("full" in stage.troubles.get(0, "")))
            assert not await backend.store.graphs() and await backend.ledger.pending("g") == 40
            await backend.database.write(lambda one: one.execute("PRAGMA max_page_count = 1000000").fetchall())
            await eventually(harness.consumed)
        await harness.check(live(messages))
        assert not await records(backend, DEAD_LETTERS)
    finally:
        await backend.close()


async def test_a_pause_before_the_first_assignment_holds_all_partitions(harness: ConsolidateHarness) -> None:
    """A stage that starts during a pause writes nothing until the pause ends, and everything afterwards."""
    messages = [message(random.Random(5), "a", 0)]
    await harness.emit(*messages)
    stage = harness.stage()
    async with running(stage.run):
        async with stage.paused():
            for _ in range(200):
                await asyncio.sleep(0)
                assert not await harness.backend.store.graphs()
        await eventually(harness.consumed)
    await harness.check(live(messages))


async def _forever(stage: ConsolidateStage) -> None:
    await stage.run()
