"""What a view keeps of the last delta, in memory that does not grow by objects."""

from __future__ import annotations

import random

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView, VectorIndexes, walk_chunk, walk_entity
from tests.bench.object_sizes import sizes_of
from tests.support.extractions import random_extraction

BYTES_A_LINK, BYTES_BESIDE = 8, 300


def test_links_that_the_last_delta_changed_are_an_array() -> None:
    """After the first documents they are all links of the walk graph, from the smaller end to the larger."""
    rng = random.Random(11)
    changes = [DocumentChange(f"d{n}", None, random_extraction(rng, f"d{n}", n)) for n in range(8)]
    view = LiveView("g", VectorIndexes(ExactIndex(16), ExactIndex(16), ExactIndex(16)))
    view.apply(Consolidator("g").apply(changes))
    edges = {(walk_entity(a), walk_entity(b)) for a, around in view.neighbours.items() for b in around if a < b}
    incidences = {
        (walk_entity(node), walk_chunk(chunk)) for node, entity in view.entities.items() for chunk in entity.chunks
    }
    links = view.changed_links
    assert sorted(map(tuple, links.tolist())) == sorted(edges | incidences)
    assert sizes_of(links, set()).total <= BYTES_A_LINK * len(links) + BYTES_BESIDE
