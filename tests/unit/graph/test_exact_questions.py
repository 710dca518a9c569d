"""Exact questions: no approximate search takes part, and the passages depend on the live documents alone."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from graphtide.graph.records import ChunkRow, GraphDelta, Removals
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.types import Question
from graphtide.graph.vector_index import ExactIndex, Ids, Vectors
from graphtide.graph.view import LiveView, VectorIndexes
from tests.model.small_views import DIMENSIONS, bag_of_words, random_documents, small_view
from tests.support.worlds import RandomWorld, empty_view

MODES = ("bridge", "local", "passages", "vector")


class ForgetfulIndex(ExactIndex):
    """An index that misses neighbours, as an approximate one may: every second vector is not found."""

    def put(self, keys: list[int], rows: Vectors) -> None:
        """Keep the vectors of odd ids only."""
        kept = [place for place, key in enumerate(keys) if key % 2]
        super().put([keys[place] for place in kept], rows[kept])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(3))
def test_exact_question_is_answered_as_by_exact_indexes_when_the_indexes_miss_neighbours(mode: str, seed: int) -> None:
    """A view whose indexes find half of the vectors gives the same passages and scores as a view on exact indexes."""
    print("seed", seed)
    documents = random_documents(random.Random(seed), 90)
    text = f"how is {documents[0].entities[0]} related to {documents[1].entities[0]}"
    question = Question(text, bag_of_words(text), 10, mode, exact=True)
    forgetful = small_view(documents, lambda: ForgetfulIndex(DIMENSIONS))
    right = retrieve(small_view(documents), replace(question, exact=False))
    assert retrieve(forgetful, question).passages == right.passages
    assert retrieve(forgetful, replace(question, exact=False)).passages != right.passages


@pytest.mark.parametrize("order", [1, 2])
def test_exact_question_breaks_ties_by_name_when_many_passages_are_equal(order: int) -> None:
    """The first by name of sixty passages with one vector are returned, whatever the order of arrival."""
    names = [f"d{number:02}" for number in range(60)]
    shuffled = random.Random(order).sample(names, len(names))
    vector = np.ones(4, np.float16)
    rows = tuple(ChunkRow(number, name, name, 0, "the same", vector) for number, name in enumerate(shuffled))
    view = LiveView("g", VectorIndexes(ExactIndex(4), ExactIndex(4), ExactIndex(4)))
    view.apply(GraphDelta("g", 1, chunks=rows))
    found = retrieve(view, Question("x", vector.astype(np.float32), 5, "vector", exact=True))
    assert [passage.chunk_id for passage in found.passages] == names[:5]


def test_exact_indexes_hold_the_vectors_of_the_live_rows_after_every_change() -> None:
    """They are built once, and follow insertions, edits and deletions."""
    print("seed 5")
    world, view = RandomWorld(random.Random(5)), empty_view()
    for _ in range(40):
        view.apply(world.step())
        exact = view.exact_indexes()
        for index, table in (
            (exact.chunks, view.chunks),
            (exact.entities, view.entities),
            (exact.statements, view.statements),
        ):
            expected = {number: row.vector for number, row in table.items() if row.vector.size}
            assert index.live_ids().tolist() == sorted(expected)
            for number, vector in expected.items():
                unit = vector.astype(np.float64) / np.linalg.norm(vector.astype(np.float64))
                assert np.array_equal(index.vectors(_ids(number))[0], unit.astype(np.float32))


def test_exact_indexes_are_absent_until_an_exact_question() -> None:
    """A graph without exact questions holds no second copy of its vectors."""
    view = small_view(random_documents(random.Random(1), 20))
    question = Question("amber", bag_of_words("amber"))
    retrieve(view, question)
    assert not view.exact.exist
    retrieve(view, replace(question, exact=True))
    assert view.exact.exist


def test_exact_indexes_are_built_anew_when_vectors_get_another_length() -> None:
    """A graph whose rows had no vector had indexes without a length."""
    view = LiveView("g", VectorIndexes(ExactIndex(4), ExactIndex(4), ExactIndex(4)))
    view.apply(GraphDelta("g", 1, chunks=(ChunkRow(0, "a", "a", 0, "a", np.empty(0, np.float16)),)))
    assert len(view.exact_indexes().chunks) == 0
    rows = (ChunkRow(1, "b", "b", 0, "b", np.ones(4, np.float16)),)
    view.apply(GraphDelta("g", 2, Removals(chunks=(0,)), chunks=rows))
    assert view.exact_indexes().chunks.live_ids().tolist() == [1]


def _ids(number: int) -> Ids:
    return np.array([number], np.int64)
