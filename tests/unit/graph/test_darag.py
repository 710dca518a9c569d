"""DA-RAG's community search compared with its definition, its proven bounds, and the path from coarse to fine."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide.graph.browsing.group import cohesive_group, largest_k
from graphtide.graph.layers import LayerLink
from graphtide.graph.resolution.normalisation import normalise
from graphtide.graph.retrieval.darag.adaptive import (
    LEVELS,
    Community,
    CommunityReportText,
    Rated,
    communities,
    neighbourhood,
    pack,
)
from graphtide.graph.retrieval.darag.attributed_graph import ONE, AttributedGraph
from graphtide.graph.retrieval.darag.mode import retrieve_da_rag
from graphtide.graph.retrieval.darag.qpeel import q_peel
from graphtide.graph.retrieval.darag.settings import COURSE
from graphtide.graph.retrieval.scoring.candidates import titled
from graphtide.graph.retrieval.types import Filters, Question, RetrievalResult
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.view import LiveView
from tests.model.paths_oracle import every_community, is_connected_truss, k_truss, literal_q_peel
from tests.model.small_views import bag_of_words, random_documents, small_view


def attributed(relevance: list[int], edges: list[tuple[int, int]]) -> AttributedGraph:
    numbers = range(len(relevance))
    return AttributedGraph.over(numbers, [value / ONE for value in relevance], [LayerLink(u, v, 1.0) for u, v in edges])


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 12) -> tuple[list[int], list[tuple[int, int]]]:
    """Return a graph with tied relevance, and edges dense enough for trusses."""
    count = draw(st.integers(3, max_nodes))
    pairs = list(combinations(range(count), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, min_size=len(pairs) // 3, max_size=len(pairs)))
    return draw(st.lists(st.integers(-3, 12), min_size=count, max_size=count)), edges


@given(graphs(), st.integers(2, 6))
def test_q_peel_equals_the_algorithm_line_by_line(graph: tuple[list[int], list[tuple[int, int]]], k: int) -> None:
    """The community equals that of a restart after every removal: the best of the remaining components."""
    relevance, edges = graph
    found = q_peel(attributed(relevance, edges), k)
    left = literal_q_peel(edges, dict(enumerate(relevance)), k)
    if not left:
        assert found is None
        return
    mean = {members: sum(relevance[node] for node in members) / len(members) for members in left}
    best = max(left, key=lambda members: (round(mean[members], 9), len(members), [-n for n in sorted(members)]))
    assert found == tuple(sorted(best))


@pytest.mark.thorough
@given(graphs(max_nodes=8), st.integers(2, 5))
def test_q_peel_is_feasible_and_between_its_start_and_the_optimum(
    graph: tuple[list[int], list[tuple[int, int]]], k: int
) -> None:
    """The result is a connected k-truss, no worse than its best initial component, no better than the optimum."""
    relevance, edges = graph
    whole = attributed(relevance, edges)
    found = q_peel(whole, k)
    every = list(every_community(edges, k))
    assert (found is None) == (not every)
    if found is not None:
        assert frozenset(found) in every
        start = max(whole.score(tuple(part)) for part in nx.connected_components(k_truss(edges, k)))
        best = max(whole.score(tuple(members)) for members in every)
        assert start - 1e-12 <= whole.score(found) <= best + 1e-12


@given(graphs(), st.integers(2, 6))
def test_community_keeps_the_proven_bounds(graph: tuple[list[int], list[tuple[int, int]]], k: int) -> None:
    """Density at least (k - 1) / (n - 1) (equation 6), diameter at most (2 n - 2) / k (equation 10)."""
    relevance, edges = graph
    found = q_peel(attributed(relevance, edges), k)
    if found is None:
        return
    part = k_truss(edges, k).subgraph(found)
    size = len(part)
    assert is_connected_truss(part, k)
    assert 2 * part.number_of_edges() / (size * (size - 1)) >= (k - 1) / (size - 1) - 1e-12
    assert nx.diameter(part) <= (2 * size - 2) // k


@given(graphs())
def test_communities_say_their_own_k_density_and_relevance(graph: tuple[list[int], list[tuple[int, int]]]) -> None:
    """Each is the community of its k, listed once, and k is 2 only where no edge is in a triangle."""
    relevance, edges = graph
    whole = attributed(relevance, edges)
    found = communities(whole, "test")
    assert len({one.members for one in found}) == len(found)
    for one in found:
        assert q_peel(whole, one.k) == one.members
        assert one.relevance == whole.score(one.members)
        part = k_truss(edges, one.k).subgraph(one.members)
        assert one.density == pytest.approx(nx.density(part))
    assert {one.k for one in found} <= ({2} if not k_truss(edges, 3) else set(range(3, 20)))


def test_levels_are_spread_over_all_when_there_are_many() -> None:
    """With cliques of many sizes the least and the greatest k are among those tried."""
    edges: list[tuple[int, int]] = []
    relevance: list[int] = []
    for size in range(3, 18):
        edges += combinations(range(len(relevance), len(relevance) + size), 2)
        relevance += [100 - size] * size
    found = communities(attributed(relevance, edges), "test")
    assert len(found) == LEVELS
    assert (min(one.k for one in found), max(one.k for one in found)) == (3, 17)


def test_neighbourhood_is_the_most_relevant_node_and_what_it_links() -> None:
    """The ablation replaces the search by this neighbourhood."""
    (one,) = neighbourhood(attributed([5, 9, 1, 2, 99], [(0, 1), (1, 2), (2, 3)]), "test")
    assert one.members == (0, 1, 2)
    assert neighbourhood(attributed([5, 9], []), "test") == []


def rated(layer: str, members: tuple[int, ...], score: float, tokens: int) -> Rated:
    return Rated(
        CommunityReportText(Community(layer, 3, members, score, 1.0), str(members), "x", (), tokens), score, 0.0
    )


def test_packing_takes_the_best_that_fit_and_nothing_twice() -> None:
    """A report that is too long is skipped, and so is one whose members a better one contains."""
    rows = [rated("a", (1, 2, 3), 0.9, 50), rated("a", (1, 2), 0.8, 10), rated("b", (1, 2), 0.7, 10)]
    rows += [rated("a", (4, 5), 0.6, 60), rated("a", (6,), 0.5, 40)]
    assert pack(rows, 100) == [rows[0], rows[2], rows[4]]
    assert pack(rows, 9) == []


# -- the mode ----------------------------------------------------------------------------------------------------------


def ask(text: str, **fields: object) -> Question:
    return replace(Question(text, bag_of_words(text), mode="da-rag", explain=True), **fields)  # type: ignore[arg-type]


def steps(result: RetrievalResult) -> dict[str, list[str]]:
    assert result.trace is not None
    return {step.name: [item.id for item in step.items] for step in result.trace.steps}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_context_stays_within_its_budgets(seed: int) -> None:
    """Reports stay within their budget, all parts within the total, for any budget; at least one passage comes."""
    print("seed", seed)
    documents = random_documents(random.Random(seed), 120)
    view, question = small_view(documents), ask(f"{documents[0].entities[0]} near cedar", top_k=50)
    spent = []
    for context, reports in ((4_800, 3_200), (200, 100), (60, 20), (1, 0)):
        result = retrieve_da_rag(view, question, replace(COURSE, context_tokens=context, report_tokens=reports))
        report_tokens = sum(count_tokens(part.title) + count_tokens(part.text) for part in result.parts)
        passages = [count_tokens(titled(view, view.chunk_numbers[one.chunk_id])) for one in result.passages]
        assert report_tokens <= reports
        assert report_tokens + sum(passages) <= context or len(passages) == 1
        spent.append(report_tokens + sum(passages))
    assert spent == sorted(spent, reverse=True) and spent[0] > spent[-1]


@pytest.mark.parametrize("seed", range(3))
def test_fine_communities_are_within_the_entities_of_the_coarse_ones(seed: int) -> None:
    """The entities of the finer layers are mentioned by a passage of the chunk layer's communities."""
    print("seed", seed)
    documents = random_documents(random.Random(seed), 80)
    view = small_view(documents)
    found = steps(retrieve_da_rag(view, ask(f"{documents[0].entities[0]} near cedar")))
    chunks = {view.chunk_numbers[name] for ids in found["chunk communities"] for name in ids.split(" + ")}
    entities = {view.entity_nodes[name] for ids in found["communities"] for name in ids.split(" + ")}
    assert chunks and entities
    assert all(chunks & set(view.entities[node].chunks) for node in entities)


@pytest.mark.thorough
def test_each_part_of_the_course_can_be_left_out() -> None:
    """Ablations change the result, and name no layer that was left out."""
    documents = random_documents(random.Random(1), 100)
    view, question = small_view(documents), ask(f"{documents[0].entities[0]} near cedar")

    def layers(result: RetrievalResult) -> set[str]:
        assert result.trace is not None
        items = [item for step in result.trace.steps if step.name == "communities" for item in step.items]
        return {item.name.split(":")[0] for item in items}

    whole = retrieve_da_rag(view, question)
    assert layers(whole) == {"knowledge graph", "similarity"}
    without = retrieve_da_rag(view, question, replace(COURSE, similarity_layer=False))
    assert layers(without) == {"knowledge graph"}
    flat = retrieve_da_rag(view, question, replace(COURSE, chunk_layer=False))
    assert steps(flat)["chunk communities"] == [] and flat.parts
    hop = retrieve_da_rag(view, question, replace(COURSE, community_search=False))
    assert hop.trace is not None and hop.trace != whole.trace
    ks = {value for step in hop.trace.steps for item in step.items for name, value in item.parts if name == "k"}
    assert ks == {0.0}


def test_report_tells_only_what_a_passage_states() -> None:
    """Every line of relations ends with the id of a passage that contains both names."""
    documents = random_documents(random.Random(2), 90)
    view = small_view(documents)
    by_id = {f"{one.doc_id}#0": one for one in documents}
    lines = [
        line
        for part in retrieve_da_rag(view, ask(f"{documents[0].entities[0]} of heron")).parts
        for line in part.text.splitlines()[1:]
    ]
    assert lines
    for line in lines:
        sentence, chunk_id = line[:-1].rsplit(" [", 1)
        subject, rest = sentence.split(" — ")
        predicate, object_ = rest.split(" → ")
        assert (subject, predicate, object_) in by_id[chunk_id].triples


def test_truss_of_the_working_subgraph_never_exceeds_the_kept_one() -> None:
    """The maintained trussness bounds the search's: a subgraph's edges are in no denser truss."""
    from graphtide.graph.layers import KnowledgeLayer

    rng = random.Random(7)
    view = small_view(random_documents(rng, 150))
    layer = KnowledgeLayer(view)
    some = rng.sample(sorted(view.entities), len(view.entities) * 2 // 3)
    part = AttributedGraph.over(some, [0.5] * len(some), layer.induced_edges(some))
    assert len(part.edges)
    for (u, v), k in zip(part.edges.tolist(), part.trussness.tolist(), strict=True):
        assert 2 <= k <= layer.trussness(part.numbers[u], part.numbers[v])
    assert np.max(part.trussness) > 2


@pytest.mark.parametrize("seed", range(3))
def test_explanation_shows_the_kept_trussness_of_each_relation_in_a_community(seed: int) -> None:
    """Each is the graph's own value, the greatest first, and its ends are members of a chosen community."""
    print("seed", seed)
    view = small_view(random_documents(random.Random(seed), 60))
    text = "amber grove near cedar heron"
    result = retrieve_da_rag(view, Question(text, bag_of_words(text), mode="da-rag", explain=True))
    assert result.trace is not None
    steps = {step.name: step.items for step in result.trace.steps}
    chosen = [set(item.id.split(" + ")) for item in steps["communities"] if dict(item.parts)["packed"]]
    assert steps["relations"]
    for item in steps["relations"]:
        ends = item.id.split(" + ")
        one, other = (view.entity_nodes[end] for end in ends)
        assert item.score == view.neighbours[one][other].trussness
        assert dict(item.parts) == {"weight": view.neighbours[one][other].weight}
        assert any(set(ends) <= members for members in chosen)
    scores = [item.score for item in steps["relations"]]
    assert scores == sorted(scores, reverse=True)


# -- the cohesive group as an option -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_group_option_reads_the_cohesive_group_of_each_named_entity(seed: int) -> None:
    """Each community is the connected k-truss of the whole graph around an entity that the question names."""
    print("seed", seed)
    view, name = _view_and_name(seed)
    center = next(iter(view.named(normalise(name))))
    for k in (0, 2, 3):
        found = steps(retrieve_da_rag(view, ask(name), replace(COURSE, group=True, k=k, working=300)))["communities"]
        expected = cohesive_group(view, center, min(k, largest_k(view, center)) or None, 300)
        assert found == [" + ".join(sorted(node.id for node in expected.nodes))]


@pytest.mark.parametrize("seed", range(3))
def test_group_option_reads_admitted_entities_only(seed: int) -> None:
    """Under a filter every member has an admitted passage, and every source of a part is one."""
    print("seed", seed)
    view, name = _view_and_name(seed)
    question = ask(name, filters=Filters(sources=("a",)))
    result = retrieve_da_rag(view, question, replace(COURSE, group=True))
    admitted = {number for number, chunk in view.chunks.items() if view.documents[chunk.doc_id].info.source == "a"}
    for ids in steps(result)["communities"]:
        assert all(admitted & set(view.entities[view.entity_nodes[each]].chunks) for each in ids.split(" + "))
    assert all(view.chunk_numbers[source] in admitted for part in result.parts for source in part.sources)


def test_group_option_takes_the_nearest_entity_where_the_question_names_none() -> None:
    """A question without a name has the group of one entity."""
    view, _ = _view_and_name(0)
    result = retrieve_da_rag(view, ask("cedar"), replace(COURSE, group=True))
    assert len(steps(result)["communities"]) <= 1


def _view_and_name(seed: int) -> tuple[LiveView, str]:
    """Return a graph and the name of one of its entities that has relations."""
    view = small_view(random_documents(random.Random(seed), 90))
    node = max(view.neighbours, key=lambda each: (len(view.neighbours[each]), view.entity_id(each)))
    return view, view.entities[node].name
