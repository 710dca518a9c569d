"""Conversion of the items of a change feed to messages and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeVar

from google.protobuf.message import Message

from graphtide.services.api.grpc.conversion import message_of
from graphtide.services.api.grpc.decoding import value_of
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.shapes import dump, fields_json
from graphtide.services.application import Change, ChangeQuery, FeedItem, FeedOpened, FeedProgress, GraphRows
from graphtide.services.changes.types import (
    Changed,
    ChangedDocument,
    ChangedEntity,
    ChangedRelation,
    EntityMerge,
    EntitySplit,
)

T = TypeVar("T")


def query_message(graph: str, query: ChangeQuery) -> pb.ChangeQuery:
    """Return the request of a feed."""
    texts = {"after": query.after, "entity": query.entity, "type": query.type, "prefix": query.prefix}
    return pb.ChangeQuery(graph=graph, rows=query.rows, ends=not query.follow, **texts)


def change_event(item: FeedItem) -> pb.ChangeEvent:
    """Return the message of an item."""
    if isinstance(item, FeedOpened):
        return pb.ChangeEvent(opened=item.version)
    if isinstance(item, FeedProgress):
        return pb.ChangeEvent(progress=item.token)
    body = fields_json(item)
    body["rows"] = b"" if item.rows is None else dump(item.rows)
    if isinstance(item, GraphRows):
        return pb.ChangeEvent(rows=message_of(pb.GraphRows, body))
    return pb.ChangeEvent(change=message_of(pb.Change, body))


def feed_item(event: pb.ChangeEvent) -> FeedItem:
    """Return the item of a message."""
    kind = event.WhichOneof("event")
    if kind == "opened":
        return FeedOpened(event.opened)
    if kind == "progress":
        return FeedProgress(event.progress)
    if kind == "rows":
        part = event.rows
        return GraphRows(part.version, part.token, part.part, part.parts, json.loads(part.rows))
    return change_of(event.change)


def change_message(change: Change) -> pb.Change:
    """Return the message of a change."""
    body = fields_json(change)
    body["rows"] = b"" if change.rows is None else dump(change.rows)
    return message_of(pb.Change, body)


def change_of(message: pb.Change) -> Change:
    """Return the change of a message."""
    entities, relations = message.entities, message.relations
    return Change(
        message.version,
        message.token,
        message.committed_at,
        _all(ChangedDocument, message.documents),
        Changed(*(_all(ChangedEntity, part) for part in (entities.added, entities.changed, entities.removed))),
        Changed(*(_all(ChangedRelation, part) for part in (relations.added, relations.changed, relations.removed))),
        _all(EntityMerge, message.merges),
        _all(EntitySplit, message.splits),
        message.rebuilt,
        json.loads(message.rows) if message.rows else None,
    )


def _all(kind: type[T], messages: Iterable[Message]) -> tuple[T, ...]:
    return tuple(value_of(kind, each) for each in messages)
