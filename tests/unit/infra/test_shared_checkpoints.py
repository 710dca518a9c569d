"""Copies of checkpoints in folders and object stores: a new replica gets a whole one, or none."""

from __future__ import annotations

import logging
import random
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from graphtide.graph.digest import canonical_lines
from graphtide.graph.view import LiveView
from graphtide.graph.view_state.frozen import FrozenView
from graphtide.infra.checkpoints.folder import FILE, CheckpointFolder
from graphtide.infra.checkpoints.shared import SharedCheckpoints
from graphtide.infra.hnsw import HnswParameters
from graphtide.infra.index_folder import IndexFolder
from graphtide.infra.object_store import UnusableStoreError
from graphtide.streams.checkpoints.view_checkpoints import Retained, ViewCheckpoints
from tests.support.checkpoint_places import names
from tests.support.worlds import DIMENSIONS, RandomWorld

GRAPH = "world"
SMALL = HnswParameters(exact_below=20)
HISTORY, OTHER = "a" * 32, "b" * 32


class Process:
    """A replica's data folder, on a place that it shares with others."""

    def __init__(self, folder: Path, place: str, history: str = HISTORY) -> None:
        self.folder = folder
        self.indexes = IndexFolder(folder, SMALL)
        self.shared = SharedCheckpoints(place, history)
        self.checkpoints = ViewCheckpoints(CheckpointFolder(folder, self.shared))

    def view(self) -> LiveView:
        return LiveView(GRAPH, self.indexes.open(GRAPH, DIMENSIONS, 0)[0])

    def save(self, view: LiveView) -> None:
        self.indexes.save(GRAPH, view.indexes, view.version)
        frozen = FrozenView(view)
        self.checkpoints.save(frozen, {0: 7}, 1)
        frozen.release()
        self.checkpoints.publish(GRAPH, view.version)

    def restored(self, newest: int, *, follows: bool = True) -> LiveView | None:
        retained = Retained({0: 0}, {0: 9}) if follows else None
        found = self.checkpoints.restore(GRAPH, newest, retained, self.indexes.open, self.indexes.close)
        return found.view if found else None


def followed(process: Process, times: int, seed: int = 3) -> LiveView:
    """Return a view after random changes."""
    print(f"seed {seed}")
    view, world = process.view(), RandomWorld(random.Random(seed))
    for _ in range(times):
        view.apply(world.step())
    return view


def test_new_process_restores_what_another_one_saved(tmp_path: Path, checkpoint_place: str) -> None:
    """Its view has the same rows, and its folder the same files, which only their owner reads."""
    first, second = Process(tmp_path / "first", checkpoint_place), Process(tmp_path / "second", checkpoint_place)
    view = followed(first, 30)
    assert second.restored(view.version) is None
    first.save(view)
    again = second.restored(view.version + 4)
    assert again is not None and again.version == view.version
    assert sorted(canonical_lines(again.rows())) == sorted(canonical_lines(view.rows()))
    files = [path.relative_to(tmp_path / "first") for path in (tmp_path / "first").rglob("*") if path.is_file()]
    for name in files:
        copied = tmp_path / "second" / name
        assert copied.read_bytes() == (tmp_path / "first" / name).read_bytes()
        assert copied.stat().st_mode & 0o077 == 0
    assert len(files) == 10 and names(checkpoint_place) == [f"{view.version:020d}-{HISTORY}.zip"]
    assert second.restored(view.version, follows=False) is not None


def test_copy_is_made_once_for_a_version_and_the_newest_two_are_kept(tmp_path: Path, checkpoint_place: str) -> None:
    """Further processes at the same version copy nothing; what a killed process left is deleted with old copies."""
    first, second = Process(tmp_path / "first", checkpoint_place), Process(tmp_path / "second", checkpoint_place)
    view, world = first.view(), RandomWorld(random.Random(4))
    made = []
    for _ in range(4):
        view.apply(world.step())
        first.save(view)
        made.append(f"{view.version:020d}-{HISTORY}.zip")
        assert names(checkpoint_place) == made[-2:]
        second.save(view)
        assert names(checkpoint_place) == made[-2:]
    files, root = first.shared._files, first.shared._root
    files.pipe_file(f"{root}/{GRAPH}/.{1:020d}-killed.part", b"half")
    files.pipe_file(f"{root}/{GRAPH}/.{view.version + 1:020d}-other.part", b"of a process that is writing")
    view.apply(world.step())
    first.save(view)
    left = names(checkpoint_place)
    assert len(left) == 3 and left[0].endswith("-other.part")


def test_copies_of_another_history_are_not_used_and_give_way(tmp_path: Path, checkpoint_place: str) -> None:
    """The graph database was restored from a backup: the same version may have other rows."""
    first = Process(tmp_path / "first", checkpoint_place)
    view = followed(first, 10)
    first.save(view)
    second = Process(tmp_path / "second", checkpoint_place, OTHER)
    assert second.restored(view.version) is None
    own = followed(second, 5, seed=9)
    second.save(own)
    assert names(checkpoint_place) == [f"{own.version:020d}-{OTHER}.zip"]


def test_versions_that_a_process_cannot_use_are_not_fetched(tmp_path: Path, checkpoint_place: str) -> None:
    """A graph that is loaded on demand uses its newest version alone; no process uses a later one than the store's."""
    first, second = Process(tmp_path / "first", checkpoint_place), Process(tmp_path / "second", checkpoint_place)
    view = followed(first, 10)
    first.save(view)
    assert second.restored(view.version + 1, follows=False) is None
    assert second.restored(view.version - 1) is None
    assert not (tmp_path / "second" / GRAPH).exists()


def test_deleted_content_is_in_no_copy(tmp_path: Path, checkpoint_place: str) -> None:
    """`forget` deletes every copy and the checkpoint itself; a graph without copies is forgotten, too."""
    first = Process(tmp_path / "first", checkpoint_place)
    first.save(followed(first, 5))
    assert first.shared.graphs() == [GRAPH]
    first.checkpoints.forget(GRAPH)
    assert names(checkpoint_place) == [] and first.shared.graphs() == []
    assert not (tmp_path / "first" / GRAPH / FILE).exists()
    first.checkpoints.forget(GRAPH)


@pytest.mark.parametrize("member", ["../../evil", "/evil", "chunks/../../evil", "view.npz/evil", "history"])
def test_archive_with_other_files_is_not_extracted(
    tmp_path: Path, member: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing of it is written anywhere, and the folder that was there stays."""
    place = str(tmp_path / "shared")
    first, second = Process(tmp_path / "first", place), Process(tmp_path / "deep" / "second", place)
    view = followed(first, 5)
    first.save(view)
    [copy] = (tmp_path / "shared" / GRAPH).iterdir()
    body = BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr("view.npz", b"x")
        archive.writestr(member, b"evil")
    copy.write_bytes(body.getvalue())
    (second.folder / GRAPH / "chunks").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    assert second.restored(view.version) is None
    assert "no saved file" in caplog.text
    assert {path.name for path in set(tmp_path.rglob("*")) - set(before)} <= {"second.fetched"}
    first.save(view)
    copy.unlink()
    first.checkpoints.publish(GRAPH, view.version)
    assert second.restored(view.version) is not None, "the place itself is not avoided"


def test_damaged_copy_is_not_used(tmp_path: Path) -> None:
    """One byte of the archive is another one, or it ends early: what is restored is equal, or nothing is."""
    place = str(tmp_path / "shared")
    first = Process(tmp_path / "first", place)
    view = followed(first, 20)
    first.save(view)
    [copy] = (tmp_path / "shared" / GRAPH).iterdir()
    data, rng, wanted = copy.read_bytes(), random.Random(5), sorted(canonical_lines(view.rows()))
    restored = 0
    for number in range(60):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        copy.write_bytes(bytes(damaged) if number % 6 else data[: rng.randrange(len(data))])
        process = Process(tmp_path / f"process-{number}", place)
        again = process.restored(view.version)
        if again is not None:
            restored += 1
            assert sorted(canonical_lines(again.rows())) == wanted
            process.indexes.close(again.indexes)
    assert restored < 30


def test_place_that_is_away_is_named_and_avoided(
    tmp_path: Path, object_store: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A bucket that does not exist: saving and restoring continue without it, and it is not asked for every graph."""
    process = Process(tmp_path / "one", "s3://there-is-no-such-bucket/x")
    view = followed(process, 3)
    process.save(view)
    assert "was not copied to s3://there-is-no-such-bucket/x" in caplog.text
    assert process.restored(view.version) is not None
    asked: list[str] = []

    def fail(graph: str) -> list[str]:
        asked.append(graph)
        raise OSError("away")

    monkeypatch.setattr(process.shared, "_listed", fail)
    with caplog.at_level(logging.WARNING):
        assert not process.shared.fetch(tmp_path / "two" / GRAPH, GRAPH, 0, 9)
        assert not process.shared.fetch(tmp_path / "two" / "g2", "g2", 0, 9)
    assert asked == [GRAPH] and process.shared.graphs() == []
    process.shared.delete(GRAPH)


@pytest.mark.parametrize("place", ["nowhere://x", "s3://key:secret@bucket/x"])
def test_place_that_cannot_exist_is_refused(place: str) -> None:
    """The message names the remedy, and no secret."""
    with pytest.raises(UnusableStoreError) as error:
        SharedCheckpoints(place, HISTORY)
    assert "secret@" not in str(error.value)
