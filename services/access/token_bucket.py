"""Token buckets, one a name: how often something may happen, and how long to wait when it was too often.

The invariant: memory is bounded. The least recently used name is forgotten first, which can only be in its favour.
"""

from __future__ import annotations

from collections import OrderedDict


class Buckets:
    """Buckets by name. Time is given by the caller, in seconds of any steady clock."""

    def __init__(self, most_names: int = 10_000) -> None:
        self._most_names = most_names
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def take(self, name: str, per_second: float, burst: float, now: float) -> float:
        """Take one from the bucket and return 0; or leave it and return the seconds until there will be one. O(1)."""
        left, at = self._held.pop(name, (burst, now))
        left = min(burst, left + max(0.0, now - at) * per_second)
        wait_s = 0.0 if left >= 1 else (1 - left) / per_second
        self._held[name] = (left if wait_s else left - 1, now)
        if len(self._held) > self._most_names:
            self._held.popitem(last=False)
        return wait_s
