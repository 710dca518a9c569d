"""The modes of pairs and similarity compared with their slow definitions; the laws of all modes have their own file."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from graphtide.graph.retrieval.modes.table import MODES, UnknownMode, retrieve
from graphtide.graph.retrieval.types import Filters, Question, RetrievalResult
from graphtide.graph.view import LiveView
from tests.model.dynagrag_oracle import slow_dynagrag
from tests.model.nakg_oracle import slow_nakg
from tests.model.retrieval_oracle import slow_local, slow_passages, slow_vector
from tests.model.small_views import SmallDocument, bag_of_words, random_documents, small_view
from tests.support.random_options import random_options

SLOWLY: dict[str, Callable[[LiveView, Question], RetrievalResult]] = {
    "vector": slow_vector,
    "local": slow_local,
    "passages": slow_passages,
    "dynagrag": slow_dynagrag,
    "nakg": slow_nakg,
}
SEARCHED = {"vector", "local", "passages"}
"""Modes whose slow definition reads the options of the question."""
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


def ids(result: RetrievalResult) -> list[str]:
    return [passage.chunk_id for passage in result.passages]


@pytest.mark.thorough
@pytest.mark.parametrize("mode", sorted(SLOWLY))
@pytest.mark.parametrize("seed", range(6))
def test_mode_ranks_as_its_definition_on_random_graphs(mode: str, seed: int) -> None:
    """The passages, their order and scores equal those of loops over the whole graph, with options and without."""
    print("seed", seed)
    rng = random.Random(seed)
    documents = random_documents(rng, rng.choice((3, 25, 160)))
    view = small_view(documents)
    for asked in rng.sample(documents, 3):
        question = ask(f"{asked.entities[0]} near cedar", mode, top_k=8)
        question = replace(question, options=random_options(rng, mode) if seed % 2 and mode in SEARCHED else ())
        fast, slow = retrieve(view, question), SLOWLY[mode](view, question)
        assert ids(fast) == ids(slow)
        scores = [passage.score for passage in slow.passages]
        assert [passage.score for passage in fast.passages] == pytest.approx(scores, abs=1e-3)


@pytest.mark.parametrize("mode", ["local", "passages"])
def test_second_hop_is_found_when_it_is_nothing_like_the_question(mode: str) -> None:
    """The passage reached only through a shared entity comes second, which similarity alone does not find."""
    view = small_view(CHAIN)
    question = ask("cedar who led the publisher of amber review appears monthly", mode, top_k=2)
    assert ids(retrieve(view, question)) == ["journal#0", "guild#0"]
    assert "guild#0" not in ids(retrieve(view, replace(question, mode="vector")))


def test_filter_is_applied_before_ranking_when_it_refuses_the_nearest() -> None:
    """A refused passage takes no slot: the requested number of passages is returned."""
    documents = random_documents(random.Random(1), 150)
    sources = {f"{document.doc_id}#0": document.info.source for document in documents}
    question = ask("amber grove near", "local", top_k=20, filters=Filters(sources=("a",)))
    found = ids(retrieve(small_view(documents), question))
    assert len(found) == 20
    assert {sources[chunk] for chunk in found} == {"a"}


@pytest.mark.parametrize("mode", ["local", "passages"])
def test_trace_explains_every_score_it_shows(mode: str) -> None:
    """The trace has seeds, restart, pairs and passages, and the parts of a pair add up to its score."""
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
    """Passages of other documents are neither seeds nor nodes of the walk nor members of a pair."""
    documents = random_documents(random.Random(7), 60)
    refused = {f"{document.doc_id}#0" for document in documents if document.info.source != "b"}
    question = ask("amber grove near", filters=Filters(sources=("b",)), explain=True)
    trace = retrieve(small_view(documents), question).trace
    assert trace is not None
    shown = {part for step in trace.steps for item in step.items for part in item.id.split(" + ")}
    assert any(name.endswith("#0") for name in shown)
    assert not shown & refused


def test_subgraph_shows_what_the_passages_state() -> None:
    """It is the relation between the two entities of the passage, named by their canonical ids, with its weight."""
    result = retrieve(small_view(CHAIN), ask("birch guild elected heron", "vector", top_k=1))
    names = {node.id: node.name for node in result.subgraph.nodes}
    shown = [(names[edge.source], edge.predicate, names[edge.target], edge.weight) for edge in result.subgraph.edges]
    assert shown == [("birch guild", "led by", "heron", 1.0)]


def test_unknown_mode_is_refused_with_the_modes_there_are() -> None:
    """The message names the available modes."""
    with pytest.raises(UnknownMode, match=", ".join(sorted(MODES))):
        retrieve(small_view(CHAIN), ask("amber", "telepathy"))


def test_top_k_below_one_is_refused() -> None:
    """At least one passage must be requested."""
    with pytest.raises(ValueError, match="top_k"):
        retrieve(small_view(CHAIN), ask("amber", top_k=0))
