"""Breadth-first search, priority-guided traversal and regions, each alone, compared with slow definitions."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from graphtide.graph.retrieval.modes.pipeline import retrieve_pipeline
from graphtide.graph.retrieval.modes.table import MODES, retrieve
from graphtide.graph.retrieval.search.beam_search import LIKELY, OTHER, BeamSettings, explore, lexical_type_weight
from graphtide.graph.retrieval.search.bfs import HUB, BfsLimits, breadth_first, heaviest
from graphtide.graph.retrieval.search.community_filter import regions, within
from graphtide.graph.retrieval.seeds import find_seeds
from graphtide.graph.retrieval.types import Question
from graphtide.graph.view import LiveView
from tests.model.search_oracle import hops_from, slow_explore, within_threshold
from tests.model.small_views import SmallDocument, bag_of_words, random_documents, small_view

WIDE = BeamSettings(beam=10**6, threshold=0.05, enough=10**6)
NARROW = BeamSettings(beam=4, threshold=0.05, enough=12)
LINE = BeamSettings(beam=1, threshold=0.0, enough=9)
TEXT = "who led the grove near heron"


def world(seed: int, count: int = 60) -> LiveView:
    print("seed", seed)
    return small_view(random_documents(random.Random(seed), count))


def some(view: LiveView, count: int) -> list[int]:
    return sorted(view.entities, key=view.entity_id)[:count]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_breadth_first_finds_the_hops_that_all_paths_give(seed: int, depth: int) -> None:
    """Without limits it finds every entity within the depth, at its distance from the nearest start."""
    view = world(seed, 14)
    starts = some(view, 2)
    assert breadth_first(view, starts, BfsLimits(depth, 10**6, 10**6)) == hops_from(view, starts, depth)


def test_breadth_first_keeps_its_caps_and_prefers_heavy_relations() -> None:
    """It keeps the limits of entities and of neighbours per entity, and prefers the most strongly related."""
    triples = [("hub", "of", f"leaf {n}") for n in range(9) for _ in range(1 + n % 4)]
    view = small_view([SmallDocument("a", "x", (), tuple(triples))])
    hub = view.named("hub").pop()
    first = [view.entities[node].name for node in heaviest(view, hub, 2)]
    assert sorted(first) == ["leaf 3", "leaf 7"]
    assert [view.entities[n].name for n in breadth_first(view, [hub], BfsLimits(1, 2, 50))] == ["hub", *first]
    assert len(breadth_first(view, [hub], BfsLimits(3, 50, 4))) == 4


def test_breadth_first_does_not_go_on_from_a_hub() -> None:
    """A hub next to a start is found, and its neighbours are not read."""
    triples = tuple(("hub", "of", f"leaf {n}") for n in range(HUB + 1))
    view = small_view([SmallDocument("a", "x", (), (*triples, ("start", "of", "hub")))])
    names = [view.entities[node].name for node in breadth_first(view, view.named("start"), BfsLimits(3, 50, 50))]
    assert names == ["start", "hub"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("guide", [WIDE, NARROW, LINE])
def test_priority_guided_traversal_visits_as_its_definition(seed: int, guide: BeamSettings) -> None:
    """It visits the same entities in the same order with the same priorities as a search over a plain list."""
    view = world(seed)
    vector = bag_of_words(TEXT)
    starts = {node: 0.9 - place / 10 for place, node in enumerate(some(view, 3))}
    fast = explore(view, vector, starts, lexical_type_weight(TEXT), guide)
    slow = slow_explore(view, vector, starts, lexical_type_weight(TEXT), guide)
    assert [view.entity_id(visit.node) for visit in fast] == [name for name, _ in slow]
    assert [visit.priority for visit in fast] == pytest.approx([priority for _, priority in slow], abs=1e-6)
    assert len(fast) <= guide.enough


@pytest.mark.parametrize("seed", range(6))
def test_priority_guided_traversal_without_caps_is_exhaustive(seed: int) -> None:
    """Without limits of beam and size it finds everything reachable by steps above the threshold."""
    view = world(seed)
    vector = bag_of_words(TEXT)
    starts = dict.fromkeys(some(view, 5), 1.0)
    found = {view.entity_id(visit.node) for visit in explore(view, vector, starts, lexical_type_weight(TEXT), WIDE)}
    assert found == within_threshold(view, vector, starts, lexical_type_weight(TEXT), WIDE.threshold)
    assert 5 < len(found) <= len(view.entities)


def test_relation_type_decides_between_equal_neighbours() -> None:
    """When two neighbours are equal, the one reached by the question's relation comes first."""
    triples = (("amber", "employs", "birch"), ("amber", "likes", "birch tree"))
    view = small_view([SmallDocument("a", "x", (), triples)])
    vector = bag_of_words("birch")
    start = dict.fromkeys(view.named("amber"), 1.0)

    def order(weigh: Callable[[str], float]) -> list[str]:
        return [view.entities[visit.node].name for visit in explore(view, vector, start, weigh, WIDE)]

    assert order(lambda predicate: 4.0 if predicate == "likes" else 1.0) == ["amber", "birch tree", "birch"]
    assert order(lambda predicate: 1.0) == ["amber", "birch", "birch tree"]
    assert (lexical_type_weight("who employs her")("employs"), lexical_type_weight("who is of it")("of")) == (
        LIKELY,
        OTHER,
    )


def test_visits_name_the_statement_that_led_there() -> None:
    """Every visit but a start's names a statement between it and an entity visited before."""
    view = world(3)
    starts = dict.fromkeys(some(view, 2), 1.0)
    visits = explore(view, bag_of_words(TEXT), starts, lexical_type_weight(TEXT), WIDE)
    seen = set(starts)
    for visit in visits:
        if visit.statement < 0:
            assert visit.node in starts
        else:
            ends = set(view.ends(visit.statement))
            assert visit.node in ends and (ends - {visit.node}) & seen
        seen.add(visit.node)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_regions_share_out_the_weight_of_the_entities_given(level: int) -> None:
    """Each community gets the weight of its entities; shares sum to one, the heaviest first."""
    view = world(4)
    weights = {node: float(1 + place % 5) for place, node in enumerate(some(view, 20))}
    found = regions(view, weights, level)
    assert sum(region.share for region in found) == pytest.approx(1)
    assert [region.share for region in found] == sorted((region.share for region in found), reverse=True)
    for region in found:
        assert {view.hierarchy.community(node, level) for node in region.entities} == {region.community}
    assert {node for region in found for node in region.entities} == set(weights)


def test_search_within_a_community_finds_only_its_passages() -> None:
    """Every restricted seed mentions an entity of the community."""
    view = world(5)
    (first, *_) = regions(view, dict.fromkeys(some(view, 3), 1.0))
    inside = within(view, [first.community])
    members = {node for node in view.entities if view.hierarchy.community(node) == first.community}
    expected = {number for node in members for number in view.entities[node].chunks}
    assert {number for number in view.chunks if inside(number)} == expected
    seeds = find_seeds(view, bag_of_words(TEXT), inside, 100)
    assert {hit.number for hit in seeds.passages} == expected
    assert len(expected) < len(view.chunks)
    refusing = within(view, [first.community], admits=lambda number: False)
    assert not any(map(refusing, view.chunks))


def test_pipeline_goes_through_the_steps_of_the_article_in_order() -> None:
    """The steps are seeds, communities, breadth first, priority-guided, PageRank, bridge and MMR, each explained."""
    view = world(6, 90)
    trace = retrieve(view, Question(TEXT, bag_of_words(TEXT), mode="pipeline", explain=True)).trace
    assert trace is not None
    names = [step.name for step in trace.steps]
    order = ["entity seeds", "communities", "breadth first", "priority-guided", "personalised PageRank", "bridge"]
    assert [name for name in names if name in order] == order
    assert names[-1] == "passages"


def test_pipeline_bridges_seeds_that_the_exploration_left_apart() -> None:
    """Two named entities are four relations apart: the chain is a part, and its passages precede unrelated ones."""
    chain = ["amber", "one", "two", "three", "heron"]
    documents = [
        SmallDocument(f"d{n}", f"words {n} filler", (), ((chain[n], "leads to", chain[n + 1]),)) for n in range(4)
    ]
    documents += [SmallDocument(f"x{n}", f"other {n} filler", (f"thing {n}",)) for n in range(30)]
    text = "amber heron"
    result = retrieve_pipeline(small_view(documents), Question(text, bag_of_words(text), top_k=6, explain=True))
    assert result.trace is not None
    bridged = next(step for step in result.trace.steps if step.name == "bridge")
    assert {item.id for item in bridged.items} >= {f"d{n}#0" for n in range(4)}
    assert {f"d{n}#0" for n in range(4)} <= {passage.chunk_id for passage in result.passages}
    assert any("related" in part.title for part in result.parts)


def test_every_named_mode_is_registered() -> None:
    """Every mode that the documentation names can be requested."""
    assert {"vector", "local", "passages", "bridge", "da-rag", "pipeline"} <= set(MODES)
