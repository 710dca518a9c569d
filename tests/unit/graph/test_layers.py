"""The layers of a live view: a function of its documents, at every version and in any order of arrival."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from graphtide.graph.layers import ChunkLayer, KnowledgeLayer, Layer, SimilarityLayer, entities_in, working_entities
from graphtide.graph.records import DocumentInfo, Extraction, Mention
from graphtide.graph.view import LiveView
from tests.model.layers_oracle import (
    Links,
    chunk_names,
    chunk_oracle,
    entity_names,
    incidence,
    knowledge_oracle,
    similarity_oracle,
)
from tests.support.extractions import random_extraction, unit, vector
from tests.support.worlds import RandomWorld, empty_view, snapshot_of

SPREAD = 6
NEAREST = 3


def by_name(layer: Layer, numbers: Sequence[int], name: Callable[[int], str]) -> dict[str, dict[str, int]]:
    """Return all neighbours of all numbers, by canonical names, weights in millionths; assert their order."""
    found = {}
    for number in numbers:
        neighbours = [(name(other), weight) for other, weight in layer.neighbours(number)]
        assert neighbours == sorted(neighbours, key=lambda pair: (-pair[1], pair[0]))
        assert len(dict(neighbours)) == len(neighbours)
        found[name(number)] = {other: round(weight * 1e6) for other, weight in neighbours}
    return found


def links_by_name(layer: Layer, numbers: Sequence[int], name: Callable[[int], str]) -> list[tuple[str, str, int]]:
    """Return the links among some numbers, by canonical names and in the order given, weights in millionths."""
    return [(name(a), name(b), round(weight * 1e6)) for a, b, weight in layer.induced_edges(numbers)]


def layers_of(view: LiveView) -> dict[str, Layer]:
    return {
        "knowledge": KnowledgeLayer(view),
        "triangles": KnowledgeLayer(view, min_trussness=3),
        "chunks": ChunkLayer(view, SPREAD),
        "similarity": SimilarityLayer(view, NEAREST),
    }


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(8))
def test_layers_equal_the_oracle_of_a_rebuild_after_every_step_of_a_random_walk(seed: int) -> None:
    """After inserts, edits, deletions, merges and splits each layer equals brute force over a clean build."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    world, view = RandomWorld(rng), empty_view()
    for step in range(30):
        view.apply(world.step())
        rows = snapshot_of(world.live)
        oracles: dict[str, Links] = {
            "knowledge": knowledge_oracle(rows),
            "triangles": knowledge_oracle(rows, min_trussness=3),
            "chunks": chunk_oracle(rows, SPREAD),
            "similarity": similarity_oracle(rows, NEAREST),
        }
        for kind, layer in layers_of(view).items():
            of_chunks = kind == "chunks"
            name = (lambda number: view.chunks[number].chunk_id) if of_chunks else view.entity_id
            names = chunk_names(rows) if of_chunks else entity_names(rows)
            numbers = sorted(view.chunks if of_chunks else view.entities)
            where = f"seed {seed}, step {step}, {kind}"
            expected = by_name(oracles[kind], sorted(names), names.__getitem__)
            assert by_name(layer, numbers, name) == expected, where
            some = rng.sample(numbers, len(numbers) // 2)
            chosen = {name(number) for number in some}
            same = [number for number in names if names[number] in chosen]
            assert links_by_name(layer, some, name) == links_by_name(oracles[kind], same, names.__getitem__), where


@pytest.mark.parametrize("seed", range(3))
def test_links_between_layers_are_the_mentions_after_a_random_walk(seed: int) -> None:
    """A passage leads to the entities it mentions, and several passages to the entities of all."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    world, view = RandomWorld(rng), empty_view()
    for _ in range(20):
        view.apply(world.step())
    rows = snapshot_of(world.live)
    names, entities_of = entity_names(rows), incidence(rows)
    expected = {chunk_names(rows)[chunk]: {names[node] for node in nodes} for chunk, nodes in entities_of.items()}
    found = {c.chunk_id: {view.entity_id(node) for node in entities_in(view, n)} for n, c in view.chunks.items()}
    assert found == expected
    assert working_entities(view, view.chunks) == set(view.entities)


def test_layers_are_empty_of_what_was_deleted() -> None:
    """Unknown numbers have no neighbours, and a graph without documents has no links."""
    rng = random.Random(4)
    world, view = RandomWorld(rng), empty_view()
    for _ in range(5):
        view.apply(world.step())
    chunks, nodes = list(view.chunks), list(view.entities)
    view.apply(world.change(*list(world.live)))
    for kind, layer in layers_of(view).items():
        numbers = chunks if kind == "chunks" else nodes
        assert not any(layer.neighbours(number) for number in numbers), kind
        assert not layer.induced_edges(numbers), kind
    assert not working_entities(view, chunks)


def document(doc_id: str, *names: str) -> Extraction:
    """Return a passage that names all of them, the first related to each of the others."""
    facts = [(0, "lived in", place) for place in range(1, len(names))]
    passage = unit(f"Passage of {doc_id}.", [(name, "", "") for name in names], facts)
    return Extraction(doc_id, 1, DocumentInfo(), (passage,))


def test_chunk_layer_is_not_quadratic_when_an_entity_is_in_every_passage() -> None:
    """A hub links its passages up to the bound, and none beyond it; rarer entities still link."""
    people = ("Ada Lovelace", "Charles Babbage", "Lord Byron", "Augustus De Morgan")
    world, view = RandomWorld(random.Random(0)), empty_view()
    documents = [document(f"d{n}", f"{people[n % 4]} of {'abcdefghij'[n // 4]}", "London") for n in range(36)]
    view.apply(world.change(*documents, document("e1", "Grace Hopper", "Yale"), document("e2", "Grace Hopper", "Navy")))
    hub = next(node for node, entity in view.entities.items() if entity.name == "London")
    assert len(view.entities[hub].chunks) == 36
    wide, narrow = ChunkLayer(view, spread=36), ChunkLayer(view, spread=35)
    assert len(wide.induced_edges(view.chunks)) >= 36 * 35 // 2
    last = {view.chunks[n].doc_id: {view.chunks[m].doc_id for m, _ in narrow.neighbours(n)} for n in view.chunks}
    assert last["e1"] == {"e2"} and last["e2"] == {"e1"}
    relations = sum(len(ends) for ends in view.neighbours.values()) // 2
    for spread in (1, 2, 4, 35):
        assert len(ChunkLayer(view, spread).induced_edges(view.chunks)) <= spread * relations


def test_similarity_layer_breaks_ties_by_name_when_many_vectors_are_equal() -> None:
    """Entities of one vector choose the same neighbours whatever the order of arrival."""
    same = vector("all alike")
    mentions = [Mention(f"Model {n}", "", "", same) for n in range(12)]
    units = [replace(unit(f"Passage {n}.", [], []), mentions=(one,)) for n, one in enumerate(mentions)]
    documents = [Extraction(f"d{n}", 1, DocumentInfo(), (one,)) for n, one in enumerate(units)]
    found = []
    for order in (documents, documents[::-1], random.Random(1).sample(documents, len(documents))):
        world, view = RandomWorld(random.Random(0)), empty_view()
        for one in order:
            view.apply(world.change(one))
        layer = SimilarityLayer(view, nearest=4)
        found.append(links_by_name(layer, list(view.entities), view.entity_id))
        assert len(view.entities) == 12
    assert found[0] and found[0] == found[1] == found[2]


def test_similarity_neighbours_miss_only_what_is_beyond_their_reach() -> None:
    """With a short reach every returned neighbour is a real one, and every link of the entity itself is returned."""
    rng = random.Random(9)
    world, view = RandomWorld(rng), empty_view()
    view.apply(world.change(*(random_extraction(rng, f"d{n}", n) for n in range(20))))
    whole, short = SimilarityLayer(view, 2, len(view.entities)), SimilarityLayer(view, 2, 3)
    missed = 0
    for node in view.entities:
        given, there = set(short.neighbours(node)), set(whole.neighbours(node))
        assert given <= there
        assert set(short.nearest(node)) <= given
        missed += len(there - given)
    assert missed


def test_similarity_layer_refuses_a_reach_below_its_nearest() -> None:
    """The candidates of `neighbours` include at least the entity's own links."""
    with pytest.raises(ValueError, match="reach"):
        SimilarityLayer(empty_view(), nearest=5, reach=4)
