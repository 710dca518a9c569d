"""Repetition of calls that failed for a while: of model endpoints and of the service."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from graphtide.infra.models.openai.errors import EndpointMisconfigured
from graphtide.services.evaluation.budget import EvaluationStoppedError
from graphtide.streams.errors import BudgetExceeded, DeadlineExceeded, GraphtideError, Overloaded, Retryable
from graphtide.streams.retry import Backoff

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallRetries:
    """The greatest number of attempts, and the bounds of the waits: a callee may name one within them."""

    attempts: int = 6
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0

    async def call(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the first attempt that succeeds.

        Raises EvaluationStoppedError when all fail, and at once when settings are wrong or a budget is used up.
        """
        for number in range(1, self.attempts + 1):
            try:
                return await attempt()
            except (EndpointMisconfigured, BudgetExceeded) as error:
                raise EvaluationStoppedError(str(error)) from error
            except (Retryable, Overloaded, DeadlineExceeded) as error:
                cause: GraphtideError = error
            if number < self.attempts:
                await asyncio.sleep(self._wait_s(cause, number))
        raise EvaluationStoppedError(f"{cause}, in {self.attempts} attempts; run the command again later") from cause

    def _wait_s(self, error: GraphtideError, number: int) -> float:
        backoff = Backoff(self.first_wait_s, self.longest_wait_s)
        return min(backoff.wait_s(number - 1, error), self.longest_wait_s)
