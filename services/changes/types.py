"""Types of the change feed: the caller's selection, and what a stream of changes consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphtide.graph.changes.summary import (
    Changed,
    ChangedEntity,
    ChangedRelation,
    EntityMerge,
    EntitySplit,
)
from graphtide.streams.changes.changed_document import ChangedDocument

__all__ = [
    "Change",
    "ChangeQuery",
    "Changed",
    "ChangedDocument",
    "ChangedEntity",
    "ChangedRelation",
    "EntityMerge",
    "EntitySplit",
    "FeedItem",
    "FeedOpened",
    "FeedProgress",
    "GraphRows",
]


@dataclass(frozen=True, slots=True)
class ChangeQuery:
    """A selection of changes: those after the token `after`; without one, those from now on.

    A change is selected when it has an entity with the id or name `entity`, an entity of type `type`, and a document
    whose id begins with `prefix`, for each of them that is not empty. `rows` adds the changed rows to every change, and
    without `after` the feed begins with all rows of the graph. Without `follow` it ends at the present version.
    """

    after: str = ""
    entity: str = ""
    type: str = ""
    prefix: str = ""
    rows: bool = False
    follow: bool = True


@dataclass(frozen=True, slots=True)
class FeedOpened:
    """The first item of a feed: the request is valid, and changes after `version` follow."""

    version: int


@dataclass(frozen=True, slots=True)
class FeedProgress:
    """A position that a filtered feed has reached without a selected change; a reader resumes after it, too."""

    token: str


@dataclass(frozen=True, slots=True)
class GraphRows:
    """Part `part` of `parts`, from 1, of all rows of the graph at `version` (docs/changes.md)."""

    version: int
    token: str
    part: int
    parts: int
    rows: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """One commit of a graph. `token` resumes a feed after it, and names its version in `at`.

    `rebuilt`: the graph was rebuilt, its rows have new numbers, and no earlier version is retained. `rows` are the
    changed rows, None unless requested.
    """

    version: int
    token: str
    committed_at: str
    documents: tuple[ChangedDocument, ...] = ()
    entities: Changed[ChangedEntity] = field(default_factory=Changed)
    relations: Changed[ChangedRelation] = field(default_factory=Changed)
    merges: tuple[EntityMerge, ...] = ()
    splits: tuple[EntitySplit, ...] = ()
    rebuilt: bool = False
    rows: Mapping[str, Any] | None = None


FeedItem = FeedOpened | FeedProgress | GraphRows | Change


def size_of(item: FeedItem) -> int:
    """Return the number of rows, entities and relations of an item."""
    if isinstance(item, FeedOpened | FeedProgress):
        return 0
    rows = sum(len(each) for each in (item.rows or {}).values() if isinstance(each, list))
    if isinstance(item, GraphRows):
        return rows
    parts = ((each.added, each.changed, each.removed) for each in (item.entities, item.relations))
    return rows + len(item.documents) + sum(len(part) for kinds in parts for part in kinds)
