"""Token buckets by name: rate limits that return the time to wait.

The invariant: memory is bounded. The least recently used bucket is dropped first, which only refills it.
"""

from __future__ import annotations

from collections import OrderedDict


class Buckets:
    """Token buckets by name. The caller passes the time, in seconds of any monotonic clock."""

    def __init__(self, max_names: int = 10_000) -> None:
        self._max_names = max_names
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, name: str, per_second: float, burst: float, now: float) -> float:
        """Take one token and return 0; take none and return the seconds until the next one if the bucket is empty.
        O(1).
        """
        left, at = self._buckets.pop(name, (burst, now))
        left = min(burst, left + max(0.0, now - at) * per_second)
        wait_s = 0.0 if left >= 1 else (1 - left) / per_second
        self._buckets[name] = (left if wait_s else left - 1, now)
        if len(self._buckets) > self._max_names:
            self._buckets.popitem(last=False)
        return wait_s
