"""Index snapshots: a load returns exactly the saved index, or fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from graphtide.graph.vector_index import Vectors
from graphtide.infra.hnsw import HnswIndex, HnswParameters, IndexDamaged, IndexNotSaved
from graphtide.infra.hnsw.generation import HnswGeneration
from graphtide.infra.hnsw.snapshot import MANIFEST, Snapshot
from graphtide.infra.index_folder import IndexFolder
from tests.support.full_disk import file_size_limit

DIMENSIONS = 16
GRAPH, EXACT = HnswParameters(exact_below=50), HnswParameters(exact_below=5000)


def rows_of(seed: int, count: int) -> Vectors:
    """Random vectors."""
    return np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)


def index_of(parameters: HnswParameters, count: int = 300) -> HnswIndex:
    """Return an index with live and dead vectors."""
    index = HnswIndex(DIMENSIONS, parameters)
    index.add(np.arange(count), rows_of(1, count))
    index.settle()
    index.remove(np.arange(0, count, 7))
    return index


@pytest.fixture(params=[GRAPH, EXACT], ids=["graph", "exact"])
def parameters(request: pytest.FixtureRequest) -> HnswParameters:
    """Return an index of each kind."""
    chosen: HnswParameters = request.param
    return chosen


def test_snapshot_brings_back_the_index_it_was_taken_of(tmp_path: Path, parameters: HnswParameters) -> None:
    """Ids, vectors, answers and tombstones survive, and the loaded index accepts further changes."""
    index = index_of(parameters)
    index.save(tmp_path / "snapshot", 41)
    loaded = HnswIndex.load(tmp_path / "snapshot", DIMENSIONS, 41, parameters)
    ids = np.array([id_ for id_ in range(300) if id_ % 7], dtype=np.int64)
    assert len(loaded) == len(ids)
    assert np.array_equal(loaded.vectors(ids), index.vectors(ids))
    assert loaded.statistics().kind == index.statistics().kind
    assert loaded.statistics().tombstones == index.statistics().tombstones
    queries = rows_of(2, 20)
    assert np.array_equal(loaded.search(queries, 10).ids, index.search(queries, 10).ids)
    loaded.add(np.arange(300, 600), rows_of(3, 300))
    assert len(loaded) == len(ids) + 300
    index.close()
    loaded.close()


def test_snapshot_of_an_empty_index_loads(tmp_path: Path) -> None:
    """An empty index can be saved and loaded."""
    for parameters in (GRAPH, EXACT):
        HnswIndex(DIMENSIONS, parameters).save(tmp_path, 0)
        assert len(HnswIndex.load(tmp_path, DIMENSIONS, 0, parameters)) == 0


def test_snapshot_replaces_the_one_before_and_its_files(tmp_path: Path, parameters: HnswParameters) -> None:
    """After a second save the folder has one manifest and two data files, and the first version is stale."""
    index = index_of(parameters)
    index.save(tmp_path, 1)
    index.add(np.array([999]), rows_of(4, 1))
    index.save(tmp_path, 2)
    assert len(list(tmp_path.iterdir())) == 3
    with pytest.raises(IndexDamaged, match="version 2, expected 1"):
        HnswIndex.load(tmp_path, DIMENSIONS, 1, parameters)
    assert 999 in HnswIndex.load(tmp_path, DIMENSIONS, 2, parameters)
    index.close()


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x10
    file.write_bytes(content)


def _empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize("damage", [_truncate, _flip, _empty, Path.unlink])
@pytest.mark.parametrize("pattern", ["*.vectors", "*.ids", MANIFEST])
def test_load_refuses_a_damaged_file(
    tmp_path: Path, parameters: HnswParameters, pattern: str, damage: Callable[[Path], None]
) -> None:
    """Any of the three files truncated, bit-flipped, emptied or missing raises IndexDamaged."""
    index = index_of(parameters)
    index.save(tmp_path, 1)
    index.close()
    damage(next(tmp_path.glob(pattern)))
    with pytest.raises(IndexDamaged):
        HnswIndex.load(tmp_path, DIMENSIONS, 1, parameters)


def test_load_refuses_every_flipped_bit_of_the_manifest(tmp_path: Path) -> None:
    """Every change of a byte of the manifest is detected, except of the white space at its end."""
    index = index_of(EXACT, 20)
    index.save(tmp_path, 1)
    index.close()
    intact = (tmp_path / MANIFEST).read_bytes()
    for place in range(len(intact.rstrip())):
        content = bytearray(intact)
        content[place] ^= 0x02
        (tmp_path / MANIFEST).write_bytes(content)
        with pytest.raises(IndexDamaged):
            HnswIndex.load(tmp_path, DIMENSIONS, 1, EXACT)


def test_load_refuses_another_dimension_or_other_build_parameters(tmp_path: Path, parameters: HnswParameters) -> None:
    """A snapshot fits one dimension and one set of build parameters; the search width may change."""
    index = index_of(parameters)
    index.save(tmp_path, 1)
    index.close()
    with pytest.raises(IndexDamaged, match="dimensions 16, expected 8"):
        HnswIndex.load(tmp_path, 8, 1, parameters)
    with pytest.raises(IndexDamaged, match="parameters"):
        HnswIndex.load(tmp_path, DIMENSIONS, 1, HnswParameters(links=8))
    wider = HnswParameters(search_width=300, exact_below=parameters.exact_below)
    HnswIndex.load(tmp_path, DIMENSIONS, 1, wider).close()


def test_load_of_a_folder_that_is_not_there_is_damage(tmp_path: Path) -> None:
    """A folder without a snapshot raises IndexDamaged, as at the first start of a service."""
    with pytest.raises(IndexDamaged, match="cannot be read"):
        HnswIndex.load(tmp_path / "nowhere", DIMENSIONS, 1)


def test_save_reports_a_full_disk_and_leaves_the_previous_snapshot(tmp_path: Path, parameters: HnswParameters) -> None:
    """hnswlib ignores a full disk; the adapter raises, cleans up, and the old snapshot still loads."""
    index = index_of(parameters)
    index.save(tmp_path, 1)
    before = sorted(file.name for file in tmp_path.iterdir())
    index.add(np.arange(1000, 1200), rows_of(5, 200))
    with file_size_limit(4096), pytest.raises(IndexNotSaved, match="not saved"):
        index.save(tmp_path, 2)
    assert sorted(file.name for file in tmp_path.iterdir()) == before
    HnswIndex.load(tmp_path, DIMENSIONS, 1, parameters).close()
    index.save(tmp_path, 2)
    assert 1100 in HnswIndex.load(tmp_path, DIMENSIONS, 2, parameters)
    index.close()


def test_save_into_a_place_that_is_no_folder_is_reported(tmp_path: Path) -> None:
    """A file in the folder's place fails the save, although hnswlib ignores it."""
    (tmp_path / "taken").write_text("not a folder")
    with pytest.raises(IndexNotSaved):
        index_of(GRAPH).save(tmp_path / "taken", 1)


def test_save_refuses_what_does_not_prove_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of the right size whose vectors were written wrongly is detected by the reload."""
    index = index_of(GRAPH)
    write = HnswGeneration.write

    def corrupting(generation: HnswGeneration, file: str) -> int:
        size_bytes = write(generation, file)
        content, row = Path(file).read_bytes(), generation.vectors(np.array([1]))[0].tobytes()
        Path(file).write_bytes(content.replace(row, row[::-1]))
        return size_bytes

    monkeypatch.setattr(HnswGeneration, "write", corrupting)
    with pytest.raises(IndexNotSaved, match="other vectors"):
        index.save(tmp_path, 1)
    assert not (tmp_path / MANIFEST).exists()
    index.close()


def test_manifest_says_what_the_snapshot_is(tmp_path: Path) -> None:
    """Dimension, space, count and version are readable text."""
    index = index_of(GRAPH)
    index.save(tmp_path, 12)
    index.close()
    manifest = json.loads(json.loads((tmp_path / MANIFEST).read_text())["manifest"])
    assert [manifest[name] for name in ("dim", "space", "count", "version", "kind")] == [16, "cosine", 300, 12, "hnsw"]


@pytest.mark.parametrize(
    ("schema", "readable"), [(None, False), (1, False), (2, True), (3, False), ("2", False), ([], False)]
)
def test_snapshot_of_another_schema_is_refused_and_built_anew(
    tmp_path: Path, schema: object, readable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A snapshot of an earlier schema (the first named none) or a newer one is replaced by an empty index."""
    keeper = IndexFolder(tmp_path, EXACT)
    indexes, _ = keeper.open("g", DIMENSIONS, 0)
    indexes.chunks.add(np.arange(5), rows_of(1, 5))
    keeper.save("g", indexes, 3)
    path = tmp_path / "g" / "chunks" / MANIFEST
    body = json.loads(json.loads(path.read_text())["manifest"])
    assert body.pop("schema") == 2
    changed = json.dumps(body if schema is None else {**body, "schema": schema})
    path.write_text(json.dumps({"manifest": changed, "sha256": sha256(changed.encode()).hexdigest()}))
    again, versions = keeper.open("g", DIMENSIONS, 3)
    assert (len(again.chunks), versions.chunks) == ((5, 3) if readable else (0, 0))
    assert readable or "the index is built anew from the store" in caplog.text


@pytest.mark.parametrize("field", ["version", "count", "vectors", "parameters"])
def test_manifest_with_a_field_of_another_type_is_refused(tmp_path: Path, field: str) -> None:
    """Even with a valid checksum: nothing is compared with or computed from it."""
    index_of(EXACT).save(tmp_path, 12)
    body = json.loads(json.loads((tmp_path / MANIFEST).read_text())["manifest"])
    changed = json.dumps({**body, field: [body[field]]})
    sealed = {"manifest": changed, "sha256": sha256(changed.encode()).hexdigest()}
    (tmp_path / MANIFEST).write_text(json.dumps(sealed))
    with pytest.raises(IndexDamaged, match="cannot be read"):
        Snapshot(tmp_path, DIMENSIONS, EXACT).version()
