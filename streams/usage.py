"""Usage accounting of models: the account of a call, its expected and actual cost, and the daily budget of a graph.

`infra/models/usage/accounting.py` combines prices and endpoints before every call. The port here stores the figures;
`infra/models/usage/memory_ledger.py` is its reference.

Invariants: a call is reserved at its expected cost before it is made, and settled at its actual cost afterwards; so
even if the process dies, no call is missing from the figures, and none is counted twice. A call whose actual cost
remains unknown counts at its expected cost. Amounts are integers: tokens, and billionths of the currency.
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
"""Seconds until a retry while calls in flight may cost less than expected."""


class Stage(StrEnum):
    """The purpose of a call. Tokens of EMBED are counted apart: a token budget covers the language model only."""

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
    """Calls, tokens and cost; `cost_nano` is in billionths of the currency of the prices, 0 without a price."""

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
        """Return the cost in the currency of the prices."""
        return self.cost_nano / NANO


@dataclass(frozen=True, slots=True)
class Budget:
    """The daily budget of a graph: tokens of the language model, and cost of all models. 0: no limit."""

    tokens: int = 0
    cost_nano: int = 0


@dataclass(frozen=True, slots=True)
class Charge:
    """The account of a call. `day` is an ISO date in UTC; `doc_id` is empty for a call without a document."""

    graph: str
    day: str
    stage: Stage
    doc_id: str = ""


class UsageLedger(Protocol):
    """The durable usage figures. A change for which a method has returned survives kill -9."""

    async def reserve(self, charge: Charge, expected: ModelUsage, budget: Budget) -> int:
        """Reserve `expected` in one step with the check of the budget. Returns the number of the entry.

        Raises BudgetExceeded when the day's settled entries, open entries and `expected` together exceed the budget;
        `retry_after_s` is None when the settled entries alone leave no room.
        """
        ...

    async def settle(self, number: int, spent: ModelUsage) -> None:
        """Settle the entry at `spent`, after its call. An entry that is already settled does not change."""
        ...

    async def day(self, graph: str, day: str) -> Mapping[Stage, ModelUsage]:
        """Return the usage settled and reserved on that day, by stage; stages without a call are left out."""
        ...

    async def stages(self, graph: str) -> Mapping[Stage, ModelUsage]:
        """Return all usage ever settled, by stage; stages without a call are left out."""
        ...

    async def document(self, graph: str, doc_id: str) -> ModelUsage:
        """Return the usage settled for a document, over all its revisions, as `for_document` counts it."""
        ...


def check_budget(
    charge: Charge, figures: Mapping[str, Mapping[Stage, ModelUsage]], expected: ModelUsage, budget: Budget
) -> None:
    """Raise BudgetExceeded (see `UsageLedger.reserve`) for the day's "settled" and "open" figures."""
    tokens = {name: llm_tokens(stages) for name, stages in figures.items()}
    cost = {name: sum(used.cost_nano for used in stages.values()) for name, stages in figures.items()}
    wanted = 0 if charge.stage is Stage.EMBED else expected.tokens
    _check(charge, tokens, wanted, budget.tokens, "{:,} tokens")
    _check(charge, cost, expected.cost_nano, budget.cost_nano, "{:.4f}")


def for_document(stage: Stage, spent: ModelUsage) -> ModelUsage:
    """Return the usage that counts for a document: calls and tokens of the language model, cost of all models."""
    return ModelUsage(cost_nano=spent.cost_nano) if stage is Stage.EMBED else spent


def llm_tokens(stages: Mapping[Stage, ModelUsage]) -> int:
    """Return the tokens of the language model."""
    return sum(used.tokens for stage, used in stages.items() if stage is not Stage.EMBED)


def _check(charge: Charge, spent: Mapping[str, int], wanted: int, limit: int, template: str) -> None:
    if not limit or not wanted or spent["settled"] + spent["open"] + wanted <= limit:
        return

    def text(amount: int) -> str:
        return template.format(amount if "token" in template else amount / NANO)

    soon = spent["settled"] + wanted <= limit
    left = "calls in flight reserve the rest" if soon else f"{text(spent['settled'])} are spent"
    raise BudgetExceeded(
        f"the budget of graph {charge.graph!r} for {charge.day} is {text(limit)}: {left}, and the next call may cost "
        f"{text(wanted)}; processing continues the next day (UTC), or with a larger budget",
        SOON_S if soon else None,
    )


@dataclass(slots=True)
class Bill:
    """The usage of a caller's calls so far, by stage. Each call is added when it ends."""

    stages: dict[Stage, ModelUsage] = field(default_factory=dict)

    def add(self, stage: Stage, spent: ModelUsage) -> None:
        self.stages[stage] = self.stages.get(stage, ModelUsage()) + spent

    @property
    def llm(self) -> ModelUsage:
        """Return the total of the language model's calls; the cost is that of all calls."""
        total = sum((used for stage, used in self.stages.items() if stage is not Stage.EMBED), ModelUsage())
        return replace(total, cost_nano=sum(used.cost_nano for used in self.stages.values()))


@dataclass(frozen=True, slots=True)
class BillingContext:
    """The account that the running code charges its model calls to. `question`: a caller waits for the result."""

    graph: str = ""
    doc_id: str = ""
    question: bool = False
    bill: Bill | None = None


_NOBODY = BillingContext()
_PAYER: ContextVar[BillingContext] = ContextVar("graphtide_payer", default=_NOBODY)


def payer() -> BillingContext:
    """Return the account of the current task. A task inherits it from the task that started it."""
    return _PAYER.get()


@contextmanager
def paid_by(who: BillingContext) -> Iterator[None]:
    """Charge the model calls in the block to `who`. Must not enclose a `yield` of a generator."""
    token = _PAYER.set(who)
    try:
        yield
    finally:
        _PAYER.reset(token)
