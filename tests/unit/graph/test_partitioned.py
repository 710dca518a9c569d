"""A graph in several shards: exact questions have the results of one view, to the last bit."""

from __future__ import annotations

import random

import pytest

from graphtide.graph.partitioned import LocalShards, PartitionedView, divide, retrieve_partitioned
from graphtide.graph.retrieval.modes.table import MODES, retrieve
from graphtide.graph.retrieval.types import Filters, Question
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView
from tests.model.small_views import DIMENSIONS, bag_of_words, random_documents, small_view

DOCUMENTS = 60


def partitioned(view: LiveView, count: int) -> PartitionedView:
    shards, placement = divide(view, count, lambda _: ExactIndex(DIMENSIONS))
    return PartitionedView(view, LocalShards(shards), placement)


@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.thorough), 4])
def test_every_mode_answers_from_shards_as_from_one_view(mode: str, count: int) -> None:
    """Passages, scores, subgraph, parts and trace are equal; the second question begins without rows."""
    print("seed", count)
    documents = random_documents(random.Random(count), DOCUMENTS)
    view = small_view(documents)
    parts = partitioned(view, count)
    for one, other in ((0, 1), (7, 30)):
        text = f"how is {documents[one].entities[0]} related to {documents[other].entities[0]}"
        question = Question(text, bag_of_words(text), 10, mode, exact=True, explain=True)
        found, traffic = retrieve_partitioned(parts, question)
        assert found == retrieve(view, question)
        assert traffic.rows > 0


@pytest.mark.parametrize("mode", ["vector", "local"])
def test_filters_admit_the_same_passages_in_shards(mode: str) -> None:
    """A search is repeated until enough of its hits are admitted."""
    print("seed 3")
    documents = random_documents(random.Random(3), DOCUMENTS)
    view = small_view(documents)
    some = tuple(sorted(view.documents))[::7]
    text = str(documents[0].entities[0])
    question = Question(text, bag_of_words(text), 5, mode, Filters(doc_ids=some), exact=True)
    found = retrieve(partitioned(view, 3), question)
    assert found == retrieve(view, question)
    assert {passage.doc_id for passage in found.passages} <= set(some)


def test_each_row_is_in_one_shard_and_a_document_with_its_passages() -> None:
    print("seed 4")
    view = small_view(random_documents(random.Random(4), DOCUMENTS))
    shards, _ = divide(view, 4, lambda _: ExactIndex(DIMENSIONS))
    for kind in ("chunks", "statements", "labels", "entities", "documents"):
        keys = [key for shard in shards for key in shard.rows[kind]]
        assert sorted(keys) == sorted(getattr(view, kind))
    for shard in shards:
        assert {chunk.doc_id for chunk in shard.rows["chunks"].values()} == set(shard.rows["documents"])
    for name in ("chunks", "statements", "entities"):
        assert sum(shard.sizes()[name] for shard in shards) == len(getattr(view.indexes, name))


def test_number_of_rounds_grows_more_slowly_than_the_graph() -> None:
    """Rows are read in rounds of many. The corpus has a fixed vocabulary, so its hubs grow with the documents."""
    print("seed 5")
    documents = random_documents(random.Random(5), 10 * DOCUMENTS)
    text = f"how is {documents[0].entities[0]} related to {documents[1].entities[0]}"
    question = Question(text, bag_of_words(text), 10, "local", exact=True)
    rounds = []
    for count in (DOCUMENTS, 10 * DOCUMENTS):
        parts = partitioned(small_view(documents[:count]), 4)
        found, traffic = retrieve_partitioned(parts, question)
        assert found.passages
        rounds.append(traffic.rounds)
    assert rounds[1] < 4 * rounds[0], rounds


def test_tables_in_shards_cannot_be_listed() -> None:
    """A caller that needs all rows gets an error instead of those that happen to be here."""
    parts = partitioned(small_view(random_documents(random.Random(6), 5)), 2)
    for listed in (iter, len, lambda table: table.keys(), lambda table: table.values(), lambda table: table.items()):
        with pytest.raises(TypeError, match="cannot be listed"):
            listed(parts.documents)
