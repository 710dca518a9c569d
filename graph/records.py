"""The rows of a graph, and the delta from one version to the next.

There are two families. An `Extraction` is the contribution of one document revision. It is cut into
`ChunkContribution`s, one per chunk, the smallest things that are added or retracted. The `*Row`s are what the graph
holds. A `GraphDelta` lists the rows that one commit changed, completely: a replica that applies the deltas in order
holds the same graph as the writer, and a snapshot is one delta from the empty graph.

Internally, labels, statements, chunks and entities are small ints (`node` for an entity), reused after they are freed.
They depend on the order of arrival, so they never enter the digest and never leave the service; `graph/digest.py` and
`graph/identity.py` translate them to canonical strings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from graphtide.graph.text.place import NO_PLACE, Place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from graphtide.graph.communities import CommunityChange, Hierarchy
    from graphtide.graph.vector_sum import SumEncoding

COMMUNITY_LEVELS = 3
"""The number of levels of the community hierarchy, as in graph/kernels/communities/moving.hpp."""

Vector: TypeAlias = "NDArray[np.float16]"
"""A stored embedding, shape (d,). float16 is exact in int64 fixed point at scale 2^24, so sums have an inverse."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One chunk's name for an entity. `type` and `description` may be empty."""

    name: str
    type: str
    description: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Fact:
    """One relation as one chunk states it. `subject` and `object` index the unit's mentions.

    `weight_milli` is the weight in thousandths (integers have an inverse). `sentence` is the evidence, cut from the
    chunk's text, or empty if the document supplied the fact. `valid_from` and `valid_to` are ISO dates or empty.
    """

    subject: int
    predicate: str
    object: int
    description: str
    sentence: str
    weight_milli: int
    vector: Vector
    valid_from: str = ""
    valid_to: str = ""


@dataclass(frozen=True, slots=True)
class ChunkContribution:
    """One chunk and all its contributions. `key` is a digest of all of them: equal keys, equal contributions.

    `title` and `description` are the model's heading of the chunk; empty if no model was called. `text` is readable
    text; `source` is the piece of the document that it was made from, None if that is the same. `place` is where that
    piece is; like `start` and `end`, it is not part of the key.
    """

    key: bytes
    text: str
    start: int
    end: int
    vector: Vector
    mentions: tuple[Mention, ...]
    facts: tuple[Fact, ...]
    title: str = ""
    description: str = ""
    place: Place = NO_PLACE
    source: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document's own metadata, shown in citations and used by filters. `metadata` is sorted (key, JSON) pairs."""

    title: str = ""
    source: str = ""
    occurred_at: str = ""
    metadata: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """One document revision's whole contribution. `gaps` are the texts before, between and after the units: blanks,
    and the markup that no passage contains. `media_type` is that of the document, "" if the publisher gave none.
    """

    doc_id: str
    revision: int
    info: DocumentInfo
    units: tuple[ChunkContribution, ...]
    gaps: tuple[str, ...] = ()
    media_type: str = ""

    @property
    def text(self) -> str:
        """Return the document's text, unchanged."""
        gaps = self.gaps or ("",) * (len(self.units) + 1)
        texts = (unit.text if unit.source is None else unit.source for unit in self.units)
        parts = (gap + text for gap, text in zip(gaps, texts, strict=False))
        return "".join(parts) + gaps[-1]


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """One document's change: `old` is its contribution so far, `new` its contribution from now on."""

    doc_id: str
    old: Extraction | None
    new: Extraction | None


@dataclass(frozen=True, slots=True)
class DocumentRow:
    doc_id: str
    revision: int
    info: DocumentInfo
    chunks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A passage of a document. `chunk_id` is its public name: the document's id and a digest of the text."""

    chunk: int
    chunk_id: str
    doc_id: str
    ordinal: int
    text: str
    vector: Vector
    version: int = 0
    title: str = ""
    description: str = ""
    place: Place = NO_PLACE


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A normalised spelling of one type. `vector_sum` is the encoded `VectorSum` of its mentions (first mean): read it
    by `bytes(...)`.
    """

    label: int
    name: str
    type: str
    node: int
    mentions: int
    vector_sum: bytes | SumEncoding


@dataclass(frozen=True, slots=True)
class MentionRow:
    """`count` mentions of a label in one chunk under one spelling with one description."""

    label: int
    chunk: int
    name: str
    description: str
    count: int


@dataclass(frozen=True, slots=True)
class TripleRow:
    """The triple (subject label, predicate, object label) summed over its chunks; `count` is its frequency."""

    statement: int
    subject: int
    predicate: str
    object: int
    count: int
    weight_milli: int
    vector_sum: bytes | SumEncoding
    vector: Vector
    version: int = 0


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One chunk's support for one statement, with the sentence that states it."""

    statement: int
    chunk: int
    description: str
    sentence: str
    weight_milli: int
    count: int
    valid_from: str = ""
    valid_to: str = ""


@dataclass(frozen=True, slots=True)
class SameAsRow:
    """Two labels that a rule matches, the evidence of a merge.

    It applies when both labels are in one entity. A cannot-link constraint may have overruled it, and it may apply
    again after another label is removed.
    """

    a: int
    b: int
    rule: str
    score_milli: int


@dataclass(frozen=True, slots=True)
class EntityRow:
    """A connected component of labels. `name` is its commonest spelling, `vector` the mean of its labels' means."""

    node: int
    name: str
    type: str
    labels: tuple[int, ...]
    mentions: int
    vector: Vector
    version: int = 0


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """An undirected edge between entities, `u` < `v`; `weight` is the frequency of its statements, 0 for a removed
    edge.
    """

    u: int
    v: int
    weight: int
    trussness: int


@dataclass(frozen=True, slots=True)
class Removals:
    """Keys that a delta removes. Removals are applied before the rows of the same delta, because ids are reused.

    The mention and evidence rows of a removed chunk are removed with it.
    """

    documents: tuple[str, ...] = ()
    chunks: tuple[int, ...] = ()
    labels: tuple[int, ...] = ()
    statements: tuple[int, ...] = ()
    same_as: tuple[tuple[int, int], ...] = ()
    entities: tuple[int, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()
    predicate_links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class GraphDelta:
    """All changes of one commit in one graph. Applied to version `version - 1` it gives `version`.

    A snapshot has `snapshot=True`, holds every row (and the whole `Hierarchy`), and gives `version` from the empty
    graph. One without rows that is `deleted` ends the graph: it does not exist until its next version.
    `predicate_links` are pairs of predicates in ascending order that a judge found to have one meaning.
    """

    graph: str
    version: int
    gone: Removals = field(default_factory=Removals)
    documents: tuple[DocumentRow, ...] = ()
    chunks: tuple[ChunkRow, ...] = ()
    labels: tuple[LabelRow, ...] = ()
    mentions: tuple[MentionRow, ...] = ()
    statements: tuple[TripleRow, ...] = ()
    evidence: tuple[EvidenceRow, ...] = ()
    same_as: tuple[SameAsRow, ...] = ()
    entities: tuple[EntityRow, ...] = ()
    edges: tuple[EdgeRow, ...] = ()
    communities: CommunityChange | Hierarchy | None = None
    snapshot: bool = False
    deleted: bool = False
    predicate_links: tuple[tuple[str, str], ...] = ()

    @property
    def changed_rows(self) -> int:
        """Return the number of written rows of entities, edges and passages, the measure of the work with the delta."""
        gone = self.gone
        written = len(self.entities) + len(self.edges) + len(self.mentions) + len(self.evidence)
        return written + len(gone.entities) + len(gone.edges)
