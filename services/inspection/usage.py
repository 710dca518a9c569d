"""Use of models as `stats`, documents and answers report it."""

from __future__ import annotations

from collections.abc import Mapping

from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.services.application import Usage
from graphtide.streams.usage import NANO, ModelUsage, llm_tokens


def usage(spent: ModelUsage, accounts: UsageAccounting) -> Usage:
    """Return the calls and tokens, with their cost if prices are set."""
    cost = spent.cost if accounts.priced else None
    return Usage(spent.calls, spent.prompt_tokens, spent.completion_tokens, cost)


async def spending(graph: str, accounts: UsageAccounting) -> Mapping[str, Mapping[str, object]]:
    """Return the use by stage since the start, the use of today including reservations of calls in progress, and the
    daily budget."""
    figures: dict[str, Mapping[str, object]] = {
        stage.value: _figures(spent, accounts) for stage, spent in (await accounts.spending.stages(graph)).items()
    }
    today = await accounts.spending.day(graph, accounts.today())
    budget, paused = accounts.budget_of(graph), accounts.paused(graph)
    figures["today"] = {"day": accounts.today(), "llm_tokens": llm_tokens(today)} | _figures(
        sum(today.values(), ModelUsage()), accounts
    )
    bounds: dict[str, object] = {"tokens": budget.tokens} if budget.tokens else {}
    bounds |= {"cost": budget.cost_nano / NANO} if budget.cost_nano else {}
    if bounds:
        figures["budget"] = bounds | ({"paused": paused} if paused else {})
    return figures


def _figures(spent: ModelUsage, accounts: UsageAccounting) -> dict[str, object]:
    plain = {"calls": spent.calls, "prompt_tokens": spent.prompt_tokens, "completion_tokens": spent.completion_tokens}
    return plain | ({"cost": spent.cost} if accounts.priced else {})
