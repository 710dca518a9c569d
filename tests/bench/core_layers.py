"""Cost of the layers of DA-RAG when they are derived from a view, and the estimated cost of maintaining them.

The view is that of the MuSiQue passages, and one of ten times as many: copies under other names and with slightly moved
vectors, which share the entities of three and more passages, so that these occur more often as the corpus grows.

A maintained layer is not built; its cost is estimated by its minimum work. A maintained similarity layer would make one
wide search for each entity that a document changes, to find whose neighbour it becomes, and a narrow one for each that
pointed at it so far, k on average for an entity that existed before. A maintained chunk layer would rewrite the
contribution of each relation of the document's entities to each pair of passages, since the entities' spread has
changed.
"""

from __future__ import annotations

import gc
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from graphtide.graph.layers import ChunkLayer, KnowledgeLayer, SimilarityLayer, entities_in, working_entities
from graphtide.graph.layers.chunks import SPREAD
from graphtide.graph.layers.similarity import NEAREST, REACH
from graphtide.graph.records import ChunkRow, EdgeRow, EntityRow, GraphDelta, LabelRow, MentionRow, Vector
from graphtide.graph.vector_index import ExactIndex, Ids, VectorIndex, Vectors
from graphtide.graph.view import LiveView, VectorIndexes, ViewEdge
from graphtide.infra.hnsw import HnswIndex
from tests.bench.core_trussness import Row

FAMOUS = 3
COARSE, NEAR = 300, 20
"""Passages that a coarse search examines, and passages whose entities the fine search examines."""

EXACT_PAIRS = 50_000
"""The number of entities above which not all links are searched for exactly, which takes quadratic time."""

T = TypeVar("T")
U = TypeVar("U")


def measure(view: LiveView, *, quick: bool = False) -> list[Row]:
    """Yield rows for the view and, unless `quick`, for one of ten times its size."""
    rows = list(_measure(view))
    if not quick:
        larger = multiplied(view, 10)
        rows += list(_measure(larger))
        assert isinstance(larger.indexes.entities, HnswIndex)
        larger.indexes.entities.close()
    return rows


def _measure(view: LiveView) -> Iterator[Row]:
    rng = random.Random(1)
    size = f"{len(view.chunks):,} passages"
    chunks = rng.sample(sorted(view.chunks), 200)
    sets = [_nearest_passages(view, chunk) for chunk in chunks[:20]]
    working = [sorted(working_entities(view, near[:NEAR])) for near in sets]
    yield from _chunk_rows(view, size, chunks, sets)
    yield from _similarity_rows(view, size, chunks[:50], working)
    times, _ = timed(KnowledgeLayer(view).induced_edges, working)
    yield Row("knowledge layer among a question's entities, ms", size, float(np.mean(times)), figures(times))


def _chunk_rows(view: LiveView, size: str, chunks: list[int], sets: list[list[int]]) -> Iterator[Row]:
    layer, whole = ChunkLayer(view), ChunkLayer(view, spread=1 << 62)
    times, found = timed(layer.neighbours, chunks)
    links = np.array([len(one) for one in found])
    shape = f"{links.mean():.0f} links a passage, at most {links.max()}"
    yield Row("chunk layer, neighbours of a passage, ms", size, float(np.mean(times)), f"{figures(times)}; {shape}")
    bare, every = timed(whole.neighbours, chunks)
    kept = sum(one.weight for near in found for one in near) / sum(one.weight for near in every for one in near)
    of = np.array([len(one) for one in every])
    yield Row(
        "the same without the bound, ms", size, float(np.mean(bare)), f"{of.mean():.0f} links, at most {of.max()}"
    )
    yield Row("weight that the bound keeps, %", size, 100 * kept, f"links it keeps: {links.sum() / of.sum():.1%}")
    times, linked = timed(layer.induced_edges, sets)
    detail = f"{figures(times)}; {np.mean([len(one) for one in linked]):.0f} links"
    yield Row(f"chunk layer among the {COARSE} nearest passages, ms", size, float(np.mean(times)), detail)
    times, pairs = timed(lambda chunk: rewritten(view, chunk), chunks)
    detail = (
        f"{figures(times)}; {np.mean(pairs):,.0f} pairs a document, {links.mean() * len(view.chunks) / 2:,.0f} held"
    )
    yield Row("chunk layer if kept, ms a document", size, float(np.mean(times)), detail)


def _similarity_rows(view: LiveView, size: str, chunks: list[int], working: list[list[int]]) -> Iterator[Row]:
    layer = SimilarityLayer(view)
    times, found = timed(layer.induced_edges, working)
    count = np.mean([len(nodes) for nodes in working])
    detail = f"{figures(times)}; {count:.0f} entities, {np.mean([len(one) for one in found]):.0f} links"
    yield Row("similarity layer among a question's entities, ms", size, float(np.mean(times)), detail)
    nodes = sorted(working_entities(view, chunks))[:200]
    times, _ = timed(layer.neighbours, nodes)
    yield Row("similarity layer, neighbours of an entity, ms", size, float(np.mean(times)), figures(times))
    yield from _recall(view, layer, nodes)

    times, _ = timed(lambda chunk: searched(view, layer, chunk), chunks)
    yield Row("similarity layer if kept, ms a document", size, float(np.mean(times)), figures(times))


def searched(view: LiveView, layer: SimilarityLayer, chunk: int) -> None:
    """Run the searches of a maintained similarity layer for a document: see the module."""
    index = view.indexes.entities
    for node in entities_in(view, chunk):
        around = index.search(index.vectors(np.array([node])), REACH).ids[0]
        if len(view.entities[node].chunks) > 1:
            for other in around[1 : NEAREST + 1].tolist():
                layer.nearest(other)


def rewritten(view: LiveView, chunk: int) -> int:
    """Change every pair of passages whose weight a document's arrival changes; return their number."""
    pairs: dict[tuple[int, int], int] = defaultdict(int)
    for node in entities_in(view, chunk):
        own = view.entities[node].chunks
        for other in view.neighbours.get(node, ()):
            there = view.entities[other].chunks
            if len(own) * len(there) <= SPREAD:
                for one in own:
                    for another in there:
                        pairs[one, another] += 1
    return len(pairs)


def _recall(view: LiveView, layer: SimilarityLayer, nodes: list[int]) -> Iterator[Row]:
    """Return the share of the true k nearest, and of the true links in both directions, in the layer."""
    index = view.indexes.entities
    ids = index.live_ids()
    size = f"{len(ids):,} entities"
    vectors = index.vectors(ids)
    near = true_nearest(ids, vectors, nodes if len(ids) > EXACT_PAIRS else ids.tolist())
    own = sum(len({one.number for one in layer.nearest(node)} & near[node]) for node in nodes)
    yield Row("its k nearest, recall against exact search", size, own / (NEAREST * len(nodes)))
    if len(ids) > EXACT_PAIRS:
        return
    links = {node: set(near[node]) for node in nodes}
    for node, others in near.items():
        for other in others & links.keys():
            links[other].add(node)
    found = sum(len({one.number for one in layer.neighbours(node)} & links[node]) for node in nodes)
    detail = "missed: those beyond its reach, or by the index"
    yield Row("its neighbours, recall against exact search", size, found / sum(map(len, links.values())), detail)


def true_nearest(ids: Ids, vectors: Vectors, nodes: Sequence[int]) -> dict[int, set[int]]:
    """Return the nearest of all to each of the nodes, by matrix products in blocks. Cost: their product."""
    found: dict[int, set[int]] = {}
    rows = np.searchsorted(ids, np.array(nodes))
    for start in range(0, len(rows), 500):
        block = rows[start : start + 500]
        cosines = vectors[block] @ vectors.T
        cosines[np.arange(len(block)), block] = -np.inf
        best = ids[np.argpartition(-cosines, NEAREST, axis=1)[:, :NEAREST]].tolist()
        found.update((node, set(others)) for node, others in zip(ids[block].tolist(), best, strict=True))
    return found


def _nearest_passages(view: LiveView, chunk: int) -> list[int]:
    vector = view.indexes.chunks.vectors(np.array([chunk]))
    return [number for number in view.indexes.chunks.search(vector, COARSE).ids[0].tolist() if number >= 0]


def timed(work: Callable[[T], U], items: Sequence[T]) -> tuple[list[float], list[U]]:
    """Return the CPU milliseconds of each call, without Python's garbage collector (as timeit does), and its result."""
    times, results = [], []
    gc.collect()
    gc.disable()
    for item in items:
        started = time.thread_time()
        results.append(work(item))
        times.append((time.thread_time() - started) * 1e3)
    gc.enable()
    return times, results


def figures(times: list[float]) -> str:
    return f"mean {np.mean(times):.2f}, median {np.median(times):.2f}, p99 {np.quantile(times, 0.99):.2f} ms"


class _Numbers:
    """The numbers of a copy's rows: those of frequent entities are shared, all others shifted."""

    def __init__(self, view: LiveView, copy: int) -> None:
        self.copy = copy
        self._famous = {node for node, entity in view.entities.items() if len(entity.chunks) >= FAMOUS}
        self._node_of = {number: label.node for number, label in view.labels.items()}
        self._steps = tuple(max(table) + 1 for table in (view.entities, view.labels, view.chunks))

    def node(self, node: int) -> int:
        return node if node in self._famous else node + self.copy * self._steps[0]

    def label(self, label: int) -> int:
        return label if self._node_of[label] in self._famous else label + self.copy * self._steps[1]

    def chunk(self, chunk: int) -> int:
        return chunk + self.copy * self._steps[2]


def multiplied(view: LiveView, copies: int) -> LiveView:
    """Return a view with that many copies of the passages: an exact passage index, an approximate entity index."""
    delta = GraphDelta(view.graph, 1, snapshot=True)
    edges: dict[tuple[int, int], EdgeRow] = {}
    rng = np.random.default_rng(1)
    for copy in range(copies):
        part = _copied(view, _Numbers(view, copy), rng)
        for edge in part.edges:
            known = edges.get((edge.u, edge.v))
            edges[edge.u, edge.v] = replace(edge, weight=edge.weight + (known.weight if known else 0))
        delta = replace(
            delta,
            chunks=delta.chunks + part.chunks,
            labels=tuple({row.label: row for row in (*delta.labels, *part.labels)}.values()),
            mentions=delta.mentions + part.mentions,
            entities=tuple({row.node: row for row in (*part.entities, *delta.entities)}.values()),
        )
    entities = HnswIndex(view.indexes.entities.dimensions)
    larger = LiveView(view.graph, VectorIndexes(ExactIndex(view.indexes.chunks.dimensions), entities, ExactIndex(1)))
    larger.apply(replace(delta, edges=tuple(edges.values())))
    entities.settle()
    return larger


def _copied(view: LiveView, numbers: _Numbers, rng: np.random.Generator) -> GraphDelta:
    chunks = _moved(view.indexes.chunks, sorted(view.chunks), numbers.copy, rng)
    entities = _moved(view.indexes.entities, sorted(view.entities), numbers.copy, rng)
    return GraphDelta(
        view.graph,
        1,
        chunks=tuple(
            ChunkRow(numbers.chunk(n), f"{c.chunk_id}-{numbers.copy}", c.doc_id, c.ordinal, "", chunks[n], 1)
            for n, c in view.chunks.items()
        ),
        labels=tuple(
            LabelRow(
                numbers.label(n), f"{row.name} {numbers.copy}", row.type, numbers.node(row.node), row.mentions, b""
            )
            for n, row in view.labels.items()
        ),
        mentions=tuple(
            MentionRow(numbers.label(row.label), numbers.chunk(row.chunk), row.name, row.description, row.count)
            for chunk in view.chunks.values()
            for row in chunk.mentions
        ),
        entities=tuple(
            EntityRow(numbers.node(n), e.name, e.type, tuple(map(numbers.label, e.labels)), e.mentions, entities[n], 1)
            for n, e in view.entities.items()
        ),
        edges=tuple(
            _edge(numbers.node(u), numbers.node(v), edge)
            for u, ends in view.neighbours.items()
            for v, edge in ends.items()
            if u < v
        ),
    )


def _edge(one: int, other: int, edge: ViewEdge) -> EdgeRow:
    return EdgeRow(min(one, other), max(one, other), edge.weight, edge.trussness)


def _moved(index: VectorIndex, ids: list[int], copy: int, rng: np.random.Generator) -> dict[int, Vector]:
    """Return the vectors of a copy: the first copy's unchanged, the others' slightly moved."""
    vectors = index.vectors(np.array(ids, np.int64))
    noise = rng.standard_normal(vectors.shape).astype(np.float32) * (0.02 if copy else 0.0)
    return dict(zip(ids, (vectors + noise).astype(np.float16), strict=True))
