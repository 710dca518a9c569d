"""The share of one process: rows by their numbers, vector indexes over them, and the requests that it serves.

A document and its passages are in the shard that the document's id hashes to; a statement, a label and an entity in
the shard of their number. The writer numbers them without regard to shards, so a number is as good as a hash and needs
no table. Invariant: each row is in exactly one shard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from graphtide.graph.vector_index import SearchResult, VectorIndex, Vectors
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.graph.view_state.exact_indexes import ExactIndexes

Kind = Literal["chunks", "statements", "labels", "entities", "documents", "chunk_numbers", "entity_nodes", "names"]
Key = int | str
Rows = Mapping[Kind, Mapping[Any, Any]]
IndexName = Literal["chunks", "entities", "statements"]

NUMBERED: tuple[Kind, ...] = ("statements", "labels", "entities")
NAMED: tuple[Kind, ...] = ("documents", "chunk_numbers", "entity_nodes", "names")
INDEXED: tuple[IndexName, ...] = ("chunks", "entities", "statements")


@dataclass(frozen=True, slots=True)
class Read:
    """A request for rows, by kind and key."""

    keys: Mapping[Kind, tuple[Key, ...]]


@dataclass(frozen=True, slots=True)
class ReadReply:
    """The rows among the requested that the shard has."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class Search:
    """A request for the `k` nearest rows of one index to each query (m, d)."""

    index: IndexName
    queries: Vectors
    k: int
    exact: bool


@dataclass(frozen=True, slots=True)
class SearchReply:
    """The hits of a shard, and their rows: the coordinator reads the rows of most hits next."""

    found: SearchResult
    rows: Rows


Request = Read | Search
Reply = ReadReply | SearchReply


@dataclass(slots=True)
class Shard:
    """See the module. Indexes are built when first needed, so in the process of the shard: `new_index` makes an empty
    one of a length, and `dimensions` has the length of each.
    """

    rows: dict[Kind, dict[Any, Any]]
    dimensions: Mapping[IndexName, int]
    new_index: Callable[[int], VectorIndex]
    exact: ExactIndexes = field(default_factory=ExactIndexes)
    _built: VectorIndexes | None = None

    def serve(self, request: Request) -> Reply:
        """Return the reply to a request. Cost: the rows it returns, or one search."""
        if isinstance(request, Read):
            return ReadReply({kind: self._rows(kind, keys) for kind, keys in request.keys.items()})
        index: VectorIndex = getattr(self._indexes(request.exact), request.index)
        found = index.search(request.queries, request.k)
        return SearchReply(found, {request.index: self._rows(request.index, found.ids.ravel().tolist())})

    @property
    def indexes(self) -> VectorIndexes:
        """Return the indexes of approximate searches. Cost of the first call: the vectors of the shard."""
        if self._built is None:
            self._built = VectorIndexes(*map(self._index, INDEXED))
        return self._built

    def sizes(self) -> Mapping[IndexName, int]:
        """Return the number of vectors of each index."""
        return {name: len(getattr(self.indexes, name)) for name in INDEXED}

    def _index(self, name: IndexName) -> VectorIndex:
        index = self.new_index(self.dimensions[name])
        vectors = [(number, row.vector) for number, row in self.rows[name].items() if row.vector.size]
        if vectors:
            numbers, values = zip(*vectors, strict=True)
            index.add(np.array(numbers, np.int64), np.stack(values).astype(np.float32))
        return index

    def _rows(self, kind: Kind, keys: Any) -> dict[Any, Any]:
        rows = self.rows[kind]
        return {key: rows[key] for key in keys if key in rows}

    def _indexes(self, exact: bool) -> VectorIndexes:
        if not exact:
            return self.indexes
        return self.exact.build(self.rows["chunks"], self.rows["entities"], self.rows["statements"])


@dataclass(frozen=True, slots=True)
class ShardPlacement:
    """The shard of each row. `passages` has one byte for each passage number; documents and names need no table."""

    count: int
    passages: Mapping[int, int]

    def shard(self, kind: Kind, key: Key) -> int:
        """Return the number of the row's shard. A passage that does not exist is assigned to shard 0."""
        if isinstance(key, str):
            return shard_of(key, self.count)
        return self.passages.get(key, 0) if kind == "chunks" else key % self.count


def shard_of(name: str, count: int) -> int:
    """Return the shard that a document's id, or another name, hashes to: the same in every process."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) % count


def divide(view: LiveView, count: int, new_index: Callable[[int], VectorIndex]) -> tuple[list[Shard], ShardPlacement]:
    """Return the shards of a view, and the placement of its rows. `new_index` makes an empty index of a length.

    Call under `view.lock.read()`. The shards share the view's rows. Cost: the graph.
    """
    passages = {number: shard_of(chunk.doc_id, count) for number, chunk in view.chunks.items()}
    placement = ShardPlacement(count, passages)
    by_shard: list[dict[Kind, dict[Any, Any]]] = [{} for _ in range(count)]
    for kind in ("chunks", *NUMBERED, *NAMED):
        for rows in by_shard:
            rows[kind] = {}
        for key, row in getattr(view, kind).items():
            by_shard[placement.shard(kind, key)][kind][key] = row
    dimensions = {name: getattr(view.indexes, name).dimensions for name in INDEXED}
    return [Shard(rows, dimensions, new_index) for rows in by_shard], placement
