"""Ints by small number: a compact table for numbers that are reused, such as those of labels and entities.

A `dict` of 64-bit ints takes some 140 bytes an entry, this table 8, up to the largest number ever set.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator


class NumberedInts:
    """Ints from 0 to 2**64 - 1 by number; 0 for a number that has none."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers = array("Q")

    def __getitem__(self, number: int) -> int:
        return self._numbers[number] if 0 <= number < len(self._numbers) else 0

    def __setitem__(self, number: int, value: int) -> None:
        """Set the int of a number from 0 up. Raises OverflowError for one that is out of range."""
        missing = number + 1 - len(self._numbers)
        if missing > 0 and value:
            self._numbers.frombytes(bytes(missing * self._numbers.itemsize))
        if missing <= 0 or value:
            self._numbers[number] = value

    def items(self) -> Iterator[tuple[int, int]]:
        """Yield (number, int) of every int but 0, by number. Cost: the largest number."""
        return ((number, value) for number, value in enumerate(self._numbers) if value)

    def clear(self) -> None:
        """Set all ints to 0."""
        self._numbers = array("Q")
