"""Expensive reads are computed once for all who wait for the same one."""

from __future__ import annotations

import asyncio

import pytest

from graphtide.services.inspection.shared_reads import SharedReads


async def test_a_hundred_callers_share_one_computation_and_the_next_starts_another() -> None:
    """Callers that come while it runs get its result; one that comes afterwards gets a new one."""
    reads: SharedReads[int] = SharedReads()
    begun, release = 0, asyncio.Event()

    async def compute() -> int:
        nonlocal begun
        begun += 1
        await release.wait()
        return begun

    callers = [asyncio.ensure_future(reads.read("key", compute)) for _ in range(100)]
    other = asyncio.ensure_future(reads.read("other", compute))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(*callers, other)
    assert begun == 2
    assert await reads.read("key", compute) == 3


async def test_a_computation_ends_with_its_last_caller_and_not_before() -> None:
    """The computation continues after one of two callers is cancelled; after both it ends, and its key is free."""
    reads: SharedReads[int] = SharedReads()
    ended = asyncio.Event()

    async def compute() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    first, second = (asyncio.ensure_future(reads.read("key", compute)) for _ in range(2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert not ended.is_set()
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    await ended.wait()

    async def answer() -> int:
        return 7

    assert await reads.read("key", answer) == 7
