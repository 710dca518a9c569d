"""The types of documents and their states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphtide.services.application.answers import Usage
from graphtide.streams.document_progress import DocumentProgress
from graphtide.streams.ports import RevisionState


@dataclass(frozen=True, slots=True)
class Receipt:
    """Receipt of durably accepted documents. A later query passes `token` as `after` to include them."""

    token: str
    accepted: int


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A relation that a document states, with its evidence sentence (empty when the publisher supplied the relation).

    `valid_from` and `valid_to` are ISO dates or empty; `ended_by` is the later document that contradicts it, and
    `superseding_value` the value that that document states.
    """

    subject: str
    predicate: str
    object: str
    description: str
    weight: float
    evidence: str
    chunk_id: str
    valid_from: str = ""
    valid_to: str = ""
    ended_by: str = ""
    superseding_value: str = ""


@dataclass(frozen=True, slots=True)
class DocumentStatus:
    """The newest revision of a document: its state, the reason of a failure, and its content in the graph.

    `facts` are those of the live revision, which is older while `state` is "accepted" or "failed". `usage` is
    the use of models by all its revisions. `media_type` is empty when the publisher gave none.
    """

    graph: str
    doc_id: str
    state: RevisionState
    revision: int
    reason: str
    token: str
    live_revision: int | None
    title: str
    source: str
    occurred_at: str
    metadata: Mapping[str, object]
    text: str
    facts: tuple[StatedFact, ...]
    usage: Usage = field(default_factory=Usage)
    media_type: str = ""
    progress: DocumentProgress | None = None
    """How far the newest revision is, while it is accepted, large, and extracted by the process that answers."""


@dataclass(frozen=True, slots=True)
class RelatedDocument:
    """A document related to another. `score` is the sum of `weight` and `shared`.

    `weight` is learned from the passages' vectors, `shared` the strength of the rarest entity that both mention (0:
    none), `entities` the names of the rarest ones.
    """

    doc_id: str
    title: str
    score: float
    weight: float
    shared: float
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelatedDocuments:
    """The documents related to one, the best first, and the version of the graph that was read."""

    doc_id: str
    version: int
    documents: tuple[RelatedDocument, ...]
