"""What the tables of a live view hold: passages, labels, statements, entities, edges, by small ints.

Values that `graph.view` alone writes and everyone reads, under the view's lock; which int means what stands there.
`walk_entity` and `walk_chunk` give the numbers by which the walk graph knows entities and passages.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from graphtide.graph.records import EvidenceRow, MentionRow, Vector


@dataclass(slots=True)
class ViewChunk:
    """A passage, with what it mentions and states. Its vector stands here too: an index is slow to give one back.

    `title` and `description` are a model's, or empty: what a passage is called is `graph/layers/headings.py`'s to say.
    """

    chunk_id: str
    doc_id: str
    ordinal: int
    text: str
    vector: Vector
    mentions: tuple[MentionRow, ...] = ()
    evidence: tuple[EvidenceRow, ...] = ()
    title: str = ""
    description: str = ""


@dataclass(slots=True)
class ViewLabel:
    """A spelling of one type, the entity it belongs to, the chunks that use it, the statements it stands in."""

    name: str
    type: str
    node: int
    mentions: int
    chunks: set[int] = field(default_factory=set)
    statements: set[int] = field(default_factory=set)


@dataclass(slots=True)
class ViewStatement:
    """A triple of labels, how often and how strongly it is stated, and the chunks that state it.

    The vectors of statements and entities stand here too: an index takes twenty times as long to give one back.
    """

    subject: int
    predicate: str
    object: int
    count: int
    weight_milli: int
    vector: Vector
    chunks: set[int] = field(default_factory=set)


@dataclass(slots=True)
class ViewEntity:
    """A cluster of labels under its canonical `id`. `chunks` counts, by chunk, the mentions of the entity there."""

    id: str
    name: str
    type: str
    labels: tuple[int, ...]
    mentions: int
    vector: Vector
    chunks: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class ViewEdge:
    weight: int
    trussness: int


def walk_entity(node: int) -> int:
    """The walk graph's number of an entity: even."""
    return 2 * node


def walk_chunk(chunk: int) -> int:
    """The walk graph's number of a passage: odd."""
    return 2 * chunk + 1
