"""Relationships of a stored graph as classes of gqlalchemy.

Invariant (tested): the fields of a class are the properties that Graphtide writes to its relationships.
"""

from __future__ import annotations

from gqlalchemy import Relationship


class Has(Relationship, type="HAS"):  # type: ignore[misc, call-arg]
    """A document has a chunk."""


class Mentions(Relationship, type="MENTIONS"):  # type: ignore[misc, call-arg]
    """A chunk mentions a label, `count` times, under a name."""

    place: int
    name: str
    description: str
    count: int


class Names(Relationship, type="NAMES"):  # type: ignore[misc, call-arg]
    """A label names an entity."""


class Supports(Relationship, type="SUPPORTS"):  # type: ignore[misc, call-arg]
    """A chunk supports a statement by a sentence, `count` times; `place` is its order in the chunk."""

    place: int
    description: str
    sentence: str
    weight_milli: int
    count: int
    valid_from: str
    valid_to: str


class Subject(Relationship, type="SUBJECT"):  # type: ignore[misc, call-arg]
    """A label is the subject of a statement."""


class Object(Relationship, type="OBJECT"):  # type: ignore[misc, call-arg]
    """A label is the object of a statement."""


class Relates(Relationship, type="RELATES"):  # type: ignore[misc, call-arg]
    """Statements relate two entities, in either direction."""

    key: str
    weight: int
    trussness: int


class SameAs(Relationship, type="SAME_AS"):  # type: ignore[misc, call-arg]
    """Two labels mean the same, by a rule."""

    key: str
    rule: str
    score_milli: int


class MemberOf(Relationship, type="MEMBER_OF"):  # type: ignore[misc, call-arg]
    """An entity is a member of a community of the finest level."""


class PartOf(Relationship, type="PART_OF"):  # type: ignore[misc, call-arg]
    """A community is part of one of the level above."""


class About(Relationship, type="ABOUT"):  # type: ignore[misc, call-arg]
    """A report is about a community."""
