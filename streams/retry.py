"""Supervision and retry: the only place that decides back-off times and catches unexpected errors.

A stage never ends on an error: on Retryable it waits, Rejected is for the stage itself to handle, on Fenced it starts
over, and any other error is logged with its traceback and retried after a wait.
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
"""Seconds after which a restarted run counts as recovered: until then, its last failure is reported."""
TIMES_LONGER = 10.0
"""The same as a multiple of the time after which the run before failed, if that is more; at most the longest delay."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential back-off. Seconds before attempt n + 1: `first_s` doubled n times, at most `longest_s`."""

    first_s: float = 0.2
    longest_s: float = 30.0

    def delay_s(self, attempt: int) -> float:
        return float(min(self.longest_s, self.first_s * 2 ** min(attempt, 30)))

    def wait_s(self, attempt: int, error: Exception) -> float:
        """Return the wait that the error requests, at least `first_s`; without a request, the next delay."""
        asked: float | None = getattr(error, "retry_after_s", None)
        return self.delay_s(attempt) if asked is None else max(self.first_s, asked)


async def outcome_of(work: Awaitable[T]) -> T | Exception:
    """Return the result of the work, or the error that it raised, for callers that handle every failure."""
    try:
        return await work
    except Exception as error:  # noqa: BLE001 - returned to the caller, which decides
        return error


async def supervise(stage: str, run: Callable[[], Awaitable[None]], note: Callable[[str], None]) -> None:
    """Run a stage until it is cancelled, and restart it after every failure.

    `note` receives the reason why the stage waits, as text, and "" when it runs: at the beginning, and after a failure
    once it has run for SETTLED_S, or if its last run failed before that, for TIMES_LONGER times as long, but
    at most for the longest delay: on a busy machine the next run fails later.
    """
    backoff, attempt, failed_after_s = Backoff(), 0, 0.0
    loop = asyncio.get_running_loop()
    note("")
    while True:
        started = loop.time()
        settles_s = max(SETTLED_S, min(backoff.longest_s, TIMES_LONGER * failed_after_s)) if attempt else 0.0
        settled = loop.call_later(settles_s, note, "")
        try:
            await run()
            return
        except (Retryable, Fenced, Rejected) as error:
            failure: Exception = error
            reason = str(error)
            log.warning("%s: %s", stage, reason)
        except Broken as error:
            failure, reason = error, str(error)
            log.error("%s has stopped until an operator intervenes: %s", stage, reason)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # A library cancelled one of its own tasks: the stage was not cancelled, so it must not end.
            failure, reason = RuntimeError("an awaited task was cancelled"), "an awaited task was cancelled"
            log.error("%s failed and will be restarted", stage, exc_info=error)
        except Exception as error:
            # The only loop that must survive every error of a stage.
            failure, reason = error, f"{type(error).__name__}: {error}"
            log.exception("%s failed and will be restarted", stage)
        finally:
            settled.cancel()
        ran_s = loop.time() - started
        failed_after_s = ran_s if ran_s < max(settles_s, SETTLED_S) else 0.0
        if ran_s > backoff.longest_s:
            attempt = 0
        note(reason)
        await asyncio.sleep(backoff.wait_s(attempt, failure))
        attempt += 1
