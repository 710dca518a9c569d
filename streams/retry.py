"""Waiting and trying again: the one place that decides how long, and the one that catches what nobody expected.

A stage never ends on an error of its work: Retryable waits, Rejected is the stage's own business, Fenced means
start over, anything else is logged with its traceback, waited for, and tried again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from graphtide.streams.errors import Broken, Fenced, Rejected, Retryable

log = logging.getLogger("graphtide.streams")

T = TypeVar("T")

SETTLED_S = 1.0
"""A run that started over is well again once it has lasted so long: until then its last failure is what is told."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds before attempt n + 1: `first` doubled n times, at most `longest`."""

    first_s: float = 0.2
    longest_s: float = 30.0

    def delay_s(self, attempt: int) -> float:
        return float(min(self.longest_s, self.first_s * 2 ** min(attempt, 30)))

    def wait_s(self, attempt: int, error: Exception) -> float:
        """As long as the error asks for, but never so little that it is no wait; else the next delay."""
        asked: float | None = getattr(error, "retry_after_s", None)
        return self.delay_s(attempt) if asked is None else max(self.first_s, asked)


async def outcome_of(work: Awaitable[T]) -> T | Exception:
    """What the work gave, or the error it ended with: for work whose failure is to be dealt with, whatever it is."""
    try:
        return await work
    except Exception as error:  # noqa: BLE001 - handed to the caller, who decides
        return error


async def supervise(stage: str, run: Callable[[], Awaitable[None]], note: Callable[[str], None]) -> None:
    """Run a stage until it is cancelled, starting it over after every failure.

    `note` is told in plain words what the stage is waiting for, and "" when it runs.
    """
    backoff, attempt = Backoff(), 0
    loop = asyncio.get_running_loop()
    note("")
    while True:
        started = loop.time()
        settled = loop.call_later(SETTLED_S if attempt else 0, note, "")
        try:
            await run()
            return
        except (Retryable, Fenced, Rejected) as error:
            failure: Exception = error
            reason = str(error)
            log.warning("%s: %s", stage, reason)
        except Broken as error:
            failure, reason = error, str(error)
            log.error("%s has stopped, and waits for somebody: %s", stage, reason)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Some library let the end of a task of its own out: a stage that is not told to end must not end by it.
            failure, reason = RuntimeError("something that was awaited was cancelled"), "something was cancelled inside"
            log.error("%s failed and will be started again", stage, exc_info=error)
        except Exception as error:
            # The one loop that must outlive whatever happens in a stage.
            failure, reason = error, f"{type(error).__name__}: {error}"
            log.exception("%s failed and will be started again", stage)
        finally:
            settled.cancel()
        if loop.time() - started > backoff.longest_s:
            attempt = 0
        note(reason)
        await asyncio.sleep(backoff.wait_s(attempt, failure))
        attempt += 1
