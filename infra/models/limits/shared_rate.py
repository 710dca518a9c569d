"""Rate limits of an endpoint, shared among the processes of a cluster that call it.

It sets the share of each process's rate limiters. Each process writes its call counts to shared storage, and polls the
counts of the others. A process whose count rises is calling; one whose count stays the same for some polls is not, and
its share goes to the others. No clock is compared with another machine's.

Invariants: a burst of all processes is at most a minute's allowance, divided among all processes; the rate afterwards
is divided among those that call. A process that begins to call is noticed within `POLL_INTERVAL_S`: for that time there
may be one share too many.
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
"""Polls without a change of a process's count until it counts as one that does not call."""


class RateLimitPeers(Protocol):
    """The processes of a cluster that call models."""

    async def count(self, mine: Mapping[str, int]) -> Mapping[str, Mapping[int, int]]:
        """Add to this process's counts, by endpoint, and return those of the other processes, by process.

        Raises Retryable while the storage is unreachable.
        """
        ...


class SharedRate:
    """See the module. `gates` by the endpoint's name; one per process, used by one task."""

    def __init__(self, gates: Mapping[str, RateLimiter], peers: RateLimitPeers) -> None:
        self._gates = gates
        self._peers = peers
        self._asked = dict.fromkeys(gates, 0)
        self._seen: dict[tuple[str, int], tuple[int, int]] = {}
        self._parts = dict.fromkeys(gates, 0)

    async def run(self) -> None:
        """Poll until cancelled. While the storage is unreachable, the last shares apply."""
        while True:
            await self.look()
            await asyncio.sleep(POLL_INTERVAL_S)

    async def look(self) -> None:
        """Write the counts, read those of the others, and set the limiters' shares."""
        found = await self._peers.count({name: self._calls(name) for name in self._gates})
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
                log.info("%d processes call the %s endpoint: each gets an equal share of its limits", 1 + asking, name)
        self._seen = seen

    def _calls(self, name: str) -> int:
        """Return the calls since the last poll; one if older calls still wait or are in flight."""
        gate = self._gates[name]
        since, self._asked[name] = gate.asked - self._asked[name], gate.asked
        return since or int(bool(gate.queued or gate.in_flight))
