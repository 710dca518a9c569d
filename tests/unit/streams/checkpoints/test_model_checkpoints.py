"""Checkpoints of write models: what is restored is the model that was saved, or there is none."""

from __future__ import annotations

import logging
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphtide.graph.changes.tables import RowTables
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange, DocumentInfo, Extraction
from graphtide.infra.checkpoints.archives import open_place
from graphtide.infra.checkpoints.shared import SharedCheckpoints
from graphtide.infra.checkpoints.write_models import FOLDER, WriteModelArchives
from graphtide.infra.private_files import make_private_folder
from graphtide.streams.checkpoints import model_columns
from graphtide.streams.checkpoints.model_checkpoints import ModelCheckpoints
from graphtide.streams.checkpoints.model_columns import PART_ROWS
from graphtide.streams.ports import Commit, GraphCommit
from tests.model.memory import MemoryBackend
from tests.support.backends import Clock
from tests.support.checkpoint_places import names
from tests.support.extractions import random_extraction, unit
from tests.support.full_disk import file_size_limit
from tests.support.row_texts import as_texts
from tests.support.seeds import seeds
from tests.support.worlds import DIMENSIONS, RandomWorld

HISTORY, OTHER = "a" * 32, "b" * 32
GRAPH = "world"


def opened(place: str | Path, history: str = HISTORY) -> ModelCheckpoints:
    return ModelCheckpoints(WriteModelArchives(str(place), history))


def saved_name(writer: Consolidator, history: str = HISTORY) -> str:
    return f"{writer.graph}.{writer.version:020d}.{history}.npz"


def walked(steps: int, seed: int, documents: int = 12) -> RandomWorld:
    """Return a world after random changes."""
    print(f"seed {seed}")
    world = RandomWorld(random.Random(seed), documents)
    for _ in range(steps):
        world.step()
    return world


@pytest.mark.parametrize("part_rows", [3, PART_ROWS])
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_restored_model_equals_that_of_the_store_and_continues_like_it(
    tmp_path: Path, seed: int, part_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each of many changes it gives the same delta, to the last bit, as the model that was never saved."""
    monkeypatch.setattr(model_columns, "PART_ROWS", part_rows)
    checkpoints, world, stored = opened(tmp_path), RandomWorld(random.Random(seed), documents=12), RowTables(GRAPH)
    for _ in range(40):
        stored.apply(world.step())
    assert checkpoints.save(world.writer, DIMENSIONS)
    saved = checkpoints.take(GRAPH, world.writer.version)
    assert saved is not None and saved.dimensions == DIMENSIONS
    resumed = Consolidator.restore(saved.snapshot)
    loaded = Consolidator.restore(replace(stored.snapshot(), communities=world.writer.hierarchy()))
    expected = as_texts(world.writer.stored_rows())
    assert as_texts(resumed.stored_rows()) == as_texts(loaded.stored_rows()) == expected
    for _ in range(30):
        delta = world.step()
        assert as_texts(resumed.apply(world.changes)) == as_texts(loaded.apply(world.changes)) == as_texts(delta)
    assert not resumed.violations()


def test_checkpoint_is_used_once_and_at_its_version_alone(checkpoint_place: str) -> None:
    """Any process takes it, once; at another version or of another history there is none."""
    world = walked(10, seed=1)
    first, second = opened(checkpoint_place), opened(checkpoint_place)
    assert first.save(world.writer, DIMENSIONS) and names(checkpoint_place) == [saved_name(world.writer)]
    assert second.take(GRAPH, world.writer.version + 1) is None
    assert second.take(GRAPH, world.writer.version - 1) is None
    assert second.take("worl", world.writer.version) is None
    assert opened(checkpoint_place, OTHER).take(GRAPH, world.writer.version) is None
    assert second.take(GRAPH, world.writer.version) is not None
    assert first.take(GRAPH, world.writer.version) is None and names(checkpoint_place) == []


async def test_sweep_deletes_what_no_writer_will_use(checkpoint_place: str) -> None:
    """Older versions, deleted graphs, other histories, and what a killed process left unfinished an hour ago."""
    store = MemoryBackend(1, Clock()).store
    graphs = {name: Consolidator(name) for name in ("current", "old", "gone", "a.b-c_d")}
    for name, writer in graphs.items():
        rng = random.Random(name)
        delta = writer.apply([DocumentChange("d", None, random_extraction(rng, "d", 1))])
        if name != "gone":
            await store.commit(Commit(0, await store.claim(0), 0, (GraphCommit(delta, {}),), ()))
        assert opened(checkpoint_place).save(writer, DIMENSIONS)
    assert opened(checkpoint_place, OTHER).save(graphs["current"], DIMENSIONS)
    delta = graphs["old"].apply([DocumentChange("e", None, random_extraction(random.Random(2), "e", 2))])
    await store.commit(Commit(0, await store.claim(0), 0, (GraphCommit(delta, {}),), ()))
    files, root, _ = open_place(checkpoint_place)
    unfinished = [f"{round(time.time() - age_s)}-{letter * 32}.part" for age_s, letter in ((9, "a"), (9_999, "b"))]
    for name in (*unfinished, "something else"):
        files.pipe_file(f"{root}/{FOLDER}/{name}", b"text")
    await opened(checkpoint_place).sweep(store)
    kept = [saved_name(graphs["current"]), saved_name(graphs["a.b-c_d"]), unfinished[0], "something else"]
    assert names(checkpoint_place) == sorted(kept)
    opened(checkpoint_place).forget("current")
    assert names(checkpoint_place) == sorted(kept[1:])


def test_replicas_do_not_take_the_folder_of_write_models_for_a_graph(checkpoint_place: str) -> None:
    """Both are in one place: deleting the copies of deleted graphs leaves it."""
    assert opened(checkpoint_place).save(walked(3, seed=2).writer, DIMENSIONS)
    assert SharedCheckpoints(checkpoint_place, HISTORY).graphs() == []


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_damaged_checkpoint_is_not_used(tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """With one byte changed, or its end cut off, there is none, or the same rows; the file is deleted."""
    world, rng = walked(12, seed), random.Random(seed)
    expected = as_texts(world.writer.stored_rows())
    checkpoints, path = opened(tmp_path), tmp_path / FOLDER / saved_name(world.writer)
    assert checkpoints.save(world.writer, DIMENSIONS)
    whole, refused = path.read_bytes(), 0
    for _ in range(150):
        at = rng.randrange(len(whole))
        changed = bytearray(whole)
        changed[at] ^= 1 << rng.randrange(8)
        path.write_bytes(whole[:at] if rng.random() < 0.2 else bytes(changed))
        saved = checkpoints.take(GRAPH, world.writer.version)
        assert not path.exists()
        if saved is None:
            refused += 1
        else:
            assert as_texts(Consolidator.restore(saved.snapshot).stored_rows()) == expected
    assert refused > 100
    assert not any("Passage" in record.getMessage() for record in caplog.records)


def test_names_outside_of_unicode_are_restored(tmp_path: Path) -> None:
    """A lone surrogate, four bytes and a zero byte are what they were, in names, predicates and ids."""
    odd = "a\ud800b \U0001f30a \x00 é"
    writer = Consolidator(GRAPH)
    plain = unit("Passage.", [("North", "", ""), ("Harbour", "place", "")], [(0, "is near", 1)])
    north, harbour = plain.mentions
    mentions = (replace(north, name=f"North {odd}"), replace(harbour, type=odd))
    piece = replace(plain, mentions=mentions, facts=(replace(plain.facts[0], predicate=f"is near {odd}"),))
    writer.apply([DocumentChange(odd, None, Extraction(odd, 1, DocumentInfo(), (piece,)))])
    expected = as_texts(writer.stored_rows())
    assert sum("ud800" in text for text in expected) >= 4
    assert opened(tmp_path).save(writer, DIMENSIONS)
    saved = opened(tmp_path).take(GRAPH, 1)
    assert saved is not None
    assert as_texts(Consolidator.restore(saved.snapshot).stored_rows()) == expected


@pytest.mark.parametrize("name", ["world.00000000000000000010", "another"])
def test_file_of_another_graph_or_version_under_this_name_is_not_used(tmp_path: Path, name: str) -> None:
    """An operator copied it: the header says what it is."""
    world = walked(9, seed=3)
    checkpoints = opened(tmp_path)
    assert checkpoints.save(world.writer, DIMENSIONS)
    graph, _, version = name.partition(".")
    path = tmp_path / FOLDER / saved_name(world.writer)
    path.rename(path.with_name(f"{graph}.{version or f'{world.writer.version:020d}'}.{HISTORY}.npz"))
    assert checkpoints.take(graph, int(version or world.writer.version)) is None


def test_full_disk_leaves_no_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is saved, the reason is logged, and the place is left alone for a while."""
    checkpoints, world = opened(tmp_path), walked(12, seed=4)
    with file_size_limit(4_000):
        assert not checkpoints.save(world.writer, DIMENSIONS)
    assert names(tmp_path) == [] and "is not saved" in caplog.text
    assert not checkpoints.save(world.writer, DIMENSIONS)
    assert opened(tmp_path).save(world.writer, DIMENSIONS)


def test_unreachable_place_is_avoided_and_the_store_used(object_store: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A bucket that does not exist: one warning, and nothing is tried again for a minute."""
    checkpoints, world = opened("s3://no-such-bucket-here/one"), walked(3, seed=5)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert not checkpoints.save(world.writer, DIMENSIONS)
            assert checkpoints.take(GRAPH, world.writer.version) is None
    assert len([record for record in caplog.records if record.name == "graphtide.streams"]) == 1


def test_saved_models_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    """They hold names that occur in documents; the folder of a process is private whatever the umask."""
    make_private_folder(tmp_path / "models")
    assert opened(tmp_path / "models").save(walked(3, seed=6).writer, DIMENSIONS)
    assert (tmp_path / "models").stat().st_mode & 0o077 == 0
