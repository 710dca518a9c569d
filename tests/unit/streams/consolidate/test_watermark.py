"""A record that is missing where a batch begins is read again before it counts as lost."""

from __future__ import annotations

from typing import Any

import pytest

from graphtide.streams.consolidate.partitions.watermark import PartitionWatermark
from graphtide.streams.errors import Broken, Retryable
from graphtide.streams.ports import ConsumedRecord, Position, Record, Watermark


def record_at(offset: int) -> ConsumedRecord:
    return ConsumedRecord(Position(0, offset), 0, Record("g", b"{}"))


def test_a_missing_record_is_read_again_and_lost_only_when_it_is_missing_once_more() -> None:
    """Retryable with the offset, then Broken; after progress the next missing record is read again, too."""
    nothing: Any = None  # the check reads no dependency
    watermark = PartitionWatermark(0, nothing)
    for expected in (3, 8):
        watermark.current = Watermark(1, expected)
        watermark.check_next(record_at(expected))
        with pytest.raises(Retryable, match=rf"record {expected} .* not delivered before record {expected + 2};"):
            watermark.check_next(record_at(expected + 2))
        watermark.check_next(record_at(expected))
        with pytest.raises(Broken, match="are lost"):
            watermark.check_next(record_at(expected + 2))
