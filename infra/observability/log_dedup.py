"""Rate limit of repeated log messages of third-party libraries: a driver with an unreachable server logs 30 per second.

Graphtide's own messages pass: they are logged on changes only. Invariant: a new message is logged at once, a repeated
one again every EVERY_S with the number of suppressed ones; and at most MAX_TEXTS texts are remembered.
"""

from __future__ import annotations

import logging

EVERY_S = 30.0
MAX_TEXTS = 256


class Repetitions(logging.Filter):
    """A filter of a handler, for every logger except `ours` and its children. Cost: one lookup per record."""

    def __init__(self, ours: str) -> None:
        super().__init__()
        self._ours = ours
        self._recent: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write the record. A record after suppressed ones gets their number."""
        if record.name == self._ours or record.name.startswith(f"{self._ours}."):
            return True
        text = record.getMessage()
        key = (record.name, text)
        since, left_out = self._recent.get(key, (float("-inf"), 0))
        if record.created - since < EVERY_S:
            self._recent[key] = since, left_out + 1
            return False
        self._recent.pop(key, None)
        while len(self._recent) >= MAX_TEXTS:
            del self._recent[next(iter(self._recent))]
        self._recent[key] = record.created, 0
        if left_out:
            record.msg, record.args = f"{text} ({left_out} repetitions suppressed)", None
        return True
