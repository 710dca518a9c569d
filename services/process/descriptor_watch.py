"""A watch of the process's file descriptors: their exhaustion is logged, once, with the remedy.

The event loop closes a connection for which no descriptor is left without a message, and a full table fails whatever
opens a file next. The invariant: while fewer than `RESERVE` are free there is one warning every `REPEAT_S`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import time
from collections.abc import Callable

LOOK_EVERY_S = 2.0
REPEAT_S = 600.0
RESERVE = 16
"""Free descriptors below which the table counts as exhausted: a burst of connections lasts less than a look."""

log = logging.getLogger("graphtide")


def free_descriptors() -> int:
    """Return an upper bound of the free descriptors, 0 when there is none. Cost: microseconds.

    A new descriptor is the lowest that is free, so all below it are in use. Those above are few: numbers are reused.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        lowest = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # EMFILE, or ENFILE: the table of the machine is full
        return 0
    os.close(lowest)
    return RESERVE if limit == resource.RLIM_INFINITY else max(0, limit - lowest)


class DescriptorWatch:
    """Looks at the number of free descriptors and logs when few are left."""

    def __init__(
        self, free: Callable[[], int] = free_descriptors, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._free = free
        self._clock_s = clock_s
        self._logged_at = float("-inf")

    async def run(self) -> None:
        """Look periodically, until it is cancelled."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_EVERY_S)

    def look(self) -> None:
        """Log a warning if few descriptors are free and the last warning is older than `REPEAT_S`."""
        if self._free() >= RESERVE or self._clock_s() < self._logged_at + REPEAT_S:
            return
        self._logged_at = self._clock_s()
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        log.warning(
            "fewer than %d of the %d file descriptors of the process are free: further connections are closed without a"
            " response, and files cannot be opened; close idle connections, or raise the limit (ulimit -n, LimitNOFILE"
            " of systemd, --ulimit nofile of Docker) and restart",
            *(RESERVE, limit),
        )
