"""Files of the HNSW kernel whose numbers are wrong: refused before memory is allocated for them or read by them."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest

from graphtide.graph._hnsw import Kernel

DIMENSIONS, COUNT = 16, 200
HEAD = 24 + COUNT * (1 + 2 * DIMENSIONS)
"""The bytes before the graph's own header: three numbers, and the vectors with a byte each."""
HEADER = 96


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the file of a graph of some levels, with tombstones."""
    rows = np.random.default_rng(1).normal(size=(COUNT, DIMENSIONS)).astype(np.float16)
    kernel, file = Kernel(DIMENSIONS, COUNT, 4, 20, 1), tmp_path_factory.mktemp("graph") / "graph"
    kernel.add(list(rows))
    for label in range(0, COUNT, 9):
        kernel.mark_deleted(label)
    kernel.save(str(file))
    return file.read_bytes()


def read(file: Path, content: bytes) -> Kernel:
    """Return the graph in a file with this content."""
    file.write_bytes(content)
    return Kernel.load(str(file), DIMENSIONS, COUNT)


DAMAGE = {
    "an offset": (0, "<Q", 8),
    "more elements": (16, "<Q", COUNT + 1),
    "elements beyond any memory": (16, "<Q", 1 << 40),
    "an element beyond any memory": (24, "<Q", 1 << 50),
    "an element without bytes": (24, "<Q", 0),
    "another place of labels": (32, "<Q", 1 << 30),
    "another highest level": (48, "<i", 77),
    "a begin outside the graph": (52, "<I", 399_000),
    "more links of a level": (56, "<Q", 1 << 20),
    "more links of the lowest level": (64, "<Q", 1 << 40),
    "another number of links": (72, "<Q", 0),
    "too many links of an element": (HEADER, "<H", 60_000),
    "a link out of the graph": (HEADER + 4, "<I", 77_000_000),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_load_refuses_a_wrong_number(tmp_path: Path, saved: bytes, damage: str) -> None:
    """Each number of the header, and those of an element's links."""
    place, form, value = DAMAGE[damage]
    content = bytearray(saved)
    struct.pack_into(form, content, HEAD + place, value)
    with pytest.raises(RuntimeError):
        read(tmp_path / "graph", bytes(content))


def test_load_refuses_every_other_length(tmp_path: Path, saved: bytes) -> None:
    """A file that ends in the vectors, in the header, in the lowest level or in the others, and one that is longer."""
    places = range(0, len(saved), 211)
    for content in (*(saved[:place] for place in places), saved[:-1], saved + b"\0"):
        with pytest.raises(RuntimeError):
            read(tmp_path / "graph", content)


def test_graph_with_any_wrong_byte_is_refused_or_can_be_searched_and_extended(tmp_path: Path, saved: bytes) -> None:
    """No byte of the graph leads to a read outside of it."""
    rng = random.Random(3)
    row = np.random.default_rng(4).normal(size=DIMENSIONS).astype(np.float16)
    loaded = 0
    for _ in range(300):
        content = bytearray(saved)
        content[rng.randrange(HEAD, len(saved))] ^= rng.randrange(1, 256)
        try:
            kernel = read(tmp_path / "graph", bytes(content))
        except RuntimeError:
            continue
        loaded += 1
        kernel.resize(COUNT + 8)
        kernel.add([row] * 8)
        labels, _ = kernel.search(row.astype(np.float32), 5)
        assert len(labels) <= 5
    assert 0 < loaded < 300
