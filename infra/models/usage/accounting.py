"""Accounting of every model call: expected cost, real cost and payer.

`infra/models/limits/rate_limiter.py` limits the rate, and `streams/usage.py` defines the ledger. One object for all
models of a process. Invariants: no call is made that is not in the ledger; a call is settled once, at the cost that its
endpoint reports, or, if that is unknown, at its expected cost; a refused call costs nothing.

    how the call ended                                            settled at
    with an answer that has its usage                             that usage
    with an answer, or part of one, without usage                 a rough count made here
    refused by the endpoint (an error status), or never sent      nothing
    broken off, timed out, cancelled: the outcome is unknown      the expected cost
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from graphtide.infra.models.usage.counters import Tally
from graphtide.infra.models.usage.memory_ledger import MemoryUsageLedger
from graphtide.streams.errors import Broken, BudgetExceeded
from graphtide.streams.usage import BillingContext, Budget, Charge, ModelUsage, Stage, UsageLedger, payer

DAY_S = 86_400
NO_GRAPH = "-"
"""The account of calls that are made on no graph's behalf."""


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a million tokens, in one currency for all models."""

    prompt: float = 0.0
    completion: float = 0.0

    def of(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Return the cost in billionths."""
        return round((prompt_tokens * self.prompt + completion_tokens * self.completion) * 1000)


@dataclass(frozen=True, slots=True)
class Rules:
    """Prices by model; budgets by graph, `budget` for the others; whether an exhausted budget also stops questions."""

    prices: Mapping[str, Price] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    stop_questions: bool = False

    def budget_of(self, graph: str) -> Budget:
        return self.budgets.get(graph, self.budget)

    def check(self, models: Mapping[str, str]) -> None:
        """Raise Broken when a budget is in money and one of the models (role -> name) has no price."""
        if any(limit.cost_nano for limit in (self.budget, *self.budgets.values())):
            for role, model in models.items():
                if model and model not in self.prices:
                    raise Broken(
                        f"a budget is in money, and the {role} model {model!r} has no price: set one in prices"
                    )


@dataclass(frozen=True, slots=True)
class Tokens:
    """Expected tokens of a call."""

    prompt: int
    completion: int = 0


@dataclass(slots=True)
class Entry:
    """A call in flight. `spent` is the amount that it will be settled at."""

    price: Price
    spent: ModelUsage

    def cost(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Record the tokens that it really used."""
        prompt, completion = max(0, prompt_tokens), max(0, completion_tokens)
        self.spent = ModelUsage(1, prompt, completion, self.price.of(prompt, completion))

    def free(self) -> None:
        """Record that it was refused, or never sent."""
        self.spent = ModelUsage()


class UsageAccounting:
    """See the module. `now` is the time since the epoch, in seconds."""

    def __init__(
        self,
        spending: UsageLedger | None = None,
        rules: Rules | None = None,
        tally: Tally | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._spending = spending or MemoryUsageLedger()
        self._rules = rules or Rules()
        self._tally = tally or Tally()
        self._now = now
        self._paused: dict[str, tuple[str, str]] = {}

    @property
    def priced(self) -> bool:
        """Return whether there are prices, so that a cost has a meaning."""
        return bool(self._rules.prices)

    @property
    def spending(self) -> UsageLedger:
        return self._spending

    def budget_of(self, graph: str) -> Budget:
        return self._rules.budget_of(graph)

    def today(self) -> str:
        """Return the day that is charged now."""
        return datetime.fromtimestamp(self._now(), UTC).date().isoformat()

    def paused(self, graph: str) -> str:
        """Return why no more is extracted for the graph today; "" if extraction may continue."""
        day, reason = self._paused.get(graph, ("", ""))
        return reason if day == self.today() else ""

    def check(self) -> None:
        """Raise BudgetExceeded, without reading the ledger, when the payer's budget is known to be exhausted."""
        who = payer()
        reason = self.paused(who.graph) if self._is_bound(who) else ""
        if reason:
            raise BudgetExceeded(reason, self._until_tomorrow_s())

    @asynccontextmanager
    async def call(self, stage: Stage, model: str, expected: Tokens) -> AsyncIterator[Entry]:
        """Account for one call. Raises BudgetExceeded when the payer's budget is too small. Two durable writes."""
        who, price = payer(), self._rules.prices.get(model, Price())
        entry = Entry(price, ModelUsage())
        entry.cost(expected.prompt, expected.completion)
        number = await self._reserve(who, stage, entry.spent)
        try:
            yield entry
        finally:
            if who.bill is not None:
                who.bill.add(stage, entry.spent)
            self._tally.called(who.graph or NO_GRAPH, stage.value, entry.spent)
            await self._spending.settle(number, entry.spent)

    async def _reserve(self, who: BillingContext, stage: Stage, expected: ModelUsage) -> int:
        graph, day = who.graph or NO_GRAPH, self.today()
        budget = self._rules.budget_of(graph) if self._is_bound(who) else Budget()
        self._tally.begin(graph, stage.value)
        charge = Charge(graph, day, stage, who.doc_id)
        reserving = asyncio.ensure_future(self._spending.reserve(charge, expected, budget))
        try:
            return await asyncio.shield(reserving)
        except asyncio.CancelledError:  # it may be in the ledger now, and no other code would settle it
            await self._spending.settle(await reserving, ModelUsage())
            raise
        except BudgetExceeded as refusal:
            if refusal.retry_after_s is not None:
                raise
            self._paused[graph] = day, str(refusal)
            self._tally.paused(graph)
            raise BudgetExceeded(str(refusal), self._until_tomorrow_s()) from None

    def _is_bound(self, who: BillingContext) -> bool:
        return self._rules.stop_questions or not who.question

    def _until_tomorrow_s(self) -> float:
        return DAY_S - self._now() % DAY_S
