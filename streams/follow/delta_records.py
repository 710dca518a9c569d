"""Records of `deltas` for a commit in a cluster: a notice, then the whole delta, split into parts.

A part is a record whose header `part` is `version:number/count` and whose value is a slice of the delta's bytes: broker
and store limit the size of a record. A delta that is too large to send is announced by its notice alone, and followers
load the graph's snapshot instead.

The rows that the delta overwrote follow as further parts of the version, with the header `overwritten`. Followers drop
them as parts of a version that they show, which also those of releases without this header do; readers of the history
(`streams/changes/retained_deltas.py`) join them.

Invariant: the parts of a delta, joined in order, are the delta without its sums, bit for bit.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from graphtide.graph.records import GraphDelta
from graphtide.streams.changes.commit_header import commit_header
from graphtide.streams.consolidate.maintenance_requests import REPLY
from graphtide.streams.errors import Rejected
from graphtide.streams.follow import delta_codec as deltas
from graphtide.streams.messages import DeltaNotice, ReportRequest, decode_notice
from graphtide.streams.ports import ConsumedRecord, Record, RevisionOutcome

PART = "part"
OVERWRITTEN = "overwritten"
PART_BYTES = 512 << 10
"""Half of a broker's default limit, which leaves room for keys, headers and framing."""
MAX_BYTES = 64 << 20
"""Maximum size of a delta to send: a larger one is most of its graph, and followers load the snapshot."""
_LABEL = re.compile(rb"([0-9]{1,18}):([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class DeltaPart:
    """Slice `number` of `count`, from 1, of the delta to `version`."""

    graph: str
    version: int
    number: int
    count: int
    data: bytes
    overwritten: bool = False


def notice(delta: GraphDelta) -> DeltaNotice:
    """Return the notice of a delta: the entities whose row or edges changed."""
    if delta.deleted:
        return DeltaNotice(delta.graph, delta.version, replaced=True, deleted=True)
    nodes = {row.node for row in delta.entities}
    nodes.update(end for row in delta.edges for end in (row.u, row.v))
    nodes.update(end for edge in delta.gone.edges for end in edge)
    return DeltaNotice(delta.graph, delta.version, tuple(sorted(nodes - set(delta.gone.entities))))


def notice_records(delta: GraphDelta, _: Sequence[RevisionOutcome] = ()) -> tuple[Record, ...]:
    """Return the notice alone, for followers in the process that wrote the delta."""
    return (Record(delta.graph, notice(delta).encode()),)


def full_records(
    delta: GraphDelta,
    outcomes: Sequence[RevisionOutcome] = (),
    part_bytes: int = PART_BYTES,
    max_bytes: int = MAX_BYTES,
) -> tuple[Record, ...]:
    """Return the notice and the parts; the notice alone for a snapshot (a rebuilt graph) or above `most_bytes`.

    The notice names the graph's `outcomes`, the revisions that the commit includes.
    """
    headers = commit_header(delta.graph, outcomes)
    if delta.snapshot:
        rebuilt = DeltaNotice(delta.graph, delta.version, replaced=True, deleted=delta.deleted)
        return (Record(delta.graph, rebuilt.encode(), headers),)
    slices = _slices(zlib.compress(deltas.encode(delta, sums=False), 1), part_bytes, max_bytes)
    brief = notice(delta)
    head = DeltaNotice(brief.graph, brief.version, brief.nodes, len(slices))
    return (
        Record(delta.graph, head.encode(), headers),
        *(Record(delta.graph, part, (_label(delta, number, len(slices)),)) for number, part in enumerate(slices, 1)),
    )


def overwritten_records(
    delta: GraphDelta, old: bytes, part_bytes: int = PART_BYTES, max_bytes: int = MAX_BYTES
) -> tuple[Record, ...]:
    """Return the parts of the encoded rows that the delta overwrote; none above `most_bytes`.

    See Overwritten in `streams/ports`. Without them the history of the graph begins after this version.
    """
    slices = _slices(old, part_bytes, max_bytes)
    return tuple(
        Record(delta.graph, part, (_label(delta, number, len(slices)), (OVERWRITTEN, b"1")))
        for number, part in enumerate(slices, 1)
    )


def _slices(data: bytes, part_bytes: int, max_bytes: int) -> list[bytes]:
    starts = range(0, len(data), part_bytes) if len(data) <= max_bytes else ()
    return [data[start : start + part_bytes] for start in starts]


def _label(delta: GraphDelta, number: int, count: int) -> tuple[str, bytes]:
    return PART, b"%d:%d/%d" % (delta.version, number, count)


def parse_record(delivered: ConsumedRecord) -> DeltaNotice | ReportRequest | DeltaPart:
    """Return the notice, report request or part in a record of `deltas`. Raises Rejected for a malformed one."""
    record = delivered.record
    label = part_label(delivered)
    if label is None:
        return decode_notice(record.value or b"")
    found = _LABEL.fullmatch(label)
    if found is None or record.value is None:
        raise Rejected(f"the record with part header {label[:40]!r} is not a valid part of a delta")
    version, number, count = map(int, found.groups())
    return DeltaPart(record.key, version, number, count, record.value, OVERWRITTEN in dict(record.headers))


def is_notice(delivered: ConsumedRecord) -> bool:
    """Return True if the headers mark the record as a notice: neither a part of a delta nor a reply."""
    return not {PART, REPLY} & dict(delivered.record.headers).keys()


def part_label(delivered: ConsumedRecord) -> bytes | None:
    """Return the header that marks a record as a part; None for other records."""
    return dict(delivered.record.headers).get(PART)


def assemble_delta(parts: Sequence[DeltaPart]) -> GraphDelta:
    """Return the delta of its parts in order. Raises Rejected when they do not form one."""
    unpack = zlib.decompressobj()
    try:
        data = unpack.decompress(b"".join(part.data for part in parts), deltas.MAX_DECODED_BYTES)
    except zlib.error as error:
        raise Rejected(f"the delta cannot be unpacked: {error}") from error
    if not unpack.eof:
        raise Rejected(f"the delta is cut off or larger than {deltas.MAX_DECODED_BYTES} bytes")
    delta = deltas.decode(data)
    if (delta.graph, delta.version) != (parts[0].graph, parts[0].version) or delta.snapshot:
        raise Rejected(
            f"the delta is of graph {delta.graph!r}, version {delta.version}, but its parts name"
            f" graph {parts[0].graph!r}, version {parts[0].version}"
        )
    return delta
