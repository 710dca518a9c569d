"""Waiting and trying again: the one place that decides how long, and the one that catches what nobody expected.

A stage never ends on an error of its work: Retryable waits, Rejected is the stage's own business, Fenced means
start over, anything else is logged with its traceback, waited for, and tried again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from streams.errors import Fenced, Rejected, Retryable

log = logging.getLogger("graphtide.streams")


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds before attempt n + 1: `first` doubled n times, at most `longest`."""

    first_s: float = 0.2
    longest_s: float = 30.0

    def delay_s(self, attempt: int) -> float:
        return float(min(self.longest_s, self.first_s * 2 ** min(attempt, 30)))


async def supervise(stage: str, run: Callable[[], Awaitable[None]], note: Callable[[str], None]) -> None:
    """Run a stage until it is cancelled, starting it over after every failure.

    `note` is told in plain words what the stage is waiting for, and "" when it runs.
    """
    backoff, attempt = Backoff(), 0
    while True:
        started = asyncio.get_running_loop().time()
        try:
            note("")
            await run()
            return
        except (Retryable, Fenced, Rejected) as error:
            reason, wait_s = str(error), getattr(error, "retry_after_s", None)
            log.warning("%s: %s", stage, reason)
        except Exception as error:
            # The one loop that must outlive whatever happens in a stage.
            reason, wait_s = f"{type(error).__name__}: {error}", None
            log.exception("%s failed and will be started again", stage)
        if asyncio.get_running_loop().time() - started > backoff.longest_s:
            attempt = 0
        note(reason)
        await asyncio.sleep(backoff.delay_s(attempt) if wait_s is None else wait_s)
        attempt += 1
