"""The budget of a whole evaluation, interrupted runs included: no call begins that could exceed it.

A call is reserved at its greatest possible cost: half again the counted tokens of its prompt, which are an estimate,
and the longest answer allowed. It waits while calls in flight reserve the rest, and is refused when they do not.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from graphtide.streams.errors import GraphtideError
from graphtide.streams.usage import NANO, Budget, ModelUsage

PROMPT_MARGIN = 1.5


class EvaluationStoppedError(GraphtideError):
    """The evaluation cannot continue now; what is done is kept, and the same command continues it."""


@dataclass(frozen=True, slots=True)
class _Amount:
    tokens: int
    cost_nano: int


class EvaluationBudget:
    """See the module. `spent` returns the usage so far; a limit of 0 is none."""

    def __init__(self, limit: Budget, spent: Callable[[], ModelUsage]) -> None:
        self._limit = limit
        self._spent = spent
        self._reserved = _Amount(0, 0)
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, greatest: ModelUsage) -> AsyncIterator[None]:
        """Hold the amount during the block. Raises EvaluationStoppedError when it does not fit."""
        async with self._changed:
            while not self._fits(greatest):
                if self._reserved == _Amount(0, 0):
                    raise EvaluationStoppedError(self._reason(greatest))
                await self._changed.wait()
            self._add(greatest, 1)
        try:
            yield
        finally:
            async with self._changed:
                self._add(greatest, -1)
                self._changed.notify_all()

    def _add(self, amount: ModelUsage, sign: int) -> None:
        tokens, cost = self._reserved.tokens, self._reserved.cost_nano
        self._reserved = _Amount(tokens + sign * amount.tokens, cost + sign * amount.cost_nano)

    def _fits(self, more: ModelUsage) -> bool:
        spent, reserved = self._spent(), self._reserved
        tokens = spent.tokens + reserved.tokens + more.tokens
        cost = spent.cost_nano + reserved.cost_nano + more.cost_nano
        return (not self._limit.tokens or tokens <= self._limit.tokens) and (
            not self._limit.cost_nano or cost <= self._limit.cost_nano
        )

    def _reason(self, more: ModelUsage) -> str:
        spent = self._spent()
        if self._limit.tokens and spent.tokens + more.tokens > self._limit.tokens:
            return (
                f"{spent.tokens:,} of {self._limit.tokens:,} tokens are spent, and the next call may need "
                f"{more.tokens:,}; run the command again with a greater --max-tokens"
            )
        return (
            f"{spent.cost:.4f} of {self._limit.cost_nano / NANO:.4f} are spent, and the next call may cost "
            f"{more.cost:.4f}; run the command again with a greater --max-cost"
        )
