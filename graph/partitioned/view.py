"""A view over shards: every mode of retrieval reads it as it reads a whole one.

The coordinator holds the topology (the walk graph, edges with weight and trussness, the community hierarchy, and the
public id of each entity, which breaks ties), the weights that mode `dynagrag` learns, and in this prototype also the
look-ups by name of graph/aboutness and graph/relatedness; texts, vectors, names, statements and mentions are in the
shards. The walk is a function of the weighted graph, bit by bit, and the nearest rows of all shards
are the nearest of each, so an exact question gives the same result as on one process, to the last bit of a score. With
approximate indexes the hits may differ, since each shard searches a graph of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphtide.graph.aboutness import AboutnessIndex
from graphtide.graph.algorithms.pagerank import WalkGraph
from graphtide.graph.partitioned.gathering import Gatherer, ShardTransport, Traffic
from graphtide.graph.partitioned.shards import (
    NAMED,
    NUMBERED,
    IndexName,
    Reply,
    Request,
    Search,
    SearchReply,
    Shard,
    ShardPlacement,
)
from graphtide.graph.retrieval.dynagrag.learning import MaskModel
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.scoring.about_links import asked_names
from graphtide.graph.retrieval.scoring.pair_scoring import DECADES
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.vector_index import PADDING, ExactIndex, Ids, SearchResult, Vectors, best_of, stacked, unit_rows
from graphtide.graph.view import LiveView, VectorIndexes

FILTER_GROWTH = 4
"""The factor by which a search under a filter is repeated, until enough hits are admitted."""


READ_CLOSELY = 100
"""The number of a walk's best passages whose references are announced too: as many as mode `local` takes."""


class LocalShards:
    """A transport to shards in this process, for tests."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards

    def ask(self, requests: Mapping[int, Request]) -> Mapping[int, Reply]:
        """See ShardTransport.ask."""
        return {number: self._shards[number].serve(request) for number, request in requests.items()}


class PartitionedView(LiveView):
    """See the module. It is made from a view and is not current after that view's next delta."""

    def __init__(self, whole: LiveView, transport: ShardTransport, placement: ShardPlacement) -> None:
        super().__init__(whole.graph, whole.indexes, whole.functional_predicates)
        self._gatherer = gatherer = Gatherer(transport, placement)
        self.version, self.lock = whole.version, whole.lock
        self.neighbours, self.edge_count, self.hierarchy = whole.neighbours, whole.edge_count, whole.hierarchy
        self.relatedness, self.contents, self.reports = whole.relatedness, whole.contents, whole.reports
        self.same_as, self._linked, self.predicates = whole.same_as, whole._linked, whole.predicates
        whole.followers.get(MaskModel).weights(whole)  # fitted once for this version; a shard could not fit it alone
        self.followers = whole.followers
        self._ids = {node: entity.id for node, entity in whole.entities.items()}
        self.walk = _AnnouncingWalk(whole.walk, gatherer)
        self.about = _AnnouncingLinks(whole.about, gatherer)
        for kind in ("chunks", *NUMBERED, *NAMED):
            setattr(self, kind, gatherer.table(kind))
        sizes = {name: len(getattr(whole.indexes, name)) for name in ("chunks", "entities", "statements")}
        self.indexes = self._scattered(whole.indexes, sizes, placement.count, exact=False)
        self._exact = self._scattered(whole.indexes, sizes, placement.count, exact=True)

    def exact_indexes(self) -> VectorIndexes:
        """Return exact indexes over all shards."""
        return self._exact

    def entity_id(self, node: int) -> str:
        """Return the canonical name of an entity, without a request."""
        return self._ids[node]

    def statements_of(self, node: int) -> Iterator[int]:
        """Yield the statements of an entity, each once per end, after announcing them: their ends are read next."""
        numbers = [number for label in self.entities[node].labels for number in self.labels[label].statements]
        self._gatherer.announce("statements", numbers, follow=True)
        return iter(numbers)

    def announce_names(self, names: Iterable[str]) -> None:
        """Note names that are looked up next: one round reads them all."""
        self._gatherer.announce("names", names, follow=False)

    def forget(self) -> Traffic:
        """Drop all rows that were read, and return what they cost: a process that answers keeps none."""
        traffic = self._gatherer.traffic
        self._gatherer.forget()
        return traffic

    def _scattered(self, whole: VectorIndexes, sizes: Mapping[str, int], count: int, *, exact: bool) -> VectorIndexes:
        def made(name: IndexName) -> ScatteredIndex:
            return ScatteredIndex(self._gatherer, name, getattr(whole, name).dimensions, sizes[name], count, exact)

        return VectorIndexes(made("chunks"), made("entities"), made("statements"))


class ScatteredIndex(ExactIndex):
    """An index whose vectors are in shards. It is read only; an exact one has the results of one ExactIndex."""

    def __init__(
        self, gatherer: Gatherer, name: IndexName, dimensions: int, size: int, count: int, exact: bool
    ) -> None:
        super().__init__(dimensions)
        self._gatherer = gatherer
        self._name: IndexName = name
        self._size = size
        self._count = count
        self._is_exact = exact

    def __len__(self) -> int:
        return self._size

    def __contains__(self, id_: object) -> bool:
        row = self._gatherer.table(self._name).get(id_)
        return row is not None and bool(row.vector.size)

    def vectors(self, ids: Ids) -> Vectors:
        """Return the unit vectors of rows, from the rows themselves. Raises KeyError for an id without a vector."""
        table = self._gatherer.table(self._name)
        self._gatherer.announce(self._name, ids.tolist(), follow=False)
        found = [table[number].vector for number in ids.tolist()]
        if not all(vector.size for vector in found):
            raise KeyError("a row has no vector")
        return unit_rows(np.array(found, np.float32).reshape(-1, self.dimensions), self.dimensions)

    def search(self, queries: Vectors, k: int, *, allowed: Callable[[int], bool] | None = None) -> SearchResult:
        """Return the k most similar of all shards. Cost: one round; under a filter more, until k are admitted."""
        fetched = k
        while True:
            found = self._merged(queries, fetched)
            if allowed is None:
                return found
            self._gatherer.announce(self._name, (n for n in found.ids.ravel().tolist() if n != PADDING), follow=True)
            rows = [_best(ids, cosines, allowed, k) for ids, cosines in zip(found.ids, found.similarities, strict=True)]
            if fetched >= self._size or all(ids[-1] != PADDING for ids, _ in rows):
                return stacked(rows, k)
            fetched *= FILTER_GROWTH

    def _merged(self, queries: Vectors, k: int) -> SearchResult:
        request = Search(self._name, queries, k, self._is_exact)
        replies = self._gatherer.ask(dict.fromkeys(range(self._count), request)).values()
        found = [reply for reply in replies if isinstance(reply, SearchReply)]
        ids = np.concatenate([reply.found.ids for reply in found], axis=1)
        cosines = np.concatenate([reply.found.similarities for reply in found], axis=1)
        rows = [_best(row, values, lambda _: True, k) for row, values in zip(ids, cosines, strict=True)]
        for reply in found:
            self._gatherer.take(reply.rows)
        kept = {number for row, _ in rows for number in row.tolist() if number != PADDING}
        self._gatherer.announce(self._name, sorted(kept), follow=True)
        return stacked(rows, k)


def _best(ids: Ids, cosines: Vectors, allowed: Callable[[int], bool], k: int) -> tuple[Ids, Vectors]:
    kept = np.array([number != PADDING and allowed(number) for number in ids.tolist()], bool)
    return best_of(ids[kept], cosines[kept], k)


def retrieve_partitioned(view: PartitionedView, question: Question) -> tuple[RetrievalResult, Traffic]:
    """Answer a question from shards, beginning with no rows. Returns the result of `retrieve`, and what it cost.

    Raises as `retrieve`.
    """
    view.forget()
    view.announce_names(asked_names(question.text))
    result = retrieve(view, question)
    return result, view.forget()


class _AnnouncingWalk(WalkGraph):
    """The walk graph, which announces the passages that a walk reaches: their ids are compared, the best are read."""

    def __init__(self, whole: WalkGraph, gatherer: Gatherer) -> None:
        super().__init__()
        self._kernel = whole._kernel
        self._gatherer = gatherer

    def push(self, *arguments: Any, **named: Any) -> Any:
        """See WalkGraph.push."""
        nodes, mass = super().push(*arguments, **named)
        passages = nodes % 2 == 1
        reached, shares = nodes[passages] // 2, mass[passages]
        if len(reached):
            within = reached[shares > shares.max() * 10.0**-DECADES].tolist()
            self._gatherer.announce("chunks", within[:READ_CLOSELY], follow=True)
            self._gatherer.announce("chunks", within[READ_CLOSELY:], follow=False)
        return nodes, mass


class _AnnouncingLinks(AboutnessIndex):
    """The names of what passages are about; passages that are looked up are announced."""

    def __init__(self, whole: AboutnessIndex, gatherer: Gatherer) -> None:
        super().__init__()
        self._keys, self._passages, self.called = whole._keys, whole._passages, whole.called
        self._gatherer = gatherer

    def passages(self, names: Iterable[str]) -> list[Collection[int]]:
        """See AboutnessIndex.passages."""
        found = super().passages(names)
        for numbers in found:
            self._gatherer.announce("chunks", numbers, follow=False)
        return found

    def keys(self, chunk: int) -> tuple[str, ...]:
        """See AboutnessIndex.keys."""
        for number in (chunk, *self._gatherer.followed("chunks")):
            self._gatherer.announce("names", super().keys(number), follow=False)
        return super().keys(chunk)
