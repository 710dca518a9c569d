"""Checkpoints of views: what is restored is the view that was saved, or there is none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphtide.graph.digest import canonical_lines
from graphtide.graph.view import LiveView
from graphtide.graph.view_state.frozen import FrozenView
from graphtide.infra.checkpoints.folder import FILE, CheckpointFolder
from graphtide.infra.hnsw import HnswParameters
from graphtide.infra.index_folder import IndexFolder
from graphtide.streams.checkpoints.ports import HEADER
from graphtide.streams.checkpoints.view_checkpoints import Retained, ViewCheckpoints
from graphtide.streams.checkpoints.view_columns import VectorPlace
from tests.support.full_disk import file_size_limit
from tests.support.row_texts import as_texts
from tests.support.worlds import DIMENSIONS, RandomWorld

GRAPH = "world"
SMALL = HnswParameters(exact_below=4)
"""Nearly every index is a graph, which has the rows' own vectors."""
EXACT = HnswParameters(exact_below=10_000)
"""Every index holds unit vectors alone."""
EMPTY = np.empty(0, np.float16)


def save_rows(checkpoints: ViewCheckpoints, view: LiveView, offsets: dict[int, int]) -> None:
    """Save the rows of a view that does not change meanwhile."""
    frozen = FrozenView(view)
    checkpoints.save(frozen, offsets, 1)
    frozen.release()


@dataclass
class Saving:
    """A folder with the saved indexes and rows of a view, and the view."""

    folder: Path
    parameters: HnswParameters
    view: LiveView
    world: RandomWorld

    def __post_init__(self) -> None:
        self.indexes = IndexFolder(self.folder, self.parameters)
        self.checkpoints = ViewCheckpoints(CheckpointFolder(self.folder))

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.view.apply(self.world.step())

    def save(self, offsets: dict[int, int] | None = None) -> None:
        self.indexes.save(GRAPH, self.view.indexes, self.view.version)
        save_rows(self.checkpoints, self.view, offsets or {0: 1})

    def restored(self, newest: int | None = None, retained: Retained | None = None) -> LiveView | None:
        newest = self.view.version if newest is None else newest
        found = self.checkpoints.restore(GRAPH, newest, retained, self.indexes.open, self.indexes.close)
        return found.view if found else None

    def columns(self) -> dict[str, Any]:
        found = CheckpointFolder(self.folder).load(GRAPH)
        assert found is not None
        return dict(found)


@pytest.fixture(params=[SMALL, EXACT], ids=["graph", "exact"])
def saving(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Saving]:
    """Return a view after a hundred random changes, whose indexes are of either kind."""
    print("seed 5")
    indexes, _ = IndexFolder(tmp_path, request.param).open(GRAPH, DIMENSIONS, 0)
    one = Saving(tmp_path, request.param, LiveView(GRAPH, indexes), RandomWorld(random.Random(5), documents=20))
    one.step(100)
    yield one
    one.indexes.close(one.view.indexes)


def test_view_is_restored_bit_for_bit_and_follows_on(saving: Saving) -> None:
    """Every row and vector is equal, in its order, and after further changes the two views still are."""
    saving.save()
    again = saving.restored()
    assert again is not None and again.version == saving.view.version
    assert as_texts(again.rows(vectors=True), in_order=True) == as_texts(saving.view.rows(vectors=True), in_order=True)
    for _ in range(40):
        delta = saving.world.step()
        saving.view.apply(delta)
        again.apply(delta)
    assert as_texts(again.rows(vectors=True)) == as_texts(saving.view.rows(vectors=True))
    assert sorted(canonical_lines(again.rows())) == sorted(canonical_lines(saving.view.rows()))
    for kind in ("chunks", "entities", "statements"):
        ids = getattr(saving.view.indexes, kind).live_ids().tolist()
        assert getattr(again.indexes, kind).live_ids().tolist() == ids
    saving.indexes.close(again.indexes)


def test_vectors_that_a_saved_index_has_are_not_saved_again(saving: Saving) -> None:
    """An HNSW graph has the rows' own vectors; an exact index has unit vectors, from which they do not follow."""
    for index in (saving.view.indexes.chunks, saving.view.indexes.entities, saving.view.indexes.statements):
        index.settle()  # type: ignore[attr-defined]
    saving.save()
    columns = saving.columns()
    places = np.concatenate([columns[f"{kind}.vector_places"] for kind in ("chunks", "entities", "statements")])
    stored = VectorPlace.INDEX if saving.parameters is SMALL else VectorPlace.COLUMN
    assert set(places.tolist()) - {VectorPlace.ABSENT} == {stored}


def test_graph_without_rows_is_restored(tmp_path: Path) -> None:
    """All documents are deleted: the checkpoint has empty columns."""
    indexes = IndexFolder(tmp_path, SMALL)
    opened, _ = indexes.open(GRAPH, DIMENSIONS, 0)
    one = Saving(tmp_path, SMALL, LiveView(GRAPH, opened), RandomWorld(random.Random(1)))
    one.step(3)
    one.view.apply(one.world.change(*list(one.world.live)))
    assert not one.view.documents
    one.save()
    again = one.restored()
    assert again is not None and not again.documents and again.version == one.view.version


def test_texts_outside_of_unicode_are_restored(saving: Saving) -> None:
    """Surrogates without their pair, characters of four bytes and zero bytes are what they were."""
    odd = "a\ud800b \U0001f30a \x00 é"
    chunk = next(iter(saving.view.chunks.values()))
    chunk.title, chunk.description = odd, odd[::-1]
    saving.save()
    again = saving.restored()
    assert again is not None
    assert as_texts(again.rows(vectors=True), in_order=True) == as_texts(saving.view.rows(vectors=True), in_order=True)


@pytest.mark.parametrize(
    ("missed", "first", "end", "usable"),
    [(0, 9, 9, True), (1, 0, 9, True), (1, 5, 9, True), (1, 6, 9, False), (1, 0, 4, False), (-1, 0, 9, False),
     (51, 0, 9, False)],
)  # fmt: skip
def test_checkpoint_is_used_only_where_the_log_continues_it(
    saving: Saving, missed: int, first: int, end: int, usable: bool
) -> None:
    """It is used if it is current, or if every later record is retained and they are few. Others are deleted."""
    saving.save({0: 5})
    newest = saving.view.version + missed
    assert (saving.restored(newest, Retained({0: first}, {0: end})) is not None) == usable
    assert (saving.folder / GRAPH / FILE).exists() == usable


def test_checkpoint_without_a_log_is_used_only_at_its_version(saving: Saving) -> None:
    """A graph that is loaded on demand reads nothing from the log."""
    saving.save()
    assert saving.checkpoints.size_bytes(GRAPH, saving.view.version) == 1
    assert saving.restored() is not None
    assert saving.checkpoints.size_bytes(GRAPH, saving.view.version + 1) == 0
    assert saving.restored() is None, "it was deleted as outdated"


def test_indexes_of_another_version_are_noticed(saving: Saving) -> None:
    """The indexes were saved later than the rows, or lost: no view has vectors of another version."""
    saving.save()
    before = as_texts(saving.view.rows(vectors=True), in_order=True)
    version = saving.view.version
    saving.step(30)
    saving.indexes.save(GRAPH, saving.view.indexes, saving.view.version)
    again = saving.restored(version)
    if saving.parameters is EXACT:  # the columns have all vectors
        assert again is not None and as_texts(again.rows(vectors=True), in_order=True) == before
    else:
        assert again is None
    assert saving.restored() is None


def test_damaged_checkpoint_is_not_used(saving: Saving) -> None:
    """One byte anywhere is another one, or the file ends early: it is restored bit for bit, or not at all."""
    saving.save()
    file = saving.folder / GRAPH / FILE
    data, rows = file.read_bytes(), as_texts(saving.view.rows(vectors=True), in_order=True)
    rng, restored = random.Random(11), 0
    for number in range(100):
        at = rng.randrange(len(data)) if number % 2 else rng.choice((rng.randrange(3000), -rng.randrange(1, 9000)))
        damaged = bytearray(data)
        damaged[at] ^= 1 << rng.randrange(8)
        file.write_bytes(bytes(damaged) if number % 10 else data[: rng.randrange(len(data))])
        again = saving.restored()
        if again is not None:  # a byte that no reader uses
            restored += 1
            assert as_texts(again.rows(vectors=True), in_order=True) == rows
            saving.indexes.close(again.indexes)
    assert restored < 50
    file.write_bytes(data)
    assert saving.restored() is not None


@pytest.mark.parametrize(
    "header",
    [
        b"", b"[]", b"{}", b'{"schema": 2}', b'{"schema": 1, "graph": 1}', b"\xff",
        b'{"schema": 1, "graph": "world", "version": "many", "dimensions": 1, "documents": 1, "size_bytes": 1,'
        b' "offsets": {}}',
        b'{"schema": 1, "graph": "world", "version": [], "dimensions": 1, "documents": 1, "size_bytes": 1,'
        b' "offsets": {}}',
    ],
)  # fmt: skip
def test_header_of_another_kind_is_not_used(saving: Saving, header: bytes) -> None:
    """It is of another release, or of nothing known."""
    saving.save()
    columns = saving.columns() | {HEADER: np.frombuffer(header, np.uint8)}
    CheckpointFolder(saving.folder).save(GRAPH, columns)
    assert saving.restored() is None


def test_full_disk_leaves_the_earlier_checkpoint(saving: Saving, caplog: pytest.LogCaptureFixture) -> None:
    """A warning says so, and what was saved before is still there, alone."""
    saving.save()
    data = (saving.folder / GRAPH / FILE).read_bytes()
    with file_size_limit(len(data) // 2):
        save_rows(saving.checkpoints, saving.view, {0: 9})
    assert "was not saved" in caplog.text
    assert [file.name for file in (saving.folder / GRAPH).iterdir() if file.is_file()] == [FILE]
    assert (saving.folder / GRAPH / FILE).read_bytes() == data


def test_files_are_private_and_deleted_with_the_indexes(saving: Saving) -> None:
    """Only their owner reads them; `drop`, and another history of the database, delete them."""
    saving.indexes.adopt("one")
    saving.save()
    file = saving.folder / GRAPH / FILE
    assert file.stat().st_mode & 0o077 == 0
    saving.indexes.adopt("one")
    assert file.exists()
    saving.indexes.drop(GRAPH)
    assert not file.exists()
    saving.save()
    IndexFolder(saving.folder, saving.parameters).adopt("another")
    assert not file.exists() and not saving.indexes.saved()
    saving.save()
    IndexFolder(saving.folder, saving.parameters).adopt("another")
    assert file.exists()
