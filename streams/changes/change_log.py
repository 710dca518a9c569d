"""The port of the change log, and its records: the commits of each graph within a retention.

Invariant: the retained records of a graph have consecutive versions, up to its present one; a record and the commit
that it describes are durable together.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from graphtide.graph.changes.rows import communities_out, rows_in, rows_out
from graphtide.graph.communities import CommunityChange
from graphtide.graph.records import GraphDelta
from graphtide.streams.changes import old_rows
from graphtide.streams.changes.changed_document import ChangedDocument
from graphtide.streams.changes.old_rows import OldRows
from graphtide.streams.errors import Broken, Rejected
from graphtide.streams.follow import delta_codec
from graphtide.streams.json_parts import Elements, dump, parts
from graphtide.streams.log.revisions import FIRST_NUMBER, MAX_PARTITIONS

LARGE_ROWS = 2_000
"""Mentions and statements of passages from which a delta is encoded in pieces."""


@dataclass(frozen=True, slots=True)
class ChangeRetention:
    """Limits of the change log of one graph; a record beyond one of them is deleted. 0 commits: no log."""

    commits: int = 10_000
    age_s: float = 7 * 24 * 3600.0
    size_bytes: int = 256 << 20


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One commit of one graph. `forward` is its encoded delta, `old` the encoded rows that it overwrote.

    `replaced` means that the graph was rebuilt: the numbers of its rows are new, and both are empty.
    """

    graph: str
    version: int
    committed_ms: int
    documents: tuple[ChangedDocument, ...]
    forward: bytes = b""
    old: bytes = b""
    replaced: bool = False

    def delta(self) -> GraphDelta:
        """Return the delta, without vectors. Raises Broken for a damaged record."""
        try:
            text = zlib.decompress(self.forward)
            body = json.loads(text)
            return delta_codec.decode(text) if "schema" in body else rows_in(self.graph, self.version, body)
        except (ValueError, TypeError, KeyError, zlib.error, Rejected) as error:
            raise Broken(
                f"the change log of graph {self.graph!r} is damaged at version {self.version}: {error!r}"
            ) from error

    def old_rows(self) -> OldRows:
        """Return the rows that the commit overwrote. Raises Broken for a damaged record."""
        return old_rows.decode(self.graph, self.version - 1, self.old)


class ChangeReader(Protocol):
    """A reader of retained commits."""

    async def read(self, graph: str, after: int, limit: int) -> Sequence[ChangeRecord]:
        """Return up to `limit` records with versions above `after`, in order, together of a bounded size."""
        ...


class ChangeLog(ChangeReader, Protocol):
    """The retained commits of the graphs of a process."""

    async def first(self, graph: str) -> int:
        """Return the version after which all commits are retained: a reader may resume after it or after a later one.

        That is the present version when nothing is retained.
        """
        ...

    async def last(self, graph: str) -> int:
        """Return the version of the newest record, `first` when nothing is retained."""
        ...

    async def retains(self, graph: str, version: int) -> bool:
        """Return True if a reader may resume after that version. Cheaper than `first` where the log is long."""
        ...

    async def version_of(self, graph: str, until: Mapping[int, int]) -> int:
        """Return the newest retained version whose commit includes a revision up to a number of `until`, which are
        by partition of `documents`; 0 if none does. Cost: one search of an index, or the records in memory.
        """
        ...

    async def wait(self, graph: str, version: int) -> None:
        """Return when a record above `version` may exist."""
        ...


def included(revision: int, until: Mapping[int, int]) -> bool:
    """Return True for a revision up to a number of `until`, in the partition that the number names, if it names one."""
    if revision < FIRST_NUMBER:
        return any(revision <= number for number in until.values())
    return revision <= until.get(revision & (MAX_PARTITIONS - 1), -1)


def encode_forward(delta: GraphDelta) -> bytes:
    """Return the delta's rows without vectors, compressed."""
    large = len(delta.mentions) + len(delta.evidence) >= LARGE_ROWS
    body = rows_out(delta, Elements if large else list)
    if isinstance(delta.communities, CommunityChange):
        body["communities"] = communities_out(delta.communities)
    if not large:
        return zlib.compress(dump(body), 1)
    packer, packed = zlib.compressobj(1), bytearray()
    for part in parts(body):
        packed += packer.compress(part)
    return bytes(packed + packer.flush())
