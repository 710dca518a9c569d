"""The limits a minute of an endpoint, shared among the processes of a cluster that ask it.

Not a limit itself: it tells a process's gates how much of a minute is theirs. Each process counts its calls where all
can see it, and looks now and then at what the others count. Who counts on is asking; who did not for some looks is not,
and leaves its part to the rest. No clock is compared with another machine's.

Invariants: what all may let through in one go is at most a minute's allowance, divided among all that are there; what
all are given from then on is divided among those that ask. A process that begins to ask is noticed within
`POLL_INTERVAL_S`: for so long there may be one share too many.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Protocol

from graphtide.infra.models.limits.rate_limiter import RateLimiter

log = logging.getLogger("graphtide")

POLL_INTERVAL_S = 5.0
QUIET_LOOKS = 3
"""Looks in which a process's count did not change until it counts as one that does not ask."""


class RateLimitPeers(Protocol):
    """The processes of a cluster, as far as they ask models."""

    async def count(self, mine: Mapping[str, int]) -> Mapping[str, Mapping[int, int]]:
        """Add to this process's counts, by endpoint, and return those of the others that are there, by process.

        Raises Retryable while it cannot be told.
        """
        ...


class SharedRate:
    """See the module. `gates` by the endpoint's name; one a process, used by one task."""

    def __init__(self, gates: Mapping[str, RateLimiter], fellows: RateLimitPeers) -> None:
        self._gates = gates
        self._fellows = fellows
        self._asked = dict.fromkeys(gates, 0)
        self._seen: dict[tuple[str, int], tuple[int, int]] = {}
        self._parts = dict.fromkeys(gates, 0)

    async def run(self) -> None:
        """Look now and then, until cancelled. While the others cannot be seen, the last shares stand."""
        while True:
            await self.look()
            await asyncio.sleep(POLL_INTERVAL_S)

    async def look(self) -> None:
        """Count, look, and set the gates."""
        found = await self._fellows.count({name: self._calls(name) for name in self._gates})
        seen: dict[tuple[str, int], tuple[int, int]] = {}
        for name, gate in self._gates.items():
            counts = found.get(name, {})
            for process, count in counts.items():
                before, quiet = self._seen.get((name, process), (-1, 0))
                seen[name, process] = count, quiet + 1 if count == before else 0
            asking = sum(1 for process in counts if seen[name, process][1] < QUIET_LOOKS)
            gate.share(1 + asking, 1 + len(counts))
            if self._parts[name] != 1 + asking:
                self._parts[name] = 1 + asking
                log.info("the %s endpoint is asked by %d processes: each has that part of a minute", name, 1 + asking)
        self._seen = seen

    def _calls(self, name: str) -> int:
        """Calls since the last look; one where older ones still wait or are under way."""
        gate = self._gates[name]
        since, self._asked[name] = gate.asked - self._asked[name], gate.asked
        return since or int(bool(gate.queued or gate.under_way))
