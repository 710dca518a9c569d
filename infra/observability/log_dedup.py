"""What libraries say over and over, said now and then: a driver whose server is away says so thirty times a second.

Not our own words, which are said when something changes. The invariant: what is new is said at once, what repeats is
said again every EVERY_S, with how often it was not; and no more than MOST texts are remembered.
"""

from __future__ import annotations

import logging

EVERY_S = 30.0
MOST = 256


class Repetitions(logging.Filter):
    """A filter of a handler, for every logger but `ours` and those below it. Cost: one look-up a record."""

    def __init__(self, ours: str) -> None:
        super().__init__()
        self._ours = ours
        self._said: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is to be written. One that speaks for others, too, says how many."""
        if record.name == self._ours or record.name.startswith(f"{self._ours}."):
            return True
        text = record.getMessage()
        key = (record.name, text)
        since, left_out = self._said.get(key, (float("-inf"), 0))
        if record.created - since < EVERY_S:
            self._said[key] = since, left_out + 1
            return False
        self._said.pop(key, None)
        while len(self._said) >= MOST:
            del self._said[next(iter(self._said))]
        self._said[key] = record.created, 0
        if left_out:
            record.msg, record.args = f"{text} ({left_out} times more since it was said last)", None
        return True
