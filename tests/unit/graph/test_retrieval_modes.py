"""Every mode against its slow definition, and what holds for all of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from graph.records import DocumentInfo
from graph.retrieval import MODES, Filters, Question, Retrieved, UnknownMode, retrieve
from graph.view import LiveView
from tests.model.retrieval_oracle import (
    DIMENSIONS,
    SmallDocument,
    bag_of_words,
    random_documents,
    slow_local,
    slow_passages,
    slow_vector,
    small_view,
)

SLOWLY: dict[str, Callable[[LiveView, Question], Retrieved]] = {
    "vector": slow_vector,
    "local": slow_local,
    "passages": slow_passages,
}
CHAIN = [
    SmallDocument(
        "journal", "amber review appears monthly", ("amber review",), (("amber review", "of", "birch guild"),)
    ),
    SmallDocument("guild", "birch guild elected heron", ("birch guild",), (("birch guild", "led by", "heron"),)),
    SmallDocument("other", "cedar guild elected larch", ("cedar guild",), (("cedar guild", "led by", "larch"),)),
    SmallDocument("noise", "delta ember fjord", ("delta", "ember")),
]


def ask(text: str, mode: str = "local", **fields: object) -> Question:
    return replace(Question(text, bag_of_words(text), mode=mode), **fields)  # type: ignore[arg-type]


def ids(result: Retrieved) -> list[str]:
    return [passage.chunk_id for passage in result.passages]


@pytest.mark.parametrize("mode", sorted(SLOWLY))
@pytest.mark.parametrize("seed", range(6))
def test_mode_ranks_as_its_definition_on_random_graphs(mode: str, seed: int) -> None:
    """The same passages in the same order with the same scores as loops over the whole graph give."""
    print("seed", seed)
    rng = random.Random(seed)
    documents = random_documents(rng, rng.choice((3, 25, 160)))
    view = small_view(documents)
    for asked in rng.sample(documents, 3):
        question = ask(f"{asked.entities[0]} near cedar", mode, top_k=8)
        fast, slow = retrieve(view, question), SLOWLY[mode](view, question)
        assert ids(fast) == ids(slow)
        scores = [passage.score for passage in slow.passages]
        assert [passage.score for passage in fast.passages] == pytest.approx(scores, abs=1e-3)


def test_definition_covers_every_mode_there_is() -> None:
    """A mode that is registered is checked here against its definition."""
    assert set(SLOWLY) == set(MODES)


@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.parametrize("seed", range(4))
def test_result_is_unchanged_when_documents_arrived_in_another_order(mode: str, seed: int) -> None:
    """Numbers inside differ, what is handed out does not, to the last bit of every score."""
    print("seed", seed)
    rng = random.Random(seed)
    documents = random_documents(rng, 120)
    shuffled = rng.sample(documents, len(documents))
    question = ask(f"{documents[0].entities[0]} of heron", mode, top_k=10, explain=True)
    one, other = retrieve(small_view(documents), question), retrieve(small_view(shuffled), question)
    assert one.passages == other.passages
    assert one.subgraph == other.subgraph
    assert one.trace is not None
    assert one.trace == other.trace


@pytest.mark.parametrize("mode", ["local", "passages"])
def test_second_hop_is_found_when_it_is_nothing_like_the_question(mode: str) -> None:
    """The passage that only a shared entity leads to comes second, which similarity alone does not see."""
    view = small_view(CHAIN)
    question = ask("cedar who led the publisher of amber review appears monthly", mode, top_k=2)
    assert ids(retrieve(view, question)) == ["journal#0", "guild#0"]
    assert "guild#0" not in ids(retrieve(view, replace(question, mode="vector")))


@pytest.mark.parametrize("mode", sorted(MODES))
def test_empty_graph_gives_nothing_and_says_its_version(mode: str) -> None:
    """A question to a graph without documents is no error."""
    view = small_view([])
    result = retrieve(view, ask("amber", mode, explain=True))
    assert (result.passages, result.subgraph.nodes, result.version, result.mode) == ((), (), 1, mode)
    assert result.trace is not None


@pytest.mark.parametrize("mode", sorted(MODES))
def test_question_without_direction_gives_nothing(mode: str) -> None:
    """A zero vector, as an embedder may give for no known word, is near nothing."""
    question = Question("???", np.zeros(DIMENSIONS, np.float32), mode=mode)
    assert retrieve(small_view(CHAIN), question).passages == ()


@pytest.mark.parametrize("mode", sorted(MODES))
def test_top_k_beyond_the_graph_gives_every_passage_once(mode: str) -> None:
    """More passages asked for than there are: all of them, none twice."""
    documents = random_documents(random.Random(3), 130)
    found = ids(retrieve(small_view(documents), ask("amber grove", mode, top_k=500)))
    assert sorted(found) == sorted(f"{document.doc_id}#0" for document in documents)


@pytest.mark.parametrize("mode", sorted(MODES))
def test_passages_that_are_all_alike_come_by_name(mode: str) -> None:
    """Where nothing tells passages apart, their chunk ids do, whatever the order of arrival."""
    twins = [SmallDocument(name, "amber birch", ("amber",)) for name in ("c", "a", "d", "b")]
    found = ids(retrieve(small_view(twins), ask("amber birch", mode, top_k=3)))
    assert found == ["a#0", "b#0", "c#0"]


@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        (Filters(doc_ids=("b", "c")), {"b", "c"}),
        (Filters(sources=("wiki",)), {"a", "b"}),
        (Filters(metadata=(("lang", "en"), ("rank", 2.0))), {"b"}),
        (Filters(occurred_from="2021", occurred_to="2022"), {"b", "c"}),
        (Filters(doc_ids=("nobody",)), set()),
    ],
)
def test_filter_leaves_only_what_it_admits(mode: str, filters: Filters, kept: set[str]) -> None:
    """Each kind of filter decides by the document, and nothing else is handed out or shown in the subgraph."""
    infos = {
        "a": DocumentInfo("", "wiki", "2020-05-01", (("lang", '"en"'), ("rank", "1"))),
        "b": DocumentInfo("", "wiki", "2021-05-01", (("lang", '"en"'), ("rank", "2"))),
        "c": DocumentInfo("", "mail", "2022-12-31T12:00:00Z", (("lang", '"de"'),)),
        "d": DocumentInfo("", "mail"),
    }
    documents = [SmallDocument(n, f"amber {n}", ("amber", n), (("amber", "of", n),), info) for n, info in infos.items()]
    result = retrieve(small_view(documents), ask("amber", mode, filters=filters))
    assert {passage.doc_id for passage in result.passages} == kept
    assert {node.name for node in result.subgraph.nodes} == (kept | {"amber"} if kept else set())


def test_filter_is_applied_before_ranking_when_it_refuses_the_nearest() -> None:
    """What a filter refuses takes no place: as many passages come as were asked for."""
    documents = random_documents(random.Random(1), 150)
    sources = {f"{document.doc_id}#0": document.info.source for document in documents}
    question = ask("amber grove near", "local", top_k=20, filters=Filters(sources=("a",)))
    found = ids(retrieve(small_view(documents), question))
    assert len(found) == 20
    assert {sources[chunk] for chunk in found} == {"a"}


@pytest.mark.parametrize("mode", ["local", "passages"])
def test_trace_explains_every_score_it_shows(mode: str) -> None:
    """Seeds, restart, pairs and passages are there, and the parts of a pair add up to its score."""
    view = small_view(random_documents(random.Random(5), 60))
    result = retrieve(view, ask("amber grove near cedar heron", mode, explain=True))
    assert result.trace is not None
    steps = {step.name: step.items for step in result.trace.steps}
    assert {"relation seeds", "entity seeds", "passage seeds", "personalised PageRank", "pairs", "passages"} <= set(
        steps
    )
    for pair in steps["pairs"]:
        assert sum(value for _, value in pair.parts) == pytest.approx(pair.score)
    assert [item.id for item in steps["passages"]] == ids(result)
    assert sum(item.score for item in steps["words"]) == pytest.approx(1)


def test_trace_shows_nothing_that_a_filter_refuses() -> None:
    """Passages of other documents are neither seeds nor stations of the walk nor members of a pair."""
    documents = random_documents(random.Random(7), 60)
    refused = {f"{document.doc_id}#0" for document in documents if document.info.source != "b"}
    question = ask("amber grove near", filters=Filters(sources=("b",)), explain=True)
    trace = retrieve(small_view(documents), question).trace
    assert trace is not None
    shown = {part for step in trace.steps for item in step.items for part in item.id.split(" + ")}
    assert any(name.endswith("#0") for name in shown)
    assert not shown & refused


@pytest.mark.parametrize("mode", sorted(MODES))
def test_trace_is_left_out_when_nobody_asked(mode: str) -> None:
    """An explanation costs, so it is made on request only."""
    assert retrieve(small_view(CHAIN), ask("amber", mode)).trace is None


def test_subgraph_shows_what_the_passages_state() -> None:
    """The relation between the two entities of the passage, named by their canonical ids, with its weight."""
    result = retrieve(small_view(CHAIN), ask("birch guild elected heron", "vector", top_k=1))
    names = {node.id: node.name for node in result.subgraph.nodes}
    said = [(names[edge.source], edge.predicate, names[edge.target], edge.weight) for edge in result.subgraph.edges]
    assert said == [("birch guild", "led by", "heron", 1.0)]


def test_unknown_mode_is_refused_with_the_modes_there_are() -> None:
    """The message names what could have been asked for."""
    with pytest.raises(UnknownMode, match="local, passages, vector"):
        retrieve(small_view(CHAIN), ask("amber", "telepathy"))


def test_top_k_below_one_is_refused() -> None:
    """No passages cannot be asked for."""
    with pytest.raises(ValueError, match="top_k"):
        retrieve(small_view(CHAIN), ask("amber", top_k=0))
