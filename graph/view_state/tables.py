"""Tables of a live view: passages, labels, statements, entities, edges, by small ints.

Only `graph.view` writes these values; every reader uses them under the view's lock. `walk_entity` and `walk_chunk` give
the numbers of entities and passages in the walk graph.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from graphtide.graph.algorithms.pagerank import Nodes
from graphtide.graph.communities.replica import HierarchyReplica
from graphtide.graph.int_sets import EMPTY, IntSet, excluding, including
from graphtide.graph.records import DocumentRow, Vector
from graphtide.graph.text.place import NO_PLACE, Place
from graphtide.graph.vector_store import VectorBytes, text_of
from graphtide.graph.vector_sum import vector_of
from graphtide.graph.view_state.overlay import Overlay, Writing, own_ints
from graphtide.graph.view_state.passage_rows import NO_EVIDENCE, NO_MENTIONS, PassageEvidence, PassageMentions


class _Embedded:
    """A row with a vector. It holds the bytes, which a write model and an index of the same process hold too."""

    __slots__ = ()
    vector_bytes: VectorBytes

    @property
    def vector(self) -> Vector:
        """Return the vector `(d,)` as an array over the bytes, (0,) for a row without one. O(1)."""
        return vector_of(self.vector_bytes)


class HasBytes(Protocol):
    """A row with the bytes of its vector, none for a row without one."""

    @property
    def vector_bytes(self) -> VectorBytes: ...


@dataclass(slots=True)
class ViewChunk(_Embedded):
    """A passage, with its mentions and statements. It holds its vector too: reading one back from an index is slow.

    Its text is in UTF-8, and may be in a file: few are read between two changes of the graph.
    `title` and `description` are a model's, or empty: `graph/layers/headings.py` chooses the displayed heading.
    """

    chunk_id: str
    doc_id: str
    ordinal: int
    utf8: VectorBytes
    vector_bytes: VectorBytes
    mentions: PassageMentions = NO_MENTIONS
    evidence: PassageEvidence = NO_EVIDENCE
    title: str = ""
    description: str = ""
    place: Place = NO_PLACE

    @property
    def text(self) -> str:
        """Return the text. Cost: see `vector_store.text_of`."""
        return text_of(self.utf8)


@dataclass(slots=True)
class ViewLabel:
    """A spelling of one type, its entity, the chunks that use it, and the statements that contain it."""

    name: str
    type: str
    node: int
    mentions: int
    chunks: IntSet = EMPTY
    statements: IntSet = EMPTY


@dataclass(slots=True)
class ViewStatement(_Embedded):
    """A triple of labels, how often and how strongly it is stated, and the chunks that state it.

    It holds its vector too, as entities do: reading one back from an index takes twenty times as long.
    """

    subject: int
    predicate: str
    object: int
    count: int
    weight_milli: int
    vector_bytes: VectorBytes
    chunks: IntSet = EMPTY


@dataclass(slots=True)
class ViewEntity(_Embedded):
    """A cluster of labels under its canonical `id`, and the chunks that mention it.

    `repeats` counts the mentions of the chunks that do not mention it exactly once; None without such a chunk.
    """

    id: str
    name: str
    type: str
    labels: tuple[int, ...]
    mentions: int
    vector_bytes: VectorBytes
    chunks: IntSet = EMPTY
    repeats: MutableMapping[int, int] | None = None

    def times(self, chunk: int) -> int:
        """Return how often a chunk mentions the entity."""
        if self.repeats is not None and (repeated := self.repeats.get(chunk)):
            return repeated
        return int(chunk in self.chunks)

    def count(self, chunk: int, times: int) -> None:
        """Add mentions in a chunk, or remove them where `times` is negative."""
        total = self.times(chunk) + times
        self.chunks = including(self.chunks, chunk) if total else excluding(self.chunks, chunk)
        if total not in (0, 1):
            self.repeats = {} if self.repeats is None else self.repeats
            self.repeats[chunk] = total
        elif self.repeats is not None:
            self.repeats.pop(chunk, None)
            self.repeats = self.repeats or None


class MentionTables(Protocol):
    """The passages of a live view with their documents, and the labels that they mention."""

    @property
    def documents(self) -> Mapping[str, DocumentRow]: ...

    @property
    def chunks(self) -> Mapping[int, ViewChunk]: ...

    @property
    def labels(self) -> Mapping[int, ViewLabel]: ...


class FactTables(Protocol):
    """The labels of a live view, the statements between them, and the entities that they form."""

    @property
    def labels(self) -> Mapping[int, ViewLabel]: ...

    @property
    def statements(self) -> Mapping[int, ViewStatement]: ...

    @property
    def entities(self) -> Mapping[int, ViewEntity]: ...


class ViewTables(FactTables, Protocol):
    """The tables of a live view as its reports read them: by number, and numbers by public name."""

    @property
    def hierarchy(self) -> HierarchyReplica: ...

    @property
    def chunk_numbers(self) -> Mapping[str, int]: ...

    @property
    def entity_nodes(self) -> Mapping[str, int]: ...


def walk_entity(node: int) -> int:
    """Return the walk graph's number of an entity: even."""
    return 2 * node


def walk_chunk(chunk: int) -> int:
    """Return the walk graph's number of a passage: odd."""
    return 2 * chunk + 1


def walk_entities(nodes: Sequence[int]) -> Nodes:
    """Return the walk graph's numbers of entities, (n,) int32."""
    return 2 * np.array(nodes, np.int32)


def walk_chunks(chunks: Sequence[int]) -> Nodes:
    """Return the walk graph's numbers of passages, (n,) int32."""
    return 2 * np.array(chunks, np.int32) + 1


@dataclass(frozen=True, slots=True)
class OwnTables:
    """Copies of rows that a fork of a view may change (overlay.py). Cost: O(1); large sets refer to the old ones."""

    writing: Writing

    def chunk(self, row: ViewChunk) -> ViewChunk:
        """Return a copy of a passage."""
        return replace(row)

    def label(self, row: ViewLabel) -> ViewLabel:
        """Return a copy of a label."""
        return replace(row, chunks=own_ints(row.chunks), statements=own_ints(row.statements))

    def statement(self, row: ViewStatement) -> ViewStatement:
        """Return a copy of a statement."""
        return replace(row, chunks=own_ints(row.chunks))

    def entity(self, row: ViewEntity) -> ViewEntity:
        """Return a copy of an entity."""
        repeats = None if row.repeats is None else Overlay(row.repeats, self.writing)
        return replace(row, chunks=own_ints(row.chunks), repeats=repeats)
