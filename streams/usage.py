"""What models cost: who a call is for, what it was expected to cost and did, and what a graph may spend in a day.

Not a price list and not an endpoint: `infra/models/usage/accounting.py` puts the two together in front of every call.
The
port here keeps the figures; its meaning is that of `streams/memory/usage.py`.

Invariants: a call is reserved, by what it is expected to cost, before it is made, and settled after it, by what it did
cost; so whatever becomes of the process, no call is missing from the figures, and none is there twice. A call whose
cost nobody will ever know stands as it was expected. Amounts are integers: tokens, and billionths of the currency.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from graphtide.streams.errors import BudgetExceeded

NANO = 1_000_000_000
SOON_S = 1.0
"""When to ask again while calls under way may turn out cheaper than expected."""


class Stage(StrEnum):
    """What a call is for. Tokens of EMBED are counted apart: a budget of tokens is one of the language model's."""

    EXTRACT = "extract"
    GLEAN = "glean"
    JUDGE = "judge"
    SUMMARIZE = "summarize"
    RATE = "rate"
    ANSWER = "answer"
    EMBED = "embed"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Calls, tokens and money; `cost_nano` is in billionths of the currency of the prices, 0 where there is none."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_nano: int = 0

    def __add__(self, other: ModelUsage) -> ModelUsage:
        return ModelUsage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost_nano + other.cost_nano,
        )

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def cost(self) -> float:
        """In the currency of the prices."""
        return self.cost_nano / NANO


@dataclass(frozen=True, slots=True)
class Budget:
    """What a graph may spend in a day: tokens of the language model, and money for all models. 0: no bound."""

    tokens: int = 0
    cost_nano: int = 0


@dataclass(frozen=True, slots=True)
class Charge:
    """On whose account a call goes. `day` is an ISO date in UTC; `doc_id` is empty for what no document asked for."""

    graph: str
    day: str
    stage: Stage
    doc_id: str = ""


class UsageLedger(Protocol):
    """The books. What a method has returned for survives kill -9."""

    async def reserve(self, charge: Charge, expected: ModelUsage, budget: Budget) -> int:
        """Put `expected` aside, in one step with looking whether the budget has it; returns the entry's number.

        Raises Exhausted when the day's figures, open entries and `expected` together are more than the budget;
        `retry_after_s` is None when the entries that are settled leave no room, however the open ones end.
        """
        ...

    async def settle(self, number: int, spent: ModelUsage) -> None:
        """The entry's call is over and did cost `spent`. An entry that is settled already stays as it is."""
        ...

    async def day(self, graph: str, day: str) -> Mapping[Stage, ModelUsage]:
        """What was spent and put aside that day, by stage; stages without a call are left out."""
        ...

    async def stages(self, graph: str) -> Mapping[Stage, ModelUsage]:
        """What was settled since the beginning, likewise."""
        ...

    async def document(self, graph: str, doc_id: str) -> ModelUsage:
        """What was settled for a document, over all its revisions: as `for_document` counts it."""
        ...


def check_budget(
    charge: Charge, figures: Mapping[str, Mapping[Stage, ModelUsage]], expected: ModelUsage, budget: Budget
) -> None:
    """Raise Exhausted (see `Spending.reserve`) for the day's "settled" and "open" figures."""
    tokens = {name: llm_tokens(held) for name, held in figures.items()}
    money = {name: sum(one.cost_nano for one in held.values()) for name, held in figures.items()}
    wanted = 0 if charge.stage is Stage.EMBED else expected.tokens
    _check(charge, tokens, wanted, budget.tokens, "{:,} tokens")
    _check(charge, money, expected.cost_nano, budget.cost_nano, "{:.4f}")


def for_document(stage: Stage, spent: ModelUsage) -> ModelUsage:
    """What counts for the document: calls and tokens of the language model, money for all models."""
    return ModelUsage(cost_nano=spent.cost_nano) if stage is Stage.EMBED else spent


def llm_tokens(stages: Mapping[Stage, ModelUsage]) -> int:
    """Those of the language model."""
    return sum(one.tokens for stage, one in stages.items() if stage is not Stage.EMBED)


def _check(charge: Charge, held: Mapping[str, int], wanted: int, most: int, shown: str) -> None:
    if not most or not wanted or held["settled"] + held["open"] + wanted <= most:
        return

    def say(amount: int) -> str:
        return shown.format(amount if "token" in shown else amount / NANO)

    soon = held["settled"] + wanted <= most
    left = "calls under way hold the rest" if soon else f"{say(held['settled'])} are spent"
    raise BudgetExceeded(
        f"the budget of graph {charge.graph!r} for {charge.day} is {say(most)}: {left}, and the next call may cost "
        f"{say(wanted)}; it goes on the next day (UTC), or with a larger budget",
        SOON_S if soon else None,
    )


@dataclass(slots=True)
class Bill:
    """What the calls made on somebody's behalf came to so far, by stage. Filled while they end."""

    stages: dict[Stage, ModelUsage] = field(default_factory=dict)

    def add(self, stage: Stage, spent: ModelUsage) -> None:
        self.stages[stage] = self.stages.get(stage, ModelUsage()) + spent

    @property
    def llm(self) -> ModelUsage:
        """The calls of the language model together; the money is that of all calls."""
        asked = sum((one for stage, one in self.stages.items() if stage is not Stage.EMBED), ModelUsage())
        return replace(asked, cost_nano=sum(one.cost_nano for one in self.stages.values()))


@dataclass(frozen=True, slots=True)
class BillingContext:
    """For whom the code that runs asks its models. `question`: a person waits for it."""

    graph: str = ""
    doc_id: str = ""
    question: bool = False
    bill: Bill | None = None


_NOBODY = BillingContext()
_PAYER: ContextVar[BillingContext] = ContextVar("graphtide_payer", default=_NOBODY)


def payer() -> BillingContext:
    """For whom the calling task works. Tasks inherit it from where they are started."""
    return _PAYER.get()


@contextmanager
def paid_by(who: BillingContext) -> Iterator[None]:
    """Within the block, calls of models go on the account of `who`. Never around a `yield` of a generator."""
    token = _PAYER.set(who)
    try:
        yield
    finally:
        _PAYER.reset(token)
