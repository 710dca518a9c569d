"""Mode `dynagrag` step by step, compared with the plainest form of each step, and its results."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide.graph.retrieval.dynagrag.egographs import EgoGraph, EgoGraphs, EgoRelation
from graphtide.graph.retrieval.dynagrag.embedding import gather, total_embeddings
from graphtide.graph.retrieval.dynagrag.mode import pruned_subgraphs, retrieve_dynagrag
from graphtide.graph.retrieval.dynagrag.pruning import Pruned
from graphtide.graph.retrieval.dynagrag.selection import Candidate, EgoGraphSelection, select, widened
from graphtide.graph.retrieval.dynagrag.settings import Dynagrag, EgoGraphLimits, Traversal
from graphtide.graph.retrieval.dynagrag.traversal import TraversalTree, explore
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.seeds import find_seeds
from graphtide.graph.retrieval.types import Filters, Question, Synthesis
from graphtide.graph.view import LiveView
from tests.model.dynagrag_oracle import slow_choice, slow_ego, slow_order, slow_pruning, slow_total
from tests.model.small_views import SmallDocument, bag_of_words, random_documents, small_view
from tests.support.worlds import RandomWorld, empty_view, snapshot_of

TIGHT = EgoGraphLimits(hops=3, fan=2, hub=3, nodes=9)
VARIANTS = [Dynagrag(), Dynagrag(diversity=False), Dynagrag(pruning=False), Dynagrag(caps=TIGHT)]
TRAVERSALS = list(Traversal)


def ask(text: str, **fields: object) -> Question:
    return replace(Question(text, bag_of_words(text), mode="dynagrag"), **fields)  # type: ignore[arg-type]


def named(view: LiveView, names: list[str]) -> list[int]:
    by_name = {entity.name: node for node, entity in view.entities.items()}
    return [by_name[name] for name in names]


def linked(*triples: tuple[str, str, str]) -> LiveView:
    """Return a passage for each triple."""
    return small_view([SmallDocument(f"d{n}", " ".join(triple), (), (triple,)) for n, triple in enumerate(triples)])


@pytest.mark.thorough
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(4))
def test_subgraphs_and_masks_and_order_equal_their_definitions(variant: Dynagrag, seed: int) -> None:
    """The ego-graphs, similarities, masks and order of exploration equal those of plain loops."""
    print("seed", seed)
    documents = random_documents(random.Random(seed), 12 + 30 * seed)
    view, question = small_view(documents), ask(f"{documents[0].entities[0]} near cedar heron")
    choice = select(view, question.vector, find_seeds(view, question.vector, None, 100), None, variant)
    slow = slow_choice(view, question, variant)
    assert [list(one.ego.nodes) for one in choice.chosen] == [ego.nodes for _, ego in slow]
    assert [one.similarity for one in choice.chosen] == pytest.approx([value for value, _ in slow], abs=2e-6)
    fast_masks, slow_masks = (
        pruned_subgraphs(choice, question, variant),
        slow_pruning(view, question, [e for _, e in slow], variant),
    )
    for fast, masks, (_, ego) in zip(fast_masks, slow_masks, slow, strict=True):
        assert dict(zip(ego.nodes, fast.nodes.tolist(), strict=True)) == pytest.approx(masks.nodes, abs=1e-4)
        by_statement = {r.statement: m for r, m in zip(fast.ego.relations, fast.relations.tolist(), strict=True)}
        assert by_statement == pytest.approx(masks.relations, abs=1e-4)
        for traversal in TRAVERSALS:
            tree = explore(fast, traversal, 24)
            order = [fast.ego.nodes[place] for place in tree.order]
            assert order == slow_order(view, question, ego, masks, replace(variant, traversal=traversal))


@pytest.mark.parametrize("seed", range(4))
def test_ego_graph_and_its_embedding_equal_their_definitions(seed: int) -> None:
    """They agree for every entity of a graph, under tight limits and under the default ones."""
    print("seed", seed)
    view = small_view(random_documents(random.Random(seed), 70))
    for variant in (Dynagrag(), Dynagrag(caps=TIGHT)):
        around = EgoGraphs(view, None, variant.caps)
        egos = [around.around(node) for node in sorted(view.entities)]
        totals = total_embeddings(egos, gather(view, egos))
        for ego, total in zip(egos, totals, strict=True):
            slow = slow_ego(view, ego.centre, variant)
            assert list(ego.nodes) == slow.nodes
            assert {relation.statement for relation in ego.relations} == {number for number, _, _ in slow.relations}
            assert total.tolist() == pytest.approx(slow_total(view, slow), abs=1e-5)


def test_traversal_selects_from_an_ego_graph_larger_than_what_is_shown() -> None:
    """The two traversals show different ones of sixty entities around a hub, and both show all of twenty-four."""
    near = [(f"node{n}", "near", f"leaf{n}") for n in range(8)]
    leaves = [(f"leaf{n}", "near", f"end{n} twig{m}") for n in range(8) for m in range(6)]
    view = linked(*(("hub", "near", name) for name, _, _ in near), *near, *leaves)
    question, hub = ask("end7 twig5 hub"), named(view, ["hub"])[0]
    ego = EgoGraphs(view, None, EgoGraphLimits()).around(hub)
    choice = EgoGraphSelection((Candidate(ego, 1.0, hub),), 1, gather(view, [ego]))
    shown: dict[tuple[int, Traversal], set[int]] = {}
    for explored in (24, 96):
        for traversal in TRAVERSALS:
            variant = Dynagrag(explored=explored, traversal=traversal)
            wide = widened(view, None, choice, variant)
            assert wide.chosen[0].ego.nodes[:24] == ego.nodes
            (tree,) = (explore(each, traversal, 24) for each in pruned_subgraphs(wide, question, variant))
            shown[explored, traversal] = {wide.chosen[0].ego.nodes[place] for place in tree.order}
    assert shown[24, Traversal.SIMILARITY] == shown[24, Traversal.BREADTH] == set(ego.nodes)
    assert shown[96, Traversal.BREADTH] == set(ego.nodes)
    assert shown[96, Traversal.SIMILARITY] != shown[96, Traversal.BREADTH]


def test_total_embedding_is_the_weighted_mean_of_nodes_and_edges() -> None:
    """This is computed by hand: two entities mentioned once each and one relation of the mean of three vectors."""
    view = linked(("amber", "near", "birch"))
    ego = EgoGraphs(view, None, EgoGraphLimits()).around(*named(view, ["amber"]))
    a, b, edge = bag_of_words("amber"), bag_of_words("birch"), bag_of_words("amber near birch")
    expected = (a + b + (a + b + edge) / 3) / 3
    assert total_embeddings([ego], gather(view, [ego]))[0] == pytest.approx(expected, abs=1e-3)


def test_ego_graph_ends_after_three_hops() -> None:
    """The fourth entity of a chain is in the ego-graph of the first, the fifth is not."""
    view = linked(("a", "of", "b"), ("b", "of", "c"), ("c", "of", "d"), ("d", "of", "e"))
    ego = EgoGraphs(view, None, EgoGraphLimits()).around(*named(view, ["a"]))
    assert list(ego.nodes) == named(view, ["a", "b", "c", "d"])
    assert [(r.subject, r.object) for r in ego.relations] == [(0, 1), (1, 2), (2, 3)]


def test_ego_graph_takes_up_a_hub_and_does_not_pass_through_it() -> None:
    """Entities reachable only through a hub are not in an ego-graph, except in the hub's own."""
    view = linked(("a", "of", "hub"), *(("hub", "of", f"x{n}") for n in range(5)))
    around = EgoGraphs(view, None, EgoGraphLimits(hub=4))
    assert list(around.around(*named(view, ["a"])).nodes) == named(view, ["a", "hub"])
    assert len(around.around(*named(view, ["hub"])).nodes) == 7


def test_diversity_takes_one_subgraph_a_key_entity() -> None:
    """In a clique of similar names every ego-graph has the same key entity, so one of them is enough."""
    names = ["amber grove", "amber hill", "amber inlet"]
    triples = [(a, "near", b) for a in names for b in names if a != b]
    view = linked(*triples, ("amber grove", "near", "amber hill"), ("cedar", "near", "delta"))
    question = ask("amber grove")
    varied, plain = (retrieve_dynagrag(view, question, Dynagrag(diversity=on)).parts for on in (True, False))
    assert {part.title for part in plain[:3]} == set(names)
    assert len(set(names) & {part.title for part in varied}) == 1
    assert {"cedar", "delta"} & {part.title for part in varied}


def test_prompt_reads_the_tree_in_pre_order_and_then_the_other_relations() -> None:
    """Each entity follows the relation that leads to it, with weights; the relation that closes the cycle is last."""
    view = linked(
        ("amber", "near", "birch"), ("birch", "near", "cedar"), ("cedar", "of", "amber"), ("birch", "of", "elm")
    )
    variant = Dynagrag(subgraphs=1, pruning=False, diversity=False, traversal=Traversal.BREADTH)
    part = next(iter(retrieve_dynagrag(view, ask("amber near birch cedar of amber"), variant).parts))
    lines = part.text.splitlines()
    assert lines.count("Also:") == 1
    body, rest = lines[: lines.index("Also:")], lines[lines.index("Also:") + 1 :]
    assert len(rest) == 1
    relations = [line.strip() for line in body if line.strip().startswith("- ")]
    assert len(relations) == 3
    assert not {line.strip() for line in rest} & set(relations)
    assert body[0].startswith(part.title)
    assert set(part.sources) == {"d0#0", "d1#0", "d2#0", "d3#0"}


def test_similar_branch_is_followed_before_a_less_similar_neighbour() -> None:
    """The similar neighbour's neighbour comes before the centre's other neighbour; in plain order, after it."""
    ego = EgoGraph((10, 11, 12, 13), (EgoRelation(0, 0, 1), EgoRelation(1, 0, 2), EgoRelation(2, 2, 3)))
    pruned = Pruned(ego, np.ones(4), np.ones(3), np.array([0.5, 0.0, 0.9, 0.8]))
    assert explore(pruned, Traversal.SIMILARITY, 9).order == (0, 2, 3, 1)
    assert explore(pruned, Traversal.BREADTH, 9).order == (0, 1, 2, 3)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), st.data())
def test_tree_holds_every_entity_once_below_its_parent(count: int, data: st.DataObject) -> None:
    """With any relations the tree has connected entities once, parents first, children explored after them."""
    ends = data.draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=30))
    relations = tuple(EgoRelation(n, a, b) for n, (a, b) in enumerate(ends) if a != b)
    values = data.draw(st.lists(st.floats(-1, 1), min_size=count, max_size=count))
    pruned = Pruned(EgoGraph(tuple(range(count)), relations), np.ones(count), np.ones(len(relations)), np.array(values))
    for traversal in TRAVERSALS:
        tree = explore(pruned, traversal, count)
        assert set(tree.order) == reachable(relations)
        assert len(set(tree.order)) == len(tree.order)
        assert [place for place, _ in tree.pre_order()] == pre_order(tree, 0)
        for place, (relation, parent) in tree.parents.items():
            assert tree.order.index(parent) < tree.order.index(place)
            assert {relations[relation].subject, relations[relation].object} == {place, parent}


def reachable(relations: tuple[EgoRelation, ...]) -> set[int]:
    found, more = {0}, True
    while more:
        larger = found | {e for r in relations for e in (r.subject, r.object) if {r.subject, r.object} & found}
        more, found = larger != found, larger
    return found


def pre_order(tree: TraversalTree, place: int) -> list[int]:
    return [place, *(below for child in tree.children.get(place, ()) for below in pre_order(tree, child))]


@pytest.mark.parametrize("seed", range(6))
def test_masks_are_soft_and_the_greatest_is_one(seed: int) -> None:
    """Nothing is removed: every mask is above 0, none above 1."""
    print("seed", seed)
    view = small_view(random_documents(random.Random(seed), 60))
    question = ask("amber grove near cedar")
    choice = select(view, question.vector, find_seeds(view, question.vector, None, 100), None, Dynagrag())
    for one in pruned_subgraphs(choice, question, Dynagrag()):
        assert one.nodes.max() == 1.0
        assert one.nodes.min() > 0
        assert ((one.relations > 0) & (one.relations <= 1)).all()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_everything_handed_on_is_as_rebuilt_after_edits_and_deletions(seed: int) -> None:
    """A view that followed a stream of changes answers as one that was filled at once: parts, passages and trace."""
    print("seed", seed)
    rng = random.Random(seed)
    world, view = RandomWorld(rng, documents=12), empty_view()
    for _ in range(40):
        view.apply(world.step())
    rebuilt = empty_view()
    rebuilt.apply(replace(snapshot_of(world.live), version=view.version))
    for number in range(4):
        vector = np.random.default_rng([seed, number]).normal(size=16).astype(np.float32)
        question = Question("what is there", vector, 8, "dynagrag", explain=True)
        one, other = retrieve(view, question), retrieve(rebuilt, question)
        assert one == other
        assert one.parts


def test_parts_ask_for_an_answer_each_and_come_by_similarity() -> None:
    """There are at most as many parts as requested subgraphs, with sources, best first."""
    result = retrieve(small_view(random_documents(random.Random(2), 60)), ask("amber grove near cedar"))
    assert result.synthesis is Synthesis.BY_PART
    assert 1 < len(result.parts) <= Dynagrag().subgraphs
    assert [part.score for part in result.parts] == sorted((part.score for part in result.parts), reverse=True)
    assert all(part.sources and part.text.startswith(part.title) for part in result.parts)


def test_parts_rest_on_admitted_passages_alone() -> None:
    """Under a filter no source, entity or relation comes from a refused passage."""
    documents = random_documents(random.Random(7), 60)
    refused = {f"{document.doc_id}#0" for document in documents if document.info.source != "b"}
    view = small_view(documents)
    result = retrieve(view, ask("amber grove near", filters=Filters(sources=("b",)), explain=True))
    assert result.parts
    assert not refused & {source for part in result.parts for source in part.sources}
    stated = {(t[0], t[1], t[2]) for d in documents if d.info.source == "b" for t in d.triples}
    lines = [
        line.strip().removeprefix("- ") for part in result.parts for line in part.text.splitlines() if " | " in line
    ]
    assert {tuple(line.rsplit(", ", 1)[0].split(" | ")) for line in lines} <= stated
    assert result.trace is not None
    assert not refused & {item.id for step in result.trace.steps for item in step.items}


def test_ablations_change_what_they_name() -> None:
    """Each disabled part changes the result of some question."""
    view = small_view(random_documents(random.Random(4), 90))
    for other in (Dynagrag(diversity=False), Dynagrag(pruning=False), Dynagrag(traversal=Traversal.BREADTH)):
        asked = [ask(f"{word} grove near cedar") for word in ("amber", "birch", "delta", "ember")]
        assert any(retrieve_dynagrag(view, q).parts != retrieve_dynagrag(view, q, other).parts for q in asked)
