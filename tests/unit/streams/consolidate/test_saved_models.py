"""Write models that are saved when they leave memory: a writer continues the stored graphs, whatever ended the last."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from numpy.typing import NDArray

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import canonical_lines
from graphtide.infra.checkpoints.write_models import WriteModelArchives
from graphtide.streams.checkpoints.columns import Columns
from graphtide.streams.checkpoints.model_checkpoints import ModelCheckpoints
from graphtide.streams.consolidate import model_saving
from graphtide.streams.consolidate.maintenance_requests import MaintenanceKind, MaintenanceRequest
from graphtide.streams.consolidate.stage import ConsolidateSettings, ConsolidateStage
from graphtide.streams.errors import Retryable
from graphtide.streams.messages import DEAD_LETTERS, EXTRACTIONS, ExtractionMessage
from graphtide.streams.ports import Commit, SnapshotUse
from tests.model.graph_oracle import GraphOracle
from tests.support.consolidate_harness import ConsolidateHarness, applied, live, message
from tests.support.row_texts import as_texts
from tests.support.seeds import seeds
from tests.support.stages import eventually, records, running

GRAPHS = ("g", "h", "i")


class Archives(WriteModelArchives):
    """The saved models of a folder that a dead process no longer writes to, and the graphs that were continued."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), "a" * 32)
        self.is_dead = False
        self.taken: list[str] = []

    def save(self, graph: str, version: int, columns: Iterable[tuple[str, NDArray[Any]]]) -> bool:
        """See ModelKeeper.save."""
        return not self.is_dead and super().save(graph, version, columns)

    def take(self, graph: str, version: int) -> Columns | None:
        """See ModelKeeper.take."""
        found = super().take(graph, version)
        self.taken += [graph] if found else []
        return found

    async def has_none_of(self, graph: str) -> bool:
        return all(not name.startswith(graph) for name in self.names())

    def names(self) -> list[str]:
        return [f"{model.graph} {model.version}" for model in self.saved()]


class SlowArchives(Archives):
    """Saved models of which none is written before `released`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.released = threading.Event()

    def save(self, graph: str, version: int, columns: Iterable[tuple[str, NDArray[Any]]]) -> bool:
        """See ModelKeeper.save."""
        return self.released.wait(60) and super().save(graph, version, columns)


class Published:
    """The input of a stage: revisions of a few documents in several graphs."""

    def __init__(self, harness: ConsolidateHarness, rng: random.Random) -> None:
        self.harness, self.rng = harness, rng
        self.messages: dict[str, list[ExtractionMessage]] = {}

    async def publish(self, graph: str, doc_id: str) -> None:
        (revision,) = await self.harness.accept(f"{graph}|{doc_id}")
        new = message(self.rng, doc_id, revision, graph)
        if doc_id in live(self.messages.get(graph, [])) and self.rng.random() < 0.3:
            new = ExtractionMessage(graph, doc_id, revision, None)
        self.messages.setdefault(graph, []).append(new)
        await self.harness.emit(new)

    async def check(self) -> None:
        """Check that every stored graph is that of the live documents, and no record was blamed."""
        for graph, messages in self.messages.items():
            stored = await self.harness.backend.store.snapshot(graph)
            assert sorted(canonical_lines(stored)) == sorted(GraphOracle(live(messages).values()).lines())
        assert not await records(self.harness.backend, DEAD_LETTERS)


def writing(harness: ConsolidateHarness, archives: Archives, batch_size: int = 64, **more: Any) -> ConsolidateStage:
    """Return a stage as a new consolidator would make it, which has no views."""
    settings = ConsolidateSettings(batch_size, checkpoints=ModelCheckpoints(archives), **more)
    return ConsolidateStage(harness.backend.log, harness.backend.store, None, harness.seen, settings)


async def check_models(harness: ConsolidateHarness, stage: ConsolidateStage) -> None:
    """Check that each model in memory continues like the one that the stored rows give."""
    for graph in GRAPHS:
        model = stage.writer(graph)
        if model is not None:
            stored = Consolidator.restore(await harness.backend.store.snapshot(graph))
            assert _without_next_id(model) == _without_next_id(stored)


def _without_next_id(model: Consolidator) -> list[str]:
    """Return the rows without the next community id: the store has that of the live ones."""
    return [text for text in as_texts(model.stored_rows()) if not text.startswith("next_id")]


@pytest.mark.parametrize("seed", seeds(1, 10))
async def test_graphs_are_those_of_the_documents_however_writers_end(
    harness: ConsolidateHarness, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers stop, are killed, fenced, lose the answer to a commit, or evict graphs, at any moment.

    Afterwards every graph is a build from nothing, and so is what the last writer has in memory.
    """
    print(f"seed {seed}")
    rng = random.Random(seed)
    published = Published(harness, rng)
    commit = harness.backend.store.commit

    async def failing(given: Commit) -> None:
        monkeypatch.setattr(harness.backend.store, "commit", commit)
        if rng.random() < 0.5:
            await commit(given)
        raise Retryable("the connection dropped on COMMIT")

    async def act() -> None:
        match rng.choice(("publish", "publish", "publish", "rival", "unknown", "wait")):
            case "rival":
                await harness.backend.store.claim(0)
            case "unknown":
                monkeypatch.setattr(harness.backend.store, "commit", failing)
            case "wait":
                await _steps(rng)
            case _:
                for _ in range(rng.choice((1, 1, 4))):
                    await published.publish(rng.choice(GRAPHS), f"d{rng.randrange(6)}")

    for _ in range(8):
        archives = Archives(tmp_path / "models")
        stage = writing(
            harness,
            archives,
            rng.choice((1, 3, 64)),
            max_write_models=rng.choice((1, 2, 9)),
            heavy_bytes=rng.choice((1_000, 1 << 20)),
        )
        async with running(stage.run):
            for _ in range(rng.randrange(6)):
                await act()
            if rng.random() < 0.6 and published.messages:
                await eventually(harness.consumed)
            else:
                await _steps(rng)
            archives.is_dead = rng.random() < 0.3
    monkeypatch.setattr(harness.backend.store, "commit", commit)
    for doc_id in ("before", "last"):
        await published.publish("g", doc_id)
        archives = Archives(tmp_path / "models")
        stage = writing(harness, archives)
        async with running(stage.run):
            await eventually(harness.consumed)
            await eventually(partial(has_no_troubles, stage))
            async with stage.paused():
                await check_models(harness, stage)
    assert "g" in archives.taken
    await published.check()


async def has_no_troubles(stage: ConsolidateStage) -> bool:
    return not stage.troubles


async def _steps(rng: random.Random) -> None:
    """Let the stage run for a random number of steps of the event loop."""
    for _ in range(rng.randrange(60)):
        await asyncio.sleep(0)


async def test_model_is_saved_at_the_end_and_continued_once(harness: ConsolidateHarness, tmp_path: Path) -> None:
    """The next process reads no snapshot from the store, and deletes what was saved before it changes the graph."""
    published, archives = Published(harness, random.Random(1)), Archives(tmp_path)
    await published.publish("g", "a")
    async with running(writing(harness, archives).run):
        await eventually(harness.consumed)
        assert archives.names() == []
    assert archives.names() == ["g 1"]
    snapshot = harness.backend.store.snapshot
    read: list[str] = []

    async def counted(graph: str, use: SnapshotUse) -> Any:
        read.append(graph)
        return await snapshot(graph, use)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(harness.backend.store, "snapshot", counted)
        await published.publish("g", "b")
        async with running(writing(harness, archives).run):
            await eventually(harness.consumed)
            assert archives.names() == [] and archives.taken == ["g"]
    assert archives.names() == ["g 2"] and read == []
    await published.check()


@pytest.mark.parametrize("happened", [False, True])
async def test_model_ahead_of_the_store_is_not_saved(
    harness: ConsolidateHarness, tmp_path: Path, happened: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process stops while a commit waits for its answer: the model may be of a version that never comes to be."""
    published, archives = Published(harness, random.Random(2)), Archives(tmp_path)
    await published.publish("g", "a")
    stage = writing(harness, archives)
    committing, commit = asyncio.Event(), harness.backend.store.commit

    async def hanging(given: Commit) -> None:
        if happened:
            await commit(given)
        committing.set()
        await asyncio.Event().wait()

    async with running(stage.run):
        await eventually(harness.consumed)
        monkeypatch.setattr(harness.backend.store, "commit", hanging)
        await published.publish("g", "b")
        await committing.wait()
    assert archives.names() == []
    monkeypatch.setattr(harness.backend.store, "commit", commit)
    async with running(stage.run):
        await eventually(harness.consumed)
        await published.publish("g", "c")
        await eventually(harness.consumed)
    assert archives.taken == []
    await published.check()


async def test_store_is_read_where_saved_rows_contradict_each_other(
    harness: ConsolidateHarness, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A whole archive whose statements name a label that it lacks: the graph continues from the store's rows."""
    published, archives = Published(harness, random.Random(8)), Archives(tmp_path)
    await published.publish("g", "a")
    async with running(writing(harness, archives).run):
        await eventually(harness.consumed)
    columns = dict(archives.take("g", 1) or {})
    name = "statements.00000.subject"
    columns[name] = columns[name] + 1_000
    assert archives.save("g", 1, columns.items())
    await published.publish("g", "b")
    async with running(writing(harness, archives).run):
        await eventually(harness.consumed)
    assert "graph g is not restored from its checkpoint" in caplog.text
    await published.check()


async def test_partitions_are_left_after_the_models_are_saved(
    harness: ConsolidateHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the next writer, which may begin at once, finds them."""
    published, archives = Published(harness, random.Random(9)), Archives(tmp_path)
    found: list[list[str]] = []
    consumer = harness.backend.log.consumer

    def watched(topic: str, group: str) -> Any:
        made = consumer(topic, group)
        close = made.close

        async def closing() -> None:
            found.append(archives.names())
            await close()

        monkeypatch.setattr(made, "close", closing)
        return made

    await published.publish("g", "a")
    with monkeypatch.context() as patched:
        patched.setattr(harness.backend.log, "consumer", watched)
        stage = writing(harness, archives)
        task = asyncio.create_task(stage.run())
        await eventually(lambda: applied(harness, 1))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert found == [["g 1"]]


async def test_evicted_model_is_saved_and_continued(harness: ConsolidateHarness, tmp_path: Path) -> None:
    """One graph fits into memory: the other is saved when it leaves, and read when it is changed again."""
    published, archives = Published(harness, random.Random(3)), Archives(tmp_path)
    stage = writing(harness, archives, max_write_models=1)
    async with running(stage.run):
        for graph in ("g", "h", "g", "h"):
            await published.publish(graph, "a")
            await eventually(harness.consumed)
            await eventually(partial(archives.has_none_of, graph))
        assert archives.taken == ["g", "h"]
    assert sorted(archives.names()) == ["g 2", "h 2"]
    await published.check()


async def test_deleted_graph_leaves_no_saved_model(harness: ConsolidateHarness, tmp_path: Path) -> None:
    """It holds names that occurred in the documents."""
    published, archives = Published(harness, random.Random(4)), Archives(tmp_path)
    await published.publish("g", "a")
    async with running(writing(harness, archives).run):
        await eventually(harness.consumed)
    assert archives.names() == ["g 1"]
    request = MaintenanceRequest("g", MaintenanceKind.DELETE, "1").record()
    await harness.backend.log.append(EXTRACTIONS, [request])
    async with running(writing(harness, archives).run):
        await eventually(harness.consumed)
    assert archives.names() == [] and not await harness.backend.store.graphs()


async def test_end_does_not_wait_longer_than_it_may(
    harness: ConsolidateHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Two of three models are not saved in time: the process stops after the one that is being written, which lasts
    until the time is over.
    """
    published, archives = Published(harness, random.Random(5)), SlowArchives(tmp_path)
    for graph in GRAPHS:
        await published.publish(graph, "a")
    waits = model_saving.ModelSaver.wait

    async def wait(saver: model_saving.ModelSaver, within_s: float) -> None:
        await waits(saver, 0.0)
        if within_s == model_saving.FINISH_S:
            asyncio.get_running_loop().call_soon(archives.released.set)  # runs once the others are given up

    monkeypatch.setattr(model_saving.ModelSaver, "wait", wait)
    async with running(writing(harness, archives).run):
        await eventually(harness.consumed)
    assert len(archives.names()) == 1 and "2 write models were not saved" in caplog.text
    async with running(writing(harness, archives).run):
        for graph in GRAPHS:
            await published.publish(graph, "b")
        await eventually(harness.consumed)
    await published.check()


async def test_model_is_continued_while_it_waits_to_be_saved(harness: ConsolidateHarness, tmp_path: Path) -> None:
    """An evicted graph changes again before it is saved: it is restored from the store, and nothing old is left."""
    published, archives = Published(harness, random.Random(6)), Archives(tmp_path)
    stage = writing(harness, archives, 1, max_write_models=1)
    async with running(stage.run):
        for number in range(12):
            await published.publish(GRAPHS[number % 3], f"d{number}")
        await eventually(harness.consumed)
        await eventually(lambda: applied(harness, 4))
    await ModelCheckpoints(archives).sweep(harness.backend.store)
    assert sorted(archives.names()) == sorted(
        f"{graph} {version}" for graph, version in (await harness.backend.store.graphs()).items()
    )
    await published.check()
