"""Mode `nakg` step by step, compared with the plainest form of each step, and the related documents of one."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide.graph.records import DocumentInfo
from graphtide.graph.relatedness import Weights
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.nakg import documents as nakg_documents
from graphtide.graph.retrieval.nakg.clustering import ROUNDING, dbscan
from graphtide.graph.retrieval.nakg.documents import candidate_passages, documents, links
from graphtide.graph.retrieval.nakg.edges import connect
from graphtide.graph.retrieval.nakg.propagation import pass_relevance, propagate
from graphtide.graph.retrieval.nakg.related import related_documents
from graphtide.graph.retrieval.nakg.scoring import lexical, separated
from graphtide.graph.retrieval.nakg.settings import Nakg
from graphtide.graph.retrieval.scoring.links import HUB, entities_of
from graphtide.graph.retrieval.seeds import find_seeds
from graphtide.graph.retrieval.types import Filters, Question
from tests.model.dbscan_oracle import slow_dbscan
from tests.model.nakg_oracle import slow_attention, slow_document, slow_edges, slow_propagation
from tests.model.small_views import SmallDocument, bag_of_words, random_documents, small_view
from tests.support.worlds import RandomWorld, empty_view, snapshot_of


def ask(text: str, **fields: object) -> Question:
    return replace(Question(text, bag_of_words(text), mode="nakg"), **fields)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 60), st.integers(2, 7), st.floats(0.05, 0.9), st.integers(0, 2**32))
def test_dbscan_equals_its_definitions(count: int, min_samples: int, eps: float, seed: int) -> None:
    """The same clusters with the same numbers, on points dense in some places."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, 5))
    points = centres[rng.integers(0, 4, count)] + rng.normal(size=(count, 5)) * rng.choice([0.1, 1.0], (count, 1))
    unit = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    slow = slow_dbscan((1 - unit @ unit.T).tolist(), eps + ROUNDING, min_samples)
    assert dbscan(unit, eps, min_samples).tolist() == slow


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_edges_attention_and_propagation_equal_their_definitions(seed: int) -> None:
    """They agree on all documents of a small graph: learned weights, attention, coordinates after the layers."""
    print("seed", seed)
    view, settings = small_view(random_documents(random.Random(seed), 30)), Nakg()
    found = documents(view, sorted(view.documents), settings)
    graph = connect(found, view.relatedness.weights(), settings)
    vectors = {doc_id: slow_document(view, doc_id) for doc_id in found.ids}
    weights, shared = slow_edges(view, vectors, settings)
    attention = slow_attention(view, vectors, settings)
    for row, one in enumerate(found.ids):
        for column, other in enumerate(found.ids):
            assert graph.weights[row, column] == pytest.approx(weights.get((one, other), 0.0), abs=1e-4)
            assert found.shared[row, column] == pytest.approx(shared.get((one, other), 0.0))
            assert graph.attention[row, column] == pytest.approx(attention.get((one, other), 0.0), abs=1e-4)
    after = propagate(found.vectors, graph.attention, 3)
    slow = slow_propagation(vectors, attention, replace(settings, layers=3))
    assert after.tolist() == [pytest.approx(slow[doc_id], abs=1e-4) for doc_id in found.ids]


@pytest.mark.parametrize("seed", range(3))
def test_attention_sums_to_one_and_edges_are_few_and_both_ways(seed: int) -> None:
    """Every document has at least two edges and chooses at most ten; edges are symmetric."""
    print("seed", seed)
    view, settings = small_view(random_documents(random.Random(seed), 90)), Nakg()
    graph = connect(documents(view, sorted(view.documents), settings), view.relatedness.weights(), settings)
    edges = graph.attention > 0
    assert graph.attention.sum(axis=1) == pytest.approx(np.ones(90))
    assert (edges == edges.T).all()
    assert not edges.diagonal().any()
    assert edges.sum(axis=1).min() >= settings.min_links
    assert edges.sum() <= 2 * 90 * settings.connections
    assert (graph.weights == graph.weights.T).all()


def test_document_without_neighbours_keeps_its_vector() -> None:
    """A single document has no edge, and no message changes its vector."""
    view = small_view([SmallDocument("a", "amber birch", ("amber",))])
    found = documents(view, ["a"], Nakg())
    graph = connect(found, view.relatedness.weights(), Nakg())
    assert graph.attention.tolist() == [[0.0]]
    assert propagate(found.vectors, graph.attention, 3) == pytest.approx(found.vectors)


def test_words_count_whole_in_part_and_in_order() -> None:
    """The exact phrase scores above its words apart, those above an equal beginning, that above no match."""
    texts = ["the amber guild elected", "elected by the amber and the guild", "ambers", "delta", "the fjord"]
    found = lexical("amber guild elected", texts)
    assert found.words[0] == found.words[1] == pytest.approx(1.0)
    assert found.order[0] == pytest.approx(1.0)
    assert 0 < found.order[1] < found.order[0]
    assert 0 < found.words[2] < found.words[1]
    assert (found.words[3], found.order[3]) == (0.0, 0.0)


def test_words_in_another_order_are_in_no_order() -> None:
    """Order counts only if words follow each other in the text as in the question; the distance counts, too."""
    found = lexical("amber guild", ["guild amber", "amber x x guild", "amber guild"])
    assert found.order.tolist() == pytest.approx([0.0, 1 / 3, 1.0])


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_separation_keeps_the_order(values: list[float]) -> None:
    """The separated values decrease strictly, between 0 and 1, for any scores."""
    pulled = separated(np.array(sorted(values, reverse=True)), 8.0, 0.98)
    assert (np.diff(pulled) < 0).all()
    assert ((pulled > 0) & (pulled < 1)).all()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_everything_handed_on_is_as_rebuilt_after_edits_and_deletions(seed: int) -> None:
    """A view that followed a stream of changes answers as one that was filled at once, learned weights included."""
    print("seed", seed)
    world, view = RandomWorld(random.Random(seed), documents=14), empty_view()
    for _ in range(50):
        view.apply(world.step())
    rebuilt = empty_view()
    rebuilt.apply(replace(snapshot_of(world.live), version=view.version))
    for number in range(4):
        vector = np.random.default_rng([seed, number]).normal(size=16).astype(np.float32)
        question = Question("what is there", vector, 8, "nakg", explain=True)
        one = retrieve(view, question)
        assert one.passages
        assert one == retrieve(rebuilt, question)
    for doc_id in world.live:
        assert related_documents(view, doc_id, 5) == related_documents(rebuilt, doc_id, 5)


def test_part_says_how_the_documents_are_related() -> None:
    """It names their titles, their shared entities and the learned weight; its sources are returned passages."""

    def titled(n: str, text: str, *names: str) -> SmallDocument:
        return SmallDocument(n, text, names, (), DocumentInfo(title=n.upper()))

    view = small_view(
        [titled("a", "amber birch", "guild"), titled("b", "amber cedar", "guild"), titled("c", "fjord heron")]
    )
    result = retrieve(view, ask("amber", top_k=2))
    (part,) = result.parts
    assert part.text.startswith("- A and B: related ")
    assert part.text.endswith("; both mention guild")
    assert set(part.sources) == {"a#0", "b#0"}


def test_part_and_trace_show_nothing_that_a_filter_refuses() -> None:
    """Refused documents are neither nodes nor neighbours."""
    documents_ = random_documents(random.Random(7), 60)
    refused = {document.doc_id for document in documents_ if document.info.source != "b"}
    result = retrieve(small_view(documents_), ask("amber grove near", filters=Filters(sources=("b",)), explain=True))
    assert result.parts
    assert result.trace is not None
    shown = {end.split("#")[0] for step in result.trace.steps for item in step.items for end in item.id.split(" + ")}
    assert shown
    assert not refused & shown
    assert not refused & {source.split("#")[0] for part in result.parts for source in part.sources}


def test_trace_adds_up_to_the_score_of_each_passage() -> None:
    """The weights are 40 % words, 30 % order, 30 % meaning, and what linked passages add."""
    view = small_view(random_documents(random.Random(5), 60))
    result = retrieve(view, ask("amber grove near cedar heron", explain=True))
    assert result.trace is not None
    steps = {step.name: step.items for step in result.trace.steps}
    assert [item.id for item in steps["passages"]] == [passage.chunk_id for passage in result.passages]
    for item in steps["passages"]:
        parts = dict(item.parts)
        added = 0.4 * parts["words"] + 0.3 * parts["order"] + 0.3 * parts["meaning"] + parts["linked"]
        assert item.score == pytest.approx(added, abs=1e-6)


def test_related_documents_share_what_is_rare_first() -> None:
    """A document with a rare shared entity comes first, though nothing else is alike; all others follow."""
    view = small_view(
        [
            SmallDocument("a", "amber birch cedar", ("rare", "own")),
            SmallDocument("b", "fjord heron inlet", ("rare",)),
            SmallDocument("c", "amber birch delta", ("other",)),
            SmallDocument("d", "knoll larch jetty", ("else",)),
        ]
    )
    found = related_documents(view, "a", 3)
    assert (found[0].doc_id, {one.doc_id for one in found}) == ("b", {"b", "c", "d"})
    assert [one.shared > 0 for one in found] == [True, False, False]
    assert [one.score for one in found] == [one.weight + one.shared for one in found]


def test_document_whose_title_is_mentioned_is_related() -> None:
    """Documents are titled in pairs: one mentions the other's title, without its qualifier; that raises the edge."""
    view = small_view(
        [
            SmallDocument("a", "amber birch", ("grey harbour",), (), DocumentInfo(title="Amber")),
            SmallDocument("b", "fjord heron", ("inlet",), (), DocumentInfo(title="Grey Harbour (film)")),
            SmallDocument("c", "fjord heron", ("jetty",), (), DocumentInfo(title="Knoll")),
        ]
    )
    titled = documents(view, ["a", "b", "c"], Nakg()).titled
    assert titled.tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    weights = Weights(-2.0, 8.0, 4.0, 0.0, (1, 1))
    assert (weights.edges(np.zeros(2), np.array([True, False])) == [0.5, 1 / (1 + np.exp(2.0))]).all()


def test_relevance_reaches_the_passages_of_a_chain() -> None:
    """A passage linked to the most relevant one gains from it; one layer reaches one step, two layers two."""
    links_ = np.array([[0, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0]])
    relevance = np.array([1.0, 0.0, 0.0])
    assert pass_relevance(relevance, links_, 0.5, 0).tolist() == [1.0, 0.0, 0.0]
    assert pass_relevance(relevance, links_, 0.5, 1).tolist() == [1.0, 0.25, 0.0]
    assert pass_relevance(relevance, links_, 0.5, 2).tolist() == [1.0625, 0.25, 0.0625]


def test_passages_of_one_document_pass_no_relevance_to_each_other() -> None:
    """Links are between documents: by the rarest shared entity, or by a mentioned title."""
    view = small_view(
        [
            SmallDocument("a", "amber birch", ("guild",), (), DocumentInfo(title="A")),
            SmallDocument("b", "fjord heron", ("guild",), (), DocumentInfo(title="B")),
            SmallDocument("c", "knoll larch", ("b",), (), DocumentInfo(title="C")),
        ]
    )
    numbers = sorted(view.chunks, key=lambda n: view.chunks[n].chunk_id)
    found = links(view, [*numbers, numbers[0]], 0.6)
    half = 1 / (1 + math.log(2))
    assert found[:3, :3] == pytest.approx(np.array([[0, half, 0], [half, 0, 0.6], [0, 0.6, 0]]))
    assert found[0, 3] == 0.0


def test_related_documents_of_a_document_that_is_not_live_are_refused() -> None:
    """The message names the unknown document."""
    with pytest.raises(KeyError, match="nobody"):
        related_documents(small_view([]), "nobody", 3)


@pytest.mark.parametrize("order", range(3))
def test_passages_that_are_led_to_are_those_of_the_rarest_entities_when_there_are_more(
    order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rarest entity decides beyond LED, then the chunk id, in any order of arrival; all are kept if they fit."""
    drawn = random_documents(random.Random(8), 90)
    view = small_view(random.Random(order).sample(drawn, len(drawn)) if order else drawn)
    question = bag_of_words("amber grove near cedar heron")
    seeds = find_seeds(view, question, None, 90)
    near = replace(seeds, passages=seeds.passages[:5], statements=())
    first = {hit.number for hit in near.passages}
    strength: dict[str, float] = {}
    for chunk in view.chunks:
        shared = (entities_of(view, chunk) & entities_of(view, other) for other in first)
        counts = [len(view.entities[node].chunks) for node in set().union(*shared)]
        if chunk not in first and any(count <= HUB for count in counts):
            strength[view.chunks[chunk].chunk_id] = -min(counts)
    ranked = sorted(strength, key=lambda chunk_id: (-strength[chunk_id], chunk_id))
    assert len(ranked) > 20
    for limit in (0, 1, 7, 20, len(ranked)):
        monkeypatch.setattr(nakg_documents, "LED", limit)
        found = candidate_passages(view, question, near, None).numbers
        expected = {view.chunks[number].chunk_id for number in first}.union(ranked[:limit])
        assert [view.chunks[number].chunk_id for number in found] == sorted(expected)
