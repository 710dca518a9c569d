"""Rebuilds of several indexes take turns, in the order in which they asked."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from graphtide.infra.hnsw import HnswIndex, HnswParameters
from graphtide.infra.hnsw.generation import HnswGeneration, Row
from graphtide.infra.hnsw.turns import Turns

COUNT = 400


def test_one_rebuild_inserts_at_a_time_and_none_waits_for_another_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for one slice of the other, so both end in the same part of the time."""
    inserting, slices, overlaps = set[int](), list[int](), list[int]()
    put = HnswGeneration.put

    def watched(self: HnswGeneration, keys: list[int], rows: Sequence[Row]) -> None:
        inserting.add(id(self))
        overlaps.append(len(inserting))
        slices.append(id(self))
        put(self, keys, rows)
        inserting.discard(id(self))

    monkeypatch.setattr(HnswGeneration, "put", watched)
    vectors = np.random.default_rng(1).normal(size=(COUNT, 16)).astype(np.float16)
    indexes = [HnswIndex(16, HnswParameters(exact_below=50)) for _ in range(3)]
    with ThreadPoolExecutor(len(indexes)) as pool:
        list(pool.map(lambda index: index.add(np.arange(COUNT), list(vectors)), indexes))
    for index in indexes:
        index.settle()
        assert index.statistics().kind == "hnsw"
        index.close()
    assert set(overlaps) == {1}
    assert len(slices) == len(indexes) * COUNT // 16


def test_turn_is_passed_on_in_the_order_of_arrival() -> None:
    """Also if the holder asks again at once."""
    turns, order = Turns(), list[str]()
    arrived = threading.Event()

    def second() -> None:
        arrived.set()
        with turns.turn():
            order.append("second")

    with turns.turn():
        thread = threading.Thread(target=second)
        thread.start()
        arrived.wait()
        while not turns._waiting:
            pass
        order.append("first")
    with turns.turn():
        order.append("first again")
    thread.join()
    assert order == ["first", "second", "first again"]


def test_turn_is_passed_on_after_an_error() -> None:
    """A rebuild that fails stops no other."""
    turns = Turns()
    with pytest.raises(RuntimeError, match="full"), turns.turn():
        raise RuntimeError("full")
    with turns.turn():
        pass
