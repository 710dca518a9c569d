"""A TCP proxy in a thread of its own, for tests that drive processes; and one that loses the answers to commits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.proxy import Proxy, proxy

COMMIT = b"\x00\x02\xb0\x12\x00\x00"
"""The message COMMIT of Bolt, in a chunk of its own, as drivers send it."""


@contextmanager
def wire(address: str) -> Iterator[Proxy]:
    """Yield a proxy to `host:port` for the duration of a block."""
    made: list[Proxy] = []
    ready, ended = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with proxy(address) as one:
            made.append(one)
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(30), "the proxy did not start"
    try:
        yield made[0]
    finally:
        loops[0].call_soon_threadsafe(ended.set)
        thread.join(30)


def lose_answers_to_commits(one: Proxy, every: int, limit: int) -> list[int]:
    """Lose the answer to every nth COMMIT, at most `most` times; return a list whose item is the growing count.

    The server receives and executes these commits; the client cannot know it.
    """
    seen, lost = [0], [0]

    def on_bytes(data: bytes) -> bool:
        if COMMIT in data:
            seen[0] += 1
            if seen[0] % every == 0 and lost[0] < limit:
                lost[0] += 1
                one.drop_answers()
        return False

    one.on_bytes = on_bytes
    return lost
