"""Nodes of a stored graph as classes of gqlalchemy.

Invariant (tested): the fields of a class are the properties that Graphtide writes to its nodes. A property is None
where a node keeps its identity only: its row was deleted while relationships still refer to it.
"""

from __future__ import annotations

from gqlalchemy import Node


class Graph(Node):  # type: ignore[misc]
    """A graph's name, its version, and the scope that all its present rows carry."""

    name: str
    scope: str
    version: int


class Document(Node):  # type: ignore[misc]
    """A live document."""

    key: str
    scope: str | None = None
    doc_id: str | None = None
    revision: int | None = None
    title: str | None = None
    source: str | None = None
    occurred_at: str | None = None
    metadata: str | None = None
    chunks: list[int] | None = None


class Chunk(Node):  # type: ignore[misc]
    """A passage of a document."""

    key: str
    scope: str | None = None
    number: int | None = None
    chunk_id: str | None = None
    doc_id: str | None = None
    ordinal: int | None = None
    text: str | None = None
    version: int | None = None
    vector: str | None = None
    title: str | None = None
    description: str | None = None
    place: str | None = None


class Label(Node):  # type: ignore[misc]
    """A spelling that chunks use, normalised."""

    key: str
    scope: str | None = None
    number: int | None = None
    name: str | None = None
    type: str | None = None
    node: int | None = None
    mentions: int | None = None
    vector_sum: str | None = None


class Statement(Node):  # type: ignore[misc]
    """Subject, predicate and object, however many chunks support it."""

    key: str
    scope: str | None = None
    number: int | None = None
    predicate: str | None = None
    subject: int | None = None
    object: int | None = None
    count: int | None = None
    weight_milli: int | None = None
    weight: float | None = None
    version: int | None = None
    vector_sum: str | None = None
    vector: str | None = None


class Entity(Node):  # type: ignore[misc]
    """Entity of one meaning, which one or more labels name."""

    key: str
    scope: str | None = None
    number: int | None = None
    name: str | None = None
    type: str | None = None
    labels: list[int] | None = None
    mentions: int | None = None
    version: int | None = None
    vector: str | None = None


class Community(Node):  # type: ignore[misc]
    """A group of entities, or of communities of the level below."""

    key: str
    scope: str | None = None
    number: int | None = None
    level: int | None = None
    parent: int | None = None


class Report(Node):  # type: ignore[misc]
    """A report of a community, or, at level -1, the summary of an entity."""

    key: str
    graph: str
    community: int
    level: int
    fingerprint: str
    version: int
    title: str
    summary: str
    sources: list[str]
    findings: str
    rating: float | None = None
