"""The consolidate stage on both storages: after any input, store and view are the graph of the live revisions."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import canonical_lines
from graphtide.graph.records import DocumentChange, Extraction, GraphDelta
from graphtide.infra.sqlite import SqliteBackend
from graphtide.streams.consolidate.stage import STAGE, ConsolidateSettings, ConsolidateStage
from graphtide.streams.consolidate.verification import recount
from graphtide.streams.errors import Fenced, Retryable
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DEAD_LETTERS, EXTRACTIONS, DeadLetter, ExtractionMessage
from graphtide.streams.ports import Commit, Position, Record, RevisionState, Watermark
from tests.model.graph_oracle import GraphOracle
from tests.support.backends import NAMES, Backend, Clock, opened
from tests.support.extractions import random_extraction
from tests.support.stages import ExactKeeper, Seen, dead_letters, eventually, records, running


@dataclass
class Rig:
    """A stage, its views, and its input."""

    backend: Backend
    views: ViewRegistry = field(default_factory=lambda: ViewRegistry(ExactKeeper()))
    seen: Seen = field(default_factory=Seen)

    def stage(self, batch_size: int = 64) -> ConsolidateStage:
        """A stage as a new process would make it, before the same views."""
        settings = ConsolidateSettings(batch_size)
        return ConsolidateStage(self.backend.log, self.backend.store, self.follow, self.seen, settings)

    async def follow(self, delta: GraphDelta) -> None:
        await self.views.follow(delta)

    async def accept(self, *keys: str) -> list[int]:
        """Enter revisions in the ledger, as if published. Returns their numbers."""
        return [one.offset for one in await self.backend.ledger.accept([Record(key, b"{}") for key in keys])]

    async def emit(self, *messages: ExtractionMessage) -> None:
        await self.backend.log.append(EXTRACTIONS, [Record(one.graph, one.encode()) for one in messages])

    async def consumed(self) -> bool:
        """Return True once everything up to the end of the log is committed and the view shows it."""
        end = (await self.backend.log.end(EXTRACTIONS))[0]
        left = await self.backend.log.consumer(EXTRACTIONS, STAGE).poll(1, 0)
        return end > 0 and not left

    async def work(self, batch_size: int = 64) -> None:
        """Run a fresh stage until everything is consumed."""
        async with running(self.stage(batch_size).run):
            await eventually(self.consumed)

    async def check(self, live: Mapping[str, Extraction], graph: str = "g") -> None:
        """Store, view and a build from nothing are the graph of these extractions."""
        expected = sorted(GraphOracle(live.values()).lines())
        assert sorted(canonical_lines(await self.backend.store.snapshot(graph))) == expected
        view = self.views.get(graph)
        assert view is not None and sorted(canonical_lines(view.rows())) == expected
        assert (await recount(self.backend.store, view, None)).differences == ()


@pytest.fixture(params=NAMES)
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    """Both implementations of the storage."""
    async with opened(request.param, tmp_path, Clock()) as backend:
        yield Rig(backend)


def message(rng: random.Random, doc_id: str, revision: int, graph: str = "g") -> ExtractionMessage:
    return ExtractionMessage(graph, doc_id, revision, random_extraction(rng, doc_id, revision))


def live(messages: Sequence[ExtractionMessage]) -> dict[str, Extraction]:
    """Return the live messages: the newest of each document."""
    newest: dict[str, ExtractionMessage] = {}
    for one in messages:
        if one.doc_id not in newest or newest[one.doc_id].revision < one.revision:
            newest[one.doc_id] = one
    return {doc_id: one.extraction for doc_id, one in newest.items() if one.extraction is not None}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
async def test_consolidate_gives_the_graph_of_the_newest_revisions_when_records_repeat_and_reorder(
    rig: Rig, seed: int
) -> None:
    """Edits and deletions of six documents in two graphs, each thrice, in any order, over several lives."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    names = [(rng.choice("gh"), rng.choice("abc")) for _ in range(24)]
    revisions = await rig.accept(*(f"{graph}|{doc_id}" for graph, doc_id in names))
    messages = [
        message(rng, doc_id, revision, graph)
        if rng.random() < 0.75
        else ExtractionMessage(graph, doc_id, revision, None)
        for revision, (graph, doc_id) in zip(revisions, names, strict=True)
    ]
    order = messages * 3
    rng.shuffle(order)
    versions = []
    while order:
        part, order = order[:20], order[20:]
        await rig.emit(*part)
        await rig.work(batch_size=rng.choice((1, 3, 64)))
        versions.append(sum((await rig.backend.store.graphs()).values()))
    assert {graph for graph, took in rig.seen.efforts if took.community_units} == {"g", "h"}
    for graph in "gh":
        await rig.check(live([one for one in messages if one.graph == graph]), graph)
        assert await rig.backend.ledger.pending(graph) == 0
        assert (await rig.backend.ledger.counts(graph))[RevisionState.FAILED] == 0
    assert versions == sorted(versions) and not await records(rig.backend, DEAD_LETTERS)


async def test_consolidate_supersedes_a_stale_revision_that_comes_late(rig: Rig) -> None:
    """Revision 1 is applied first, revision 0 arrives after it: superseded, and the graph does not change."""
    rng = random.Random(1)
    await rig.accept("g|a", "g|a")
    new = message(rng, "a", 1)
    for one in (new, message(rng, "a", 0)):
        await rig.emit(one)
        await rig.work()
    counts = await rig.backend.ledger.counts("g")
    assert (counts[RevisionState.APPLIED], counts[RevisionState.SUPERSEDED]) == (1, 1)
    assert (await rig.backend.store.graphs())["g"] == 1
    await rig.check(live([new]))


async def test_consolidate_does_not_bring_back_what_was_deleted_when_everything_is_replayed(rig: Rig) -> None:
    """Publish, delete, and all records again: nothing is live, and the replay makes no version."""
    rng = random.Random(2)
    await rig.accept("g|a", "g|a", "g|b")
    messages = [message(rng, "a", 0), ExtractionMessage("g", "a", 1, None), message(rng, "b", 2)]
    await rig.emit(*messages)
    await rig.work(batch_size=1)
    stands = (await rig.backend.store.graphs())["g"]
    await rig.emit(*messages, *messages)
    await rig.work()
    assert (await rig.backend.store.graphs())["g"] == stands == 3
    await rig.check(live(messages))


POISON = {
    "bytes": b"\xff\x00",
    "an empty value": b"",
    "a list": b"[]",
    "no vectors": b'{"graph":"g","doc_id":"a","revision":0,"info":{},"units":[["00","t",0,1,[],[]]],"gaps":[],'
    b'"dimensions":4,"vectors":""}',
    "a path for a graph": b'{"graph":"../..","doc_id":"a","revision":0,"deleted":true}',
}


@pytest.mark.parametrize("value", POISON.values(), ids=POISON)
async def test_consolidate_writes_one_dead_letter_for_a_poison_record_and_goes_on(rig: Rig, value: bytes) -> None:
    """One dead letter with the original bytes; the records around it are applied."""
    rng = random.Random(3)
    await rig.accept("g|x", "g|y", "g|z")
    good = [message(rng, "y", 1), message(rng, "z", 2)]
    await rig.emit(good[0])
    await rig.backend.log.append(EXTRACTIONS, [Record("g", value)])
    await rig.emit(good[1])
    await rig.work()
    [letter] = await dead_letters(rig.backend)
    assert letter.original == value and letter.stage == STAGE
    await rig.check(live(good))


async def test_consolidate_ends_the_revision_of_a_record_it_cannot_read_when_its_name_can_be(rig: Rig) -> None:
    """A record of another schema still names its revision: FAILED in the ledger, with the reason."""
    await rig.accept("g|a")
    await rig.backend.log.append(EXTRACTIONS, [Record("g", b'{"schema":7,"graph":"g","doc_id":"a","revision":0}')])
    await rig.work()
    entry = await rig.backend.ledger.latest("g", "a")
    assert entry is not None and entry.state is RevisionState.FAILED and "schema 7" in entry.reason
    [letter] = await dead_letters(rig.backend)
    assert (letter.graph, letter.doc_id, letter.revision) == ("g", "a", 0)


async def test_consolidate_writes_a_dead_letter_for_the_change_that_breaks_the_write_model_and_applies_the_others(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of six over two graphs with one culprit: five are applied, the culprit is FAILED with the cause."""
    apply = Consolidator.apply

    def failing(self: Consolidator, changes: Sequence[DocumentChange]) -> GraphDelta:
        delta = apply(self, changes)  # partially applied: the write model must not be used again
        if any(change.doc_id == "culprit" for change in changes):
            raise ZeroDivisionError("a bug in the core")
        return delta

    monkeypatch.setattr(Consolidator, "apply", failing)
    rng = random.Random(4)
    names = [("g", "a"), ("g", "culprit"), ("h", "b"), ("g", "c"), ("h", "d"), ("g", "a")]
    await rig.accept(*(f"{graph}|{doc_id}" for graph, doc_id in names))
    messages = [message(rng, doc_id, revision, graph) for revision, (graph, doc_id) in enumerate(names)]
    await rig.emit(*messages)
    await rig.work()
    for graph in "gh":
        await rig.check(live([one for one in messages if one.graph == graph and one.doc_id != "culprit"]), graph)
        assert await rig.backend.ledger.pending(graph) == 0
    entry = await rig.backend.ledger.latest("g", "culprit")
    assert (
        entry is not None
        and entry.state is RevisionState.FAILED
        and "ZeroDivisionError: a bug in the core" in entry.reason
    )
    [letter] = await dead_letters(rig.backend)
    assert letter.doc_id == "culprit" and ("g", RevisionState.FAILED) in rig.seen.ends


async def test_consolidate_writes_a_dead_letter_for_vectors_of_another_dimension(rig: Rig) -> None:
    """They fit neither the graph's sums nor its index: FAILED, and the graph stays as it is."""
    rng = random.Random(5)
    await rig.accept("g|a", "g|b")
    good = message(rng, "a", 0)
    other = message(rng, "b", 1)
    assert other.extraction is not None
    one = other.extraction.units[0]
    short = replace(one, vector=np.ones(3, np.float16), mentions=(), facts=())
    await rig.emit(good)
    await rig.work()
    await rig.emit(replace(other, extraction=replace(other.extraction, units=(short,))))
    await rig.work()
    entry = await rig.backend.ledger.latest("g", "b")
    assert entry is not None and entry.state is RevisionState.FAILED and "two embedding models" in entry.reason
    await rig.check(live([good]))


async def test_consolidate_takes_another_dimension_when_the_graph_is_empty_again(rig: Rig) -> None:
    """Everything was deleted: the next document may come from another model."""
    rng = random.Random(6)
    await rig.accept("g|a", "g|a", "g|b")
    other = message(rng, "b", 2)
    assert other.extraction is not None
    short = replace(other.extraction.units[0], vector=np.ones(3, np.float16), mentions=(), facts=())
    changed = replace(other, extraction=replace(other.extraction, units=(short,)))
    for one in (message(rng, "a", 0), ExtractionMessage("g", "a", 1, None), changed):
        await rig.emit(one)
        await rig.work()
    await rig.check(live([changed]))


async def test_consolidate_writes_nothing_when_a_rival_claims_and_goes_on_after_it_claims_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit of the fenced writer changes nothing and is reported; it claims again, and its views catch up."""
    rng = random.Random(7)
    await rig.accept("g|a", "g|b", "g|c")
    messages = [message(rng, doc_id, revision) for revision, doc_id in enumerate("abc")]
    stage = rig.stage()
    await rig.emit(messages[0])
    async with running(stage.run):
        await eventually(rig.consumed)
    versions: list[int] = []
    commit = rig.backend.store.commit

    async def watched(given: Commit) -> None:
        try:
            await commit(given)
        except Fenced:
            versions.append((await rig.backend.store.graphs())["g"])
            raise

    async with running(stage.run):
        await eventually(lambda: _claimed(rig, 2))
        await rig.backend.store.claim(0)
        monkeypatch.setattr(rig.backend.store, "commit", watched)
        await rig.emit(messages[1])
        await eventually(lambda: _true("the writer held epoch 2" in stage.troubles.get(0, "")))
        await rig.emit(messages[2])
        await eventually(lambda: _applied(rig, 3))
        await eventually(lambda: _true(not stage.troubles))
    assert versions == [1]
    await rig.check(live(messages))


@pytest.mark.parametrize("happened", [False, True])
async def test_consolidate_settles_a_commit_whose_outcome_is_unknown(
    rig: Rig, happened: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit raises, applied or not: the next run detects which, and the view shows every revision."""
    rng = random.Random(8)
    await rig.accept("g|a", "g|b")
    messages = [message(rng, "a", 0), message(rng, "b", 1)]
    commit = rig.backend.store.commit

    async def failing(given: Commit) -> None:
        if happened:
            await commit(given)
        raise Retryable("the connection dropped on COMMIT")

    stage = rig.stage()
    await rig.emit(messages[0])
    async with running(stage.run):
        await eventually(rig.consumed)
    await rig.emit(messages[1])
    with monkeypatch.context() as patched:
        patched.setattr(rig.backend.store, "commit", failing)
        async with running(stage.run):
            await eventually(lambda: _true("dropped on COMMIT" in stage.troubles.get(0, "")))
            patched.undo()
            await eventually(lambda: _shows(rig, 2))
    await rig.check(live(messages))
    assert not await records(rig.backend, DEAD_LETTERS)


async def test_consolidate_has_the_views_start_over_when_one_cannot_follow(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view that fails half-way is replaced from a snapshot; no record is blamed for it."""
    rng = random.Random(9)
    await rig.accept("g|a", "g|b")
    messages = [message(rng, "a", 0), message(rng, "b", 1)]
    await rig.emit(messages[0])
    await rig.work()
    view = rig.views.get("g")
    assert view is not None

    def broken(_: object) -> None:
        raise RuntimeError("half applied")

    monkeypatch.setattr(type(view), "_take_labels", broken)
    follow = rig.views.follow

    async def following(delta: GraphDelta) -> None:
        if delta.snapshot:
            monkeypatch.undo()
        await follow(delta)

    monkeypatch.setattr(rig.views, "follow", following)
    await rig.emit(messages[1])
    await rig.work()
    await rig.check(live(messages))
    assert rig.views.get("g") is not view and not await records(rig.backend, DEAD_LETTERS)


async def test_consolidate_resumes_when_it_was_cancelled_while_applying(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM comes while the write model works in its thread: nothing is committed, and the next run does it all."""
    begun, release = threading.Event(), threading.Event()
    apply = Consolidator.apply

    def slow(self: Consolidator, changes: Sequence[DocumentChange]) -> GraphDelta:
        begun.set()
        release.wait(30)
        return apply(self, changes)

    rng = random.Random(10)
    await rig.accept("g|a", "g|b")
    messages = [message(rng, "a", 0), message(rng, "b", 1)]
    await rig.emit(*messages)
    stage = rig.stage()
    with monkeypatch.context() as patched:
        patched.setattr(Consolidator, "apply", slow)
        task = asyncio.create_task(_forever(stage))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        release.set()
    assert not await rig.backend.store.graphs()
    async with running(stage.run):
        await eventually(rig.consumed)
    await rig.check(live(messages))


async def test_consolidate_stops_and_says_so_when_the_watermark_is_beyond_the_log(rig: Rig) -> None:
    """Store and log have different histories: Broken with the cause, on every retry, and nothing is reset."""
    held = await rig.backend.store.claim(0)
    await rig.backend.store.commit(Commit(0, held, 7, (), ()))
    stage = rig.stage()
    async with running(stage.run):
        await eventually(lambda: _true("different histories" in stage.troubles.get(0, "")))
        while (claimed := await rig.backend.store.claim(0)).epoch < 8:
            assert "different histories" in stage.troubles[0], "a failing stage must not look well in between"
            await asyncio.sleep(0.05)
    assert claimed.next_offset == 7


async def test_consolidate_stops_when_the_log_has_lost_what_is_not_applied(rig: Rig) -> None:
    """Records between the watermark and the log's start were deleted: Broken, not a silent gap."""
    rng = random.Random(11)
    await rig.accept("g|a", "g|b")
    await rig.emit(message(rng, "a", 0), message(rng, "b", 1))
    await rig.backend.log.trim(EXTRACTIONS, Position(0, 1))
    stage = rig.stage()
    async with running(stage.run):
        await eventually(lambda: _true("lost" in stage.troubles.get(0, "")))
    assert not await rig.backend.store.graphs()


async def test_consolidate_writes_one_dead_letter_when_it_died_after_the_first(rig: Rig) -> None:
    """The letter was written and the position had not advanced: the same record again gives no second letter."""
    await rig.backend.log.append(EXTRACTIONS, [Record("g", b"poison")])
    letter = DeadLetter("g", "?", 0, STAGE, "as it was", 1, b"poison")
    await rig.backend.log.append(DEAD_LETTERS, [Record("g|?", letter.encode())])
    await rig.work()
    assert len(await dead_letters(rig.backend)) == 1


async def test_consolidate_goes_on_when_the_disk_has_room_again(tmp_path: Path) -> None:
    """SQLITE_FULL in the commit: nothing is applied, the error is reported; with free space all of it is applied."""
    backend = await SqliteBackend.open(tmp_path)
    try:
        rig, rng = Rig(backend), random.Random(12)
        names = [f"d{number}" for number in range(40)]
        await rig.accept(*(f"g|{name}" for name in names))
        messages = [message(rng, name, revision) for revision, name in enumerate(names)]
        await rig.emit(*messages)
        pages = await backend.database.read(lambda one: int(one.execute("PRAGMA page_count").fetchone()[0]))
        await backend.database.write(lambda one: one.execute(f"PRAGMA max_page_count = {pages + 1}").fetchall())
        stage = rig.stage()
        async with running(stage.run):
            await eventually(lambda: _true("full" in stage.troubles.get(0, "")))
            assert not await backend.store.graphs() and await backend.ledger.pending("g") == 40
            await backend.database.write(lambda one: one.execute("PRAGMA max_page_count = 1000000").fetchall())
            await eventually(rig.consumed)
        await rig.check(live(messages))
        assert not await records(backend, DEAD_LETTERS)
    finally:
        await backend.close()


async def test_a_pause_before_the_first_assignment_holds_all_partitions(rig: Rig) -> None:
    """A stage that starts during a pause writes nothing until the pause ends, and everything afterwards."""
    messages = [message(random.Random(5), "a", 0)]
    await rig.emit(*messages)
    stage = rig.stage()
    async with running(stage.run):
        async with stage.paused():
            for _ in range(200):
                await asyncio.sleep(0)
                assert not await rig.backend.store.graphs()
        await eventually(rig.consumed)
    await rig.check(live(messages))


async def _forever(stage: ConsolidateStage) -> None:
    await stage.run()


async def _true(value: bool) -> bool:
    return value


async def _applied(rig: Rig, count: int) -> bool:
    return (await rig.backend.ledger.counts("g"))[RevisionState.APPLIED] == count


async def _shows(rig: Rig, version: int) -> bool:
    return rig.views.version("g") == version


async def _claimed(rig: Rig, epoch: int) -> bool:
    """Return True once the partition was claimed so often: an empty commit with that epoch is accepted."""
    next_offset = (await rig.backend.log.end(EXTRACTIONS))[0]
    try:
        await rig.backend.store.commit(Commit(0, Watermark(epoch, next_offset), next_offset, (), ()))
    except Fenced:
        return False
    return True
