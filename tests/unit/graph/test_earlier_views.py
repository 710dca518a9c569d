"""Views of earlier versions: equal to the graph as it was, at a cost that depends on what has changed since."""

from __future__ import annotations

import gc
import random
import tracemalloc
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from graphtide.graph.browsing.entity_order import EntitySort
from graphtide.graph.earlier.view import EarlierView
from graphtide.graph.records import ChunkContribution, DocumentInfo, Extraction, Fact, Mention
from graphtide.graph.retrieval.modes.table import MODES, retrieve
from graphtide.graph.retrieval.types import Question
from graphtide.graph.view import LiveView
from graphtide.services.query.retrieve import READS_REPORTS
from tests.support.extractions import NAMES, vector
from tests.support.graph_history import GraphHistory
from tests.support.seeds import seeds
from tests.support.worlds import RandomWorld

SORTS = tuple(EntitySort)


def tables(view: LiveView) -> dict[str, Any]:
    """Return all content of a view, derived tables included, in a form that compares."""
    found: dict[str, Any] = {
        "documents": dict(view.documents.items()),
        "chunk_numbers": dict(view.chunk_numbers.items()),
        "names": {name: sorted(members) for name, members in view.names.items()},
        "entity_nodes": dict(view.entity_nodes.items()),
        "same_as": dict(view.same_as.items()),
        "links": {number: view.links_of(number) for number in view.labels},
        "neighbours": {node: dict(members.items()) for node, members in view.neighbours.items()},
        "counts": (view.version, view.edge_count, view.text_bytes, len(view.walk)),
        "predicates": view.predicates.links(),
        "called": sorted(view.about.called),
        "about": {number: sorted(view.about.keys(number)) for number in view.chunks},
        "related": {number: (sorted(view.relatedness.names(number))) for number in view.chunks},
        "weights": view.relatedness.weights(),
        "communities": {node: [view.hierarchy.community(node, level) for level in range(3)] for node in view.entities},
        "roots": view.hierarchy.roots(),
        "members": {root: view.hierarchy.members(root).tolist() for root in view.hierarchy.roots()},
    }
    for name in ("chunks", "labels", "statements", "entities"):
        table = getattr(view, name)
        assert len(table) == len(list(table))
        found[name] = {number: plain(row) for number, row in table.items()}
    nodes = [2 * node for node in view.entities] + [2 * chunk + 1 for chunk in view.chunks]
    found["walk"] = {
        node: (
            view.walk.degree(node),
            {int(end): view.walk.weight(node, int(end)) for end in view.walk.neighbours(node)},
        )
        for node in nodes
    }
    return found


def plain(row: Any) -> dict[str, Any]:
    values = {each.name: getattr(row, each.name) for each in fields(row)}
    values |= {name: sorted(values[name]) for name in ("chunks", "statements") if name in values}
    if values.get("repeats") is not None:
        values["repeats"] = dict(values["repeats"].items())
    return values


def check(earlier: EarlierView, rebuilt: LiveView, rng: random.Random) -> None:
    """Compare the tables, the digest, listings and answers in every mode that may be asked at an earlier version."""
    with earlier.lock.read():
        ours, theirs = tables(earlier), tables(rebuilt)
        for name, table in theirs.items():
            assert ours[name] == table, name
        for sort in SORTS:
            assert list(earlier.order.page(earlier, sort, earlier.version, None)) == list(
                rebuilt.order.page(rebuilt, sort, rebuilt.version, None)
            )
    assert earlier.digests.read(earlier) == rebuilt.digests.read(rebuilt)
    text = f"how does {rng.choice(NAMES)} know {rng.choice(NAMES)}"
    for mode in sorted(MODES.keys() - READS_REPORTS):
        question = Question(text, vector(text).astype(np.float32), 4, mode, exact=rng.random() < 0.5)
        with earlier.lock.read():
            found = retrieve(earlier, question)
        expected = retrieve(rebuilt, question)
        assert [(p.chunk_id, p.score, p.text) for p in found.passages] == [
            (p.chunk_id, p.score, p.text) for p in expected.passages
        ], mode


def random_history(seed: int, steps: int) -> tuple[GraphHistory, random.Random]:
    rng = random.Random(seed)
    history = GraphHistory(RandomWorld(rng, 10))
    for _ in range(steps):
        history.commit(history.world.step())
    return history, rng


@pytest.mark.parametrize("seed", seeds(2, 4))
def test_earlier_view_equals_the_graph_as_it_was(seed: int) -> None:
    """Each version of a random stream with edits, merges and deletions, back to the empty graph."""
    print("seed", seed)
    history, rng = random_history(seed, 25)
    for version in range(0, 26, 5):
        check(history.open(version), history.rebuilt(version), rng)


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_earlier_view_stays_as_it_is_while_the_graph_changes(seed: int) -> None:
    """Views opened at different times, some from the history and some of the version just committed."""
    print("seed", seed)
    history, rng = random_history(seed, 8)
    opened = [history.open(5), history.open(8)]
    for step in range(12):
        history.commit(history.world.step())
        for earlier in opened if step % 3 == 2 else ():
            check(earlier, history.rebuilt(earlier.version), rng)
    check(history.open(9), history.rebuilt(9), rng)


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_earlier_view_moves_forward_by_the_deltas_that_led_on(seed: int) -> None:
    """As the evaluation of missed versions does, also when the present view changes meanwhile."""
    print("seed", seed)
    history, rng = random_history(seed, 14)
    earlier = history.open(4)
    for version in range(5, 15):
        with earlier.lock.read():
            earlier.apply(history.deltas[version - 1])
        if version % 4 == 0:
            history.commit(history.world.step())
        check(earlier, history.rebuilt(version), rng)
    with pytest.raises(ValueError, match="not the next"):
        earlier.apply(history.deltas[3])


def test_earlier_view_cannot_be_written_to() -> None:
    """Its lock has no writer."""
    history, _ = random_history(1, 3)
    with pytest.raises(TypeError, match="earlier version"), history.open(2).lock.write():
        pass


@pytest.mark.parametrize("changed", [2, pytest.param(8, marks=pytest.mark.thorough)])
def test_opening_costs_what_has_changed_however_large_the_graph(changed: int) -> None:
    """The things noted, the entries held and the bytes allocated, beside 40 and 640 documents about the same hub."""
    (noted, entries, size_bytes), large = opened_over(40, changed), opened_over(640, changed)
    assert large[:2] == (noted, entries)
    assert large[2] < 1.5 * size_bytes


def opened_over(documents: int, changed: int) -> tuple[int, int, int]:
    """Return the cost of opening the version before edits of a few documents, which all name the hub, too."""
    history = GraphHistory(RandomWorld(random.Random(3)))
    few = [about_hub(f"few{number}", number) for number in range(changed)]
    history.commit(history.world.change(*few))
    for start in range(0, documents, 40):
        history.commit(history.world.change(*(about_hub(f"far{n}", n) for n in range(start, start + 40))))
    version = history.view.version
    for number, each in enumerate(few):
        history.commit(history.world.change(replace(about_hub(each.doc_id, -number - 1), revision=2)))
    history.open(version)  # what is made once in a process
    gc.collect()
    tracemalloc.start()
    try:
        earlier = history.open(version)
        return earlier.noted, earlier.overlaid, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def about_hub(doc_id: str, number: int) -> Extraction:
    """Return a document about the hub and a thing that no other names, both of which it relates."""
    hub = Mention("Hub", "place", "", vector("Hub"))
    name = f"{doc_id} {'abcdefghij'[number % 10]}"
    own = Mention(name, "thing", "", vector(name))
    fact = Fact(0, "contains", 1, "", "", 1000, vector("contains"))
    unit = ChunkContribution(name.encode(), f"{name} is in Hub.", 0, 9, vector(doc_id), (hub, own), (fact,))
    return Extraction(doc_id, 1, DocumentInfo(doc_id), (unit,))
