"""Behaviour of hnswlib 0.8 that the HNSW adapter relies on or guards against.

A failure here after an upgrade shows that a workaround has become unnecessary, or that another one is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hnswlib
import numpy as np
import pytest

from graphtide.graph.vector_index import Vectors, unit_rows

DIMENSIONS = 16


def rows_of(seed: int, count: int) -> Vectors:
    """Return random unit vectors."""
    return unit_rows(np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32), DIMENSIONS)


def index_of(rows: Vectors, space: str = "ip", capacity: int = 500) -> Any:
    """Return a graph over the rows, labelled from 0 up."""
    index = hnswlib.Index(space=space, dim=rows.shape[1])
    index.init_index(max_elements=capacity, M=8, ef_construction=40, random_seed=7)
    index.set_num_threads(1)
    index.set_ef(64)
    index.add_items(rows, np.arange(len(rows)), num_threads=1)
    return index


def test_query_raises_when_k_exceeds_the_live_count() -> None:
    """Requesting more neighbours than are live is a RuntimeError with the words that the adapter looks for."""
    index = index_of(rows_of(1, 20))
    for label in range(15):
        index.mark_deleted(label)
    assert index.knn_query(rows_of(2, 1), k=5)[0].shape == (1, 5)
    with pytest.raises(RuntimeError, match="contiguous 2D array"):
        index.knn_query(rows_of(2, 1), k=6)


def test_query_with_k_above_ef_searches_as_wide_as_k() -> None:
    """Over-fetching needs no change of ef: k raises the width of the one search."""
    index = index_of(rows_of(3, 400))
    index.set_ef(2)
    labels, _ = index.knn_query(rows_of(4, 1), k=300)
    assert len(set(labels[0].tolist())) == 300


def test_add_accepts_vectors_that_are_not_numbers() -> None:
    """hnswlib accepts NaN silently, so the port refuses it before."""
    index = index_of(rows_of(5, 5))
    index.add_items(np.full((1, DIMENSIONS), np.nan, dtype=np.float32), np.array([9]))
    assert index.get_current_count() == 6


def test_inner_product_space_returns_the_bits_it_was_given() -> None:
    """The adapter keeps no copy of the vectors, so what it reads back must be what it put in."""
    rows = rows_of(6, 50)
    assert np.array_equal(np.asarray(index_of(rows).get_items(np.arange(50)), dtype=np.float32), rows)
    scaled = np.asarray(index_of(rows * np.float32(3), space="cosine").get_items(np.arange(50)), dtype=np.float32)
    assert np.allclose(scaled, rows, atol=1e-6)


def test_distance_does_not_depend_on_the_slot() -> None:
    """Copies of one vector are equally far from a query, else ties could not be broken by id."""
    copies = np.repeat(rows_of(7, 1), 40, axis=0)
    _, distances = index_of(np.concatenate([rows_of(8, 100), copies])).knn_query(copies[:1], k=40)
    assert len(set(distances[0].tolist())) == 1


def test_deleted_label_cannot_be_read_nor_deleted_again() -> None:
    """A tombstone's vector cannot be read: a rebuild must keep the vectors it still needs beforehand."""
    index = index_of(rows_of(9, 10))
    index.mark_deleted(3)
    with pytest.raises(RuntimeError, match="Label not found"):
        index.get_items([3])
    with pytest.raises(RuntimeError, match="already deleted"):
        index.mark_deleted(3)


def test_full_index_refuses_to_add_and_grows_without_readers() -> None:
    """The capacity is fixed; with no query running, a resize keeps everything and adds capacity."""
    rows = rows_of(10, 60)
    index = index_of(rows[:30], capacity=30)
    with pytest.raises(RuntimeError, match="exceeds the specified limit"):
        index.add_items(rows[30:31], np.array([30]))
    before = index.knn_query(rows[:5], k=5)[0]
    index.resize_index(60)
    assert np.array_equal(index.knn_query(rows[:5], k=5)[0], before)
    index.add_items(rows[30:], np.arange(30, 60))
    assert index.knn_query(rows[45:46], k=1)[0].tolist() == [[45]]


def test_build_is_a_function_of_the_seed_and_the_order(tmp_path: Path) -> None:
    """One thread, one seed, one order: one file. Another order: another graph."""
    rows = rows_of(11, 300)
    files = [tmp_path / name for name in ("first", "second", "turned")]
    for file, given in zip(files, (rows, rows, rows[::-1]), strict=True):
        index_of(np.ascontiguousarray(given)).save_index(str(file))
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()


def test_load_forgets_ef_and_threads_and_keeps_tombstones(tmp_path: Path) -> None:
    """After a load ef is 10 again and all processors are used, while deleted labels stay deleted."""
    rows = rows_of(12, 30)
    index = index_of(rows)
    index.mark_deleted(4)
    index.save_index(str(tmp_path / "index"))
    loaded = hnswlib.Index(space="ip", dim=DIMENSIONS)
    loaded.load_index(str(tmp_path / "index"), max_elements=40)
    assert (index.ef, loaded.ef) == (64, 10)
    assert loaded.num_threads == hnswlib.Index(space="ip", dim=DIMENSIONS).num_threads
    assert loaded.knn_query(rows[4:5], k=1)[0].tolist() != [[4]]
    assert loaded.get_max_elements() == 40


def test_file_size_is_known_before_saving(tmp_path: Path) -> None:
    """The index returns the size that an undamaged file must have."""
    index = index_of(rows_of(13, 100))
    index.save_index(str(tmp_path / "index"))
    assert (tmp_path / "index").stat().st_size == index.index_file_size()


@pytest.mark.parametrize("target", ["/dev/full", "missing-folder/index"])
def test_save_reports_success_where_nothing_was_saved(tmp_path: Path, target: str) -> None:
    """A full disk and a missing folder raise no error, so the adapter compares sizes."""
    path = tmp_path / target  # an absolute target replaces the folder
    if target.startswith("/") and not path.exists():
        pytest.skip("no /dev/full on this system")
    index_of(rows_of(14, 100)).save_index(str(path))
    assert not path.is_file()


def test_load_accepts_flipped_bits_and_another_dimension(tmp_path: Path) -> None:
    """hnswlib detects neither, so the manifest carries the dimension and a SHA-256."""
    rows = rows_of(15, 100)
    file = tmp_path / "index"
    index_of(rows).save_index(str(file))
    content = bytearray(file.read_bytes())
    place = content.find(rows[50].tobytes())
    content[place + 2] ^= 0x40
    file.write_bytes(content)
    damaged = hnswlib.Index(space="ip", dim=DIMENSIONS)
    damaged.load_index(str(file))
    assert not np.array_equal(np.asarray(damaged.get_items([50]), dtype=np.float32), rows[50:51])
    other = hnswlib.Index(space="ip", dim=DIMENSIONS // 2)
    other.load_index(str(file))
    assert other.get_current_count() == 100
