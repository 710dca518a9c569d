"""What `deltas` says of a commit in a cluster: a notice, and behind it the whole delta, cut into records.

A part is a record whose header `part` is `version:number/count`, its value a slice of the delta's bytes: broker and
store bound the size of a record. A delta that is larger than is worth sending is announced by its notice alone, and
followers take the graph's snapshot instead.

Invariant: the parts of a delta, put together in order, are the delta without its sums, to the last bit.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from graphtide.graph.records import GraphDelta
from graphtide.streams.consolidate.maintenance_requests import REPLY
from graphtide.streams.errors import Rejected
from graphtide.streams.follow import delta_codec as deltas
from graphtide.streams.messages import DeltaNotice, decode_notice
from graphtide.streams.ports import ConsumedRecord, Record

PART = "part"
PART_BYTES = 512 << 10
"""Half of what a broker takes by default, so that keys, headers and framing never matter."""
MAX_BYTES = 64 << 20
"""From here on a snapshot is read from the store: a delta that large is most of its graph."""
_LABEL = re.compile(rb"([0-9]{1,18}):([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class DeltaPart:
    """Slice `number` of `count`, from 1, of the delta to `version`."""

    graph: str
    version: int
    number: int
    count: int
    data: bytes


def notice(delta: GraphDelta) -> DeltaNotice:
    """What `deltas` says of a delta: the entities whose row changed, or whose edges did."""
    nodes = {row.node for row in delta.entities}
    nodes.update(end for row in delta.edges for end in (row.u, row.v))
    nodes.update(end for edge in delta.gone.edges for end in edge)
    return DeltaNotice(delta.graph, delta.version, tuple(sorted(nodes - set(delta.gone.entities))))


def notice_records(delta: GraphDelta) -> tuple[Record, ...]:
    """The notice alone: for followers in the process that wrote the delta."""
    return (Record(delta.graph, notice(delta).encode()),)


def full_records(delta: GraphDelta, part_bytes: int = PART_BYTES, most_bytes: int = MAX_BYTES) -> tuple[Record, ...]:
    """The notice and the parts. A snapshot (the graph was rebuilt) and what is larger than that: the notice alone."""
    if delta.snapshot:
        return (Record(delta.graph, DeltaNotice(delta.graph, delta.version, replaced=True).encode()),)
    data = zlib.compress(deltas.encode(delta, sums=False), 1)
    slices = [data[start : start + part_bytes] for start in range(0, len(data), part_bytes)]
    if len(data) > most_bytes:
        slices = []
    said = notice(delta)
    head = DeltaNotice(said.graph, said.version, said.nodes, len(slices))
    return (
        Record(delta.graph, head.encode()),
        *(
            Record(delta.graph, one, ((PART, b"%d:%d/%d" % (delta.version, number, len(slices))),))
            for number, one in enumerate(slices, 1)
        ),
    )


def parse_record(delivered: ConsumedRecord) -> DeltaNotice | DeltaPart:
    """What a record of `deltas` is. Raises Rejected for one that is neither."""
    record = delivered.record
    label = part_label(delivered)
    if label is None:
        return decode_notice(record.value or b"")
    found = _LABEL.fullmatch(label)
    if found is None or record.value is None:
        raise Rejected(f"the record says it is part {label[:40]!r} of a delta, and is none")
    version, number, count = map(int, found.groups())
    return DeltaPart(record.key, version, number, count, record.value)


def is_notice(delivered: ConsumedRecord) -> bool:
    """Whether the record is meant as a notice: no part of a delta, and no reply."""
    return not {PART, REPLY} & dict(delivered.record.headers).keys()


def part_label(delivered: ConsumedRecord) -> bytes | None:
    """The header that makes a record a part; None for all others."""
    return dict(delivered.record.headers).get(PART)


def assemble_delta(parts: Sequence[DeltaPart]) -> GraphDelta:
    """The delta that its parts, in order, make. Raises Rejected when they do not."""
    unpack = zlib.decompressobj()
    try:
        data = unpack.decompress(b"".join(part.data for part in parts), deltas.MAX_DECODED_BYTES)
    except zlib.error as error:
        raise Rejected(f"the delta cannot be unpacked: {error}") from error
    if not unpack.eof:
        raise Rejected("the delta is cut off, or larger than any that is sent")
    delta = deltas.decode(data)
    if (delta.graph, delta.version) != (parts[0].graph, parts[0].version) or delta.snapshot:
        raise Rejected(f"the delta is of graph {delta.graph!r}, version {delta.version}, not what its notice says")
    return delta
