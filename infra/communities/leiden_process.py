"""Leiden runs in a child process, so that the memory of NetworKit and of what it imports is not the service's.

The child takes 45 MiB, 65 with a graph of 82,000 relations, and a quarter of a second to start. It serves all checks of
a burst, and ends when none followed for a while. Invariant: the result is that of `graph.communities.drift.leiden`,
wherever it ran.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from graphtide.graph.communities.drift import Partition, leiden
from graphtide.graph.communities.types import Int32, Int64
from graphtide.infra.communities.array_messages import LENGTH, Array, decode_arrays, encode_arrays

log = logging.getLogger("graphtide.infra")

IDLE_S = 5.0
"""A child without a check for so long is ended."""
COMMAND = ("-P", "-m", "graphtide.infra.communities.leiden_child")


class LeidenProcess:
    """Runs Leiden in a child process, or in a thread of this process where no child can run. One run at a time.

    The child starts with the first run. It ends with `end_if_idle`, with the context, and when this process ends.
    """

    def __init__(
        self, python: str = sys.executable, idle_s: float = IDLE_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._python = python
        self._idle_s = idle_s
        self._clock = clock
        self._used_at = 0.0
        self._child: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.end()

    @property
    def pid(self) -> int | None:
        """Return the child's process id; None without a child."""
        return self._child.pid if self._child is not None else None

    async def run(self, edges: Int32, weights: Int64) -> Partition:
        """Return a partition of the graph, see `leiden`. A child that fails is replaced by a thread for this run."""
        try:
            nodes, labels, modularity = await self._answer(edges, weights)
        except (OSError, EOFError, ValueError) as error:
            await self.end()
            log.warning("the Leiden process failed, so this process runs Leiden itself: %r", error)
            return await asyncio.to_thread(leiden, edges, weights)
        self._used_at = self._clock()
        return Partition(nodes, labels, float(modularity[0]))  # type: ignore[arg-type]  # the child's types

    async def end_if_idle(self) -> None:
        """End the child if its last run is long ago."""
        if self._child is not None and self._clock() - self._used_at >= self._idle_s:
            await self.end()

    async def end(self) -> None:
        """End the child, if there is one."""
        child, self._child = self._child, None
        if child is None:
            return
        if child.returncode is None:
            child.kill()
        await child.communicate()

    async def _answer(self, *arrays: Array) -> list[Array]:
        child = await self._running()
        assert child.stdin is not None and child.stdout is not None  # noqa: S101 - both are pipes
        child.stdin.write(await asyncio.to_thread(encode_arrays, arrays))
        await child.stdin.drain()
        head = await child.stdout.readexactly(LENGTH.size)
        return decode_arrays(await child.stdout.readexactly(*LENGTH.unpack(head)))

    async def _running(self) -> asyncio.subprocess.Process:
        if self._child is None:
            pipe = asyncio.subprocess.PIPE
            path = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
            # In a session of its own, so that an interrupt of the terminal does not end it before the service.
            self._child = await asyncio.create_subprocess_exec(
                self._python, *COMMAND, stdin=pipe, stdout=pipe, env=path, start_new_session=True
            )
        return self._child
