"""Types of the sources stage: a record of another system's topic, and the changes of documents that it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from graphtide.streams.messages import DocumentMessage, document_key
from graphtide.streams.ports import Position

STAGE = "sources"
"""The stage in the dead letters of records that cannot be mapped."""
Headers = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A record as it was read from a topic of another system."""

    topic: str
    position: Position
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class RowVersion:
    """Place of a change in the source's own log: its log sequence number, and the source's time in milliseconds."""

    lsn: int
    time_ms: int

    def is_after(self, other: RowVersion) -> bool:
        """Return True unless both values are at most those of `other`: only then is the change known to be old.

        A restored or replaced database counts its log from a smaller number again, at a later time.
        """
        return self.lsn > other.lsn or self.time_ms > other.time_ms


@dataclass(frozen=True, slots=True)
class SourceChange:
    """A document to publish, or to delete (`document` None).

    `version` is None where the source has no order of its own. A snapshot's rows are valid whatever their version.
    """

    graph: str
    doc_id: str
    document: DocumentMessage | None
    version: RowVersion | None = None
    is_snapshot: bool = False

    @property
    def key(self) -> str:
        """Return the key of its record in `documents`."""
        return document_key(self.graph, self.doc_id)


class SourceDecoder(Protocol):
    """Converter of records to changes, by the mapping of their topic."""

    def graph_of(self, topic: str) -> str:
        """Return the graph of the topic's mapping; "" if the record's content decides."""
        ...

    async def decode(self, record: SourceRecord) -> Sequence[SourceChange]:
        """Return the changes in their order; none for a record that changes no document.

        Raises Rejected, with cause and remedy, for a record that cannot be mapped, and Retryable while the schema
        registry is unreachable.
        """
        ...


class SourceOutcome(StrEnum):
    """The end of a record of a source."""

    PUBLISHED = "published"
    DELETED = "deleted"
    IGNORED = "ignored"
    DUPLICATE = "duplicate"
    REJECTED = "rejected"


class SourceObserver(Protocol):
    """Receiver of the ends of records. `topic` is one of the mapped topics."""

    def ended(self, topic: str, outcome: SourceOutcome, count: int = 1) -> None:
        """Note that `count` records of the topic reached their end."""
        ...
