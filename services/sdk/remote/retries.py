"""The policy of retries: which failures are tried again, and after how long.

The invariants: the wait is never shorter than the service asks for, the number of retries is bounded, and a request
whose outcome is unknown is repeated only if a repetition has no second effect.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds of the retries of one call. Times are in seconds.

    Without Retry-After the wait before retry n is random, from half of `first_wait_s * 2**n` to all of it, at most
    `max_wait_s`. With Retry-After it is that, and up to a tenth more. A service that asks for more than
    `max_retry_after_s` is not waited for. `unreachable`: also retry when no service answers.
    """

    retries: int = 5
    first_wait_s: float = 0.2
    max_wait_s: float = 8.0
    max_retry_after_s: float = 30.0
    unreachable: bool = True

    def wait_s(
        self, attempt: int, asked_s: float | None, uniform: Callable[[float, float], float] = random.uniform
    ) -> float | None:
        """Return the wait before retry number `attempt`, from 0; None when there is none."""
        if attempt >= self.retries:
            return None
        if asked_s is not None:
            return None if asked_s > self.max_retry_after_s else asked_s * uniform(1.0, 1.1)
        return min(self.first_wait_s * 2.0 ** min(attempt, 30), self.max_wait_s) * uniform(0.5, 1.0)


def retry_after_s(header: str | None) -> float | None:
    """Return the seconds in a Retry-After header, a number or an HTTP date; None without a readable one."""
    if header is None:
        return None
    try:
        if header.strip().isascii() and header.strip().isdigit():
            return float(header)
        until = parsedate_to_datetime(header)
        return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
