"""A concurrency limit with fair shares: no holder can block the others.

The shares are dynamic thresholds (Choudhury and Hahne 1998, alpha = 1): a named holder takes another place only while
more places are free than it holds. One greedy holder gets half of the places, and n greedy ones each 1/(n+1) in the
steady state, so a new holder finds a place. For a holder without a name (a caller of an open service, the process
itself) the total is the only limit. The invariant: never more than `total` places are held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from graphtide.streams.errors import Overloaded

RETRY_AFTER_S = 1.0


class FairPlaces:
    """At most `total` places at a time. Belongs to one event loop; nothing waits for a place."""

    def __init__(self, total: int, of_what: str = "requests") -> None:
        """Create the limit; `of_what` names the counted things in errors."""
        self._total = total
        self._of_what = of_what
        self._taken: Counter[str] = Counter()
        self._running = 0

    @property
    def running(self) -> int:
        """Return the number of held places."""
        return self._running

    def hold(self, name: str) -> AbstractContextManager[None]:
        """Hold one place for the length of the block, which must be entered before the next `await`.

        Raises Overloaded at once when `name` may hold no more.
        """
        if self._running >= self._total:
            raise Overloaded(f"{self._running} {self._of_what} are in progress already; try again later", RETRY_AFTER_S)
        taken = self._taken.get(name, 0)
        if name and taken and taken >= self._total - self._running:
            raise Overloaded(
                f"{taken} {self._of_what} of {name} are in progress already; wait for one to end", RETRY_AFTER_S
            )
        return self._holding(name)

    @contextmanager
    def _holding(self, name: str) -> Iterator[None]:
        self._taken[name] += 1
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self._taken[name] -= 1
            if not self._taken[name]:
                del self._taken[name]
