"""Memory of deltas, and of what a view keeps of the last one."""

from __future__ import annotations

import random

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.vector_sum import VectorSum
from graphtide.graph.view import LiveView, VectorIndexes, walk_chunk, walk_entity
from tests.bench.object_sizes import sizes_of
from tests.support.extractions import random_extraction

BYTES_A_LINK, BYTES_BESIDE = 8, 300
BYTES_OF_A_SUM = 80
"""At most: an object of four fields, and its count."""


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


def test_sums_of_a_delta_are_no_copies_of_those_of_the_write_model() -> None:
    """They are encoded when they are read, and a later change of the write model leaves them as they were."""
    rng, writer = random.Random(12), Consolidator("g")
    changes = [DocumentChange(f"d{n}", None, random_extraction(rng, f"d{n}", n)) for n in range(30)]
    delta = writer.apply(changes)
    sums = [*(row.vector_sum for row in delta.labels), *(row.vector_sum for row in delta.statements)]
    before = [bytes(encoding) for encoding in sums]
    assert any(VectorSum.from_bytes(data).same is None for data in before), "no sum is of several vectors"
    seen = set[int]()
    sizes_of(writer, seen)
    assert sum(sizes_of(encoding, seen).total for encoding in sums) <= BYTES_OF_A_SUM * len(sums)
    writer.apply([DocumentChange(f"d{n}", changes[n].new, None) for n in range(15)])
    assert [bytes(encoding) for encoding in sums] == before
