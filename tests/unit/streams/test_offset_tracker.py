"""The offset tracker: with records that end out of order, only a complete prefix is committed."""

from __future__ import annotations

import random

from graphtide.streams.extract.offset_tracker import OffsetTracker
from graphtide.streams.ports import Position


def test_window_names_a_position_only_when_all_in_front_of_it_has_ended() -> None:
    """The last record but one ends first; the commit follows the end of the earlier one."""
    window = OffsetTracker()
    for offset in (3, 4, 6):  # offsets may have gaps
        window.open(Position(0, offset))
    assert window.ended(Position(0, 4)) is None and len(window) == 3
    assert window.ended(Position(0, 3)) == Position(0, 4) and len(window) == 1
    assert window.ended(Position(0, 6)) == Position(0, 6) and len(window) == 0


def test_window_agrees_with_a_plain_list_in_any_order() -> None:
    """Three partitions, ends in random order: each answer is the longest whole prefix, named once."""
    seed = 5
    print(f"seed {seed}")
    rng = random.Random(seed)
    window, read, committed = (
        OffsetTracker(),
        {partition: list(range(50)) for partition in range(3)},
        dict.fromkeys(range(3), -1),
    )
    for offset in range(50):
        for partition in read:
            window.open(Position(partition, offset))
    ends = [Position(partition, offset) for partition in read for offset in read[partition]]
    rng.shuffle(ends)
    gone: set[Position] = set()
    for position in ends:
        gone.add(position)
        whole = next((n for n in range(50) if Position(position.partition, n) not in gone), 50) - 1
        expected = Position(position.partition, whole) if whole > committed[position.partition] else None
        assert window.ended(position) == expected
        committed[position.partition] = whole
    assert len(window) == 0
