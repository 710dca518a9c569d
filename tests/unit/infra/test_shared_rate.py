"""Rate limits shared among the processes of a cluster: together they keep to them, and use all of them."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping

import pytest

from graphtide.infra.models.limits.rate_limiter import EndpointLimits, RateLimiter, Timing
from graphtide.infra.models.limits.shared_rate import POLL_INTERVAL_S, QUIET_LOOKS, SharedRate

PER_MINUTE = 120


class Board:
    """In-memory counts of a cluster's processes: the reference of `RateLimitPeers`."""

    def __init__(self) -> None:
        self.counts: dict[int, Counter[str]] = {}

    def of(self, process: int) -> Member:
        self.counts[process] = Counter()
        return Member(self, process)


class Member:
    """One process's access to the board."""

    def __init__(self, board: Board, process: int) -> None:
        self._board = board
        self._process = process

    async def count(self, mine: Mapping[str, int]) -> Mapping[str, Mapping[int, int]]:
        self._board.counts[self._process].update(mine)
        others = {process: one for process, one in self._board.counts.items() if process != self._process}
        return {name: {process: one[name] for process, one in others.items()} for name in mine}


class Process:
    """A process with a limiter on a clock that the test moves, and the number of its admitted calls."""

    def __init__(self, board: Board, number: int, clock: list[float]) -> None:
        self.gate = RateLimiter(
            EndpointLimits(10_000, PER_MINUTE), "x", Timing(lambda: clock[0], lambda seconds, what: lambda: None)
        )
        self.share = SharedRate({"language": self.gate}, board.of(number))
        self.through = 0
        self.tasks: list[asyncio.Task[None]] = []

    def ask(self, calls: int) -> None:
        self.tasks += [asyncio.create_task(self._call()) for _ in range(calls)]

    async def _call(self) -> None:
        async with self.gate.call():
            self.through += 1


async def settle(processes: list[Process]) -> None:
    for one in processes:
        one.gate._admit()
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
async def test_processes_together_keep_to_the_limits_and_use_them(seed: int) -> None:
    """With some of four processes calling, each minute has at most the allowance, the unused rest and a share for each
    that began; and never less than the allowance while a call waits.
    """
    print(f"seed {seed}")
    rng, clock, board = random.Random(seed), [0.0], Board()
    processes = [Process(board, number, clock) for number in range(4)]
    for one in processes:
        await one.share.look()
    passed: list[int] = []
    asking: set[int] = set()
    begun = 0
    for look in range(36):
        if look % 12 == 0:
            fresh = set(rng.sample(range(4), rng.randint(1, 3)))
            begun += len(fresh - asking)
            asking = fresh
        for number in asking:
            processes[number].ask(PER_MINUTE if look % 12 < 9 else 0)
        for number, one in enumerate(processes):
            if number not in asking:
                for task in one.tasks:
                    task.cancel()
                one.tasks.clear()
        before = sum(one.through for one in processes)
        for _ in range(int(POLL_INTERVAL_S)):
            clock[0] += 1
            await settle(processes)
        passed.append(sum(one.through for one in processes) - before)
        for one in processes:
            await one.share.look()
    a_look = PER_MINUTE * POLL_INTERVAL_S / 60
    assert sum(passed) <= PER_MINUTE + 36 * a_look + begun * 2 * a_look
    for start in (QUIET_LOOKS + 3, 12 + QUIET_LOOKS + 3, 24 + QUIET_LOOKS + 3):
        assert sum(passed[start : start + 5]) >= 5 * a_look - 5  # a process that stopped calling gave up its share
    for one in processes:
        for task in one.tasks:
            task.cancel()
        await asyncio.gather(*one.tasks, return_exceptions=True)


async def test_process_that_begins_takes_its_part_and_one_that_ends_leaves_it() -> None:
    """The share is right alone, with an idle process, with a calling one, and alone again."""
    clock, board = [0.0], Board()
    one = Process(board, 1, clock)
    await one.share.look()
    one.ask(10 * PER_MINUTE)
    await settle([one])
    assert one.through == PER_MINUTE
    other = Process(board, 2, clock)
    await other.share.look()
    other.ask(10 * PER_MINUTE)
    await settle([other])
    assert other.through == PER_MINUTE // 2  # its share of a minute that it had not seen used, and no more
    await other.share.look()
    await one.share.look()
    clock[0] += 60
    await settle([one, other])
    assert (one.through, other.through) == (PER_MINUTE + PER_MINUTE // 2, PER_MINUTE)
    del board.counts[2]
    await one.share.look()
    clock[0] += 60
    await settle([one])
    assert one.through == 2 * PER_MINUTE + PER_MINUTE // 2
    for each in (one, other):
        for task in each.tasks:
            task.cancel()
        await asyncio.gather(*each.tasks, return_exceptions=True)
