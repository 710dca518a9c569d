"""Accounting of model calls: the settlement of each outcome of a call, and its payer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest
from prometheus_client import CollectorRegistry

from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.limits.rate_limiter import EndpointLimits
from graphtide.infra.models.openai.chat import ChatEndpoint, Message, OpenAIChat
from graphtide.infra.models.openai.embedder import EmbeddingEndpoint, OpenAIEmbedder
from graphtide.infra.models.replies.json_replies import MAX_TOKENS
from graphtide.infra.models.replies.schemas import Schema
from graphtide.infra.models.usage.accounting import Price, Rules, UsageAccounting
from graphtide.infra.models.usage.counters import Tally
from graphtide.infra.models.usage.expectations import EXTRACTION_RATIO, HEADING_TOKENS
from graphtide.streams.errors import Broken, BudgetExceeded, GraphtideError
from graphtide.streams.usage import NANO, Bill, BillingContext, Budget, ModelUsage, Stage, paid_by
from tests.support import llm_faults as fake
from tests.support import openai_server as embedding
from tests.support.endpoints import DROPPED, NOT_JSON, SLOW, Fault, status
from tests.support.llm_server import LlmServer
from tests.support.openai_server import OpenAIServer

SCHEMA = Schema("any", {"type": "object"})
ASKED = [Message("system", "You read."), Message("user", "Halden Station was founded in 1961 by Ida Moreau.")]
SENT = sum(count_tokens(one.text) for one in ASKED)
PRICE = Price(2.0, 8.0)
ANSWER = HEADING_TOKENS + round(EXTRACTION_RATIO * count_tokens(ASKED[1].text))
EXPECTED = ModelUsage(1, SENT, ANSWER, SENT * 2_000 + ANSWER * 8_000)


@pytest.fixture
def server() -> Iterator[LlmServer]:
    """A language model on loopback."""
    with LlmServer() as running:
        yield running


@contextlib.asynccontextmanager
async def model(
    server: LlmServer, accounts: UsageAccounting, base_url: str = "", timeout_s: float = 60.0
) -> AsyncIterator[OpenAIChat]:
    endpoint = ChatEndpoint(base_url or server.base_url, "m", timeout_s=timeout_s, limits=EndpointLimits(4))
    chat = OpenAIChat(endpoint, accounts)
    yield chat
    await chat.close()


def priced(**rules: object) -> UsageAccounting:
    return UsageAccounting(rules=Rules({"m": PRICE}, **rules))  # type: ignore[arg-type]


def server_usage(server: LlmServer) -> ModelUsage:
    """Return the server's usage of its answers, at the price."""
    sent = sum(seen.prompt_tokens for seen in server.seen)
    got = sum(seen.completion_tokens for seen in server.seen)
    return ModelUsage(sum(seen.prompt_tokens > 0 for seen in server.seen), sent, got, sent * 2_000 + got * 8_000)


async def settled(accounts: UsageAccounting) -> ModelUsage:
    stages = await accounts.spending.stages("g")
    assert await accounts.spending.day("g", accounts.today()) == stages, "an entry is left open"
    return stages.get(Stage.EXTRACT, ModelUsage())


KNOWN = {
    "well": (),
    "no-usage": (fake.NO_USAGE,),
    "cut-off": (fake.CUT_OFF,),
    "malformed": (fake.MALFORMED,),
    "flood": (fake.FLOOD,),
    "emptied": (fake.EMPTIED,),
    "filtered": (fake.FILTERED,),
}


@pytest.mark.parametrize("case", KNOWN)
async def test_call_that_is_answered_costs_what_the_endpoint_says(server: LlmServer, case: str) -> None:
    """An unusable answer was paid for too: tokens and money are the endpoint's."""
    accounts = priced()
    server.misbehave(*KNOWN[case])
    with paid_by(BillingContext("g")):
        async with model(server, accounts) as chat:
            await chat.complete(ASKED, SCHEMA, Stage.EXTRACT)
    assert await settled(accounts) == server_usage(server) != ModelUsage()


@pytest.mark.parametrize("fault", [status(429, retry_after="1"), status(500), status(503), status(401), status(413)])
async def test_call_that_is_refused_costs_nothing(server: LlmServer, fault: Fault) -> None:
    """A call that ends with an error status is settled at nothing."""
    accounts = priced()
    server.misbehave(fault)
    with paid_by(BillingContext("g")):
        async with model(server, accounts) as chat:
            with pytest.raises(GraphtideError):
                await chat.complete(ASKED, SCHEMA, Stage.EXTRACT)
    assert await settled(accounts) == ModelUsage()


async def test_call_that_was_never_sent_costs_nothing(server: LlmServer) -> None:
    """A call to an unreachable endpoint is settled at nothing."""
    accounts = priced()
    with paid_by(BillingContext("g")):
        async with model(server, accounts, "http://127.0.0.1:9/v1") as chat:
            with pytest.raises(GraphtideError):
                await chat.complete(ASKED, SCHEMA, Stage.EXTRACT)
    assert await settled(accounts) == ModelUsage()


@pytest.mark.parametrize("fault", [DROPPED, SLOW, NOT_JSON, fake.NO_CHOICES], ids=["dropped", "slow", "html", "hollow"])
async def test_call_whose_cost_nobody_knows_counts_as_expected(server: LlmServer, fault: Fault) -> None:
    """A timed-out call may be charged: it is settled at the prompt as counted here, and an answer of the
    usual length.
    """
    accounts = priced()
    server.misbehave(fault)
    with paid_by(BillingContext("g")):
        async with model(server, accounts, timeout_s=0.5) as chat:
            with pytest.raises(GraphtideError):
                await chat.complete(ASKED, SCHEMA, Stage.EXTRACT)
    assert await settled(accounts) == EXPECTED


async def test_call_that_is_given_up_counts_as_expected(server: LlmServer) -> None:
    """A cancelled call is settled as expected: the endpoint may continue and charge."""
    accounts = priced()
    server.misbehave(SLOW)
    async with model(server, accounts) as chat:
        with paid_by(BillingContext("g")):
            task = asyncio.create_task(chat.complete(ASKED, SCHEMA, Stage.EXTRACT))
        await asyncio.to_thread(server.arrived.get)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert await settled(accounts) == EXPECTED


async def test_call_that_takes_learning_the_dialect_is_paid_once() -> None:
    """Calls that the endpoint refused for a parameter are free."""
    accounts = priced()
    with (
        LlmServer(refuses=("json_schema", "max_tokens", "temperature")) as server,
        paid_by(BillingContext("g")),
    ):
        async with model(server, accounts) as chat:
            await chat.complete(ASKED, SCHEMA, Stage.EXTRACT)
        assert len(server.seen) == 4 and await settled(accounts) == server_usage(server)


@pytest.mark.parametrize("claimed", [10**400, float("inf")], ids=["400 digits", "infinite"])
async def test_claim_of_more_tokens_than_there_are_stays_in_the_books(server: LlmServer, claimed: float) -> None:
    """An endpoint's usage beyond a column's range is bounded, and a usage that is not a number makes the
    reply invalid.
    """
    accounts = priced()
    server.misbehave(Fault(edit=lambda answer: answer | {"usage": dict.fromkeys(answer["usage"], claimed)}))
    async with model(server, accounts) as chat:
        with paid_by(BillingContext("g")), contextlib.suppress(GraphtideError):
            await chat.complete(ASKED, SCHEMA, Stage.EXTRACT)
    assert 0 < (await settled(accounts)).prompt_tokens <= MAX_TOKENS


@pytest.mark.parametrize(("fault", "usage"), [(None, 7), (embedding.NAN, 7), (NOT_JSON, 0), (status(500), 0)])
async def test_embedding_is_charged_whether_its_vectors_are_good_or_not(fault: Fault | None, usage: int) -> None:
    """Embeddings are settled at their reported usage, else at the tokens sent; an error status is free."""
    accounts = UsageAccounting(rules=Rules({"e": Price(1.0)}))
    with OpenAIServer() as server, paid_by(BillingContext("g", "d")):
        server.usage = 7
        server.misbehave(*([fault] if fault else []))
        embedder = OpenAIEmbedder(EmbeddingEndpoint(server.base_url, "e"), accounts)
        with contextlib.suppress(GraphtideError):
            await embedder.embed(["one two three"])
        await embedder.close()
    counted = usage or (3 if fault is NOT_JSON else 0)
    expected = {Stage.EMBED: ModelUsage(1, counted, 0, counted * 1_000)} if counted else {}
    assert await accounts.spending.stages("g") == expected
    assert await accounts.spending.document("g", "d") == ModelUsage(cost_nano=counted * 1_000)


async def test_accounts_pause_a_graph_for_the_day_and_no_other(server: LlmServer) -> None:
    """A call beyond the budget is not made; other graphs, and the next day, have their own budget; questions
    continue.
    """
    now = [1_000_000.0]
    accounts = UsageAccounting(rules=Rules({}, budgets={"g": Budget(tokens=SENT + ANSWER + 50)}), now=lambda: now[0])
    async with model(server, accounts) as chat:
        with paid_by(BillingContext("g")):
            await chat.complete(ASKED, SCHEMA, Stage.EXTRACT)
            for _ in range(3):
                with pytest.raises(BudgetExceeded, match="budget of graph 'g'") as refused:
                    await chat.complete(ASKED, SCHEMA, Stage.EXTRACT)
        assert refused.value.retry_after_s == 86_400 - now[0] % 86_400 and accounts.paused("g")
        with paid_by(BillingContext("h")):
            await chat.complete(ASKED, SCHEMA, Stage.EXTRACT)
        with paid_by(BillingContext("g", question=True)):
            await chat.complete(ASKED, SCHEMA, Stage.ANSWER)
        assert len(server.seen) == 3
        now[0] += 86_400
        assert not accounts.paused("g")
        with paid_by(BillingContext("g")):
            await chat.complete(ASKED, SCHEMA, Stage.EXTRACT)
    assert len(server.seen) == 4


async def test_accounts_stop_questions_when_they_are_told_to(server: LlmServer) -> None:
    """With the setting `budget_blocks_queries` the question is refused, and the error names the budget."""
    accounts = UsageAccounting(rules=Rules({}, Budget(tokens=1), stop_questions=True))
    async with model(server, accounts) as chat:
        with paid_by(BillingContext("g", question=True)), pytest.raises(BudgetExceeded, match="budget"):
            await chat.complete(ASKED, SCHEMA, Stage.ANSWER)
    assert server.seen == []


async def test_bill_and_counters_have_what_the_books_have(server: LlmServer) -> None:
    """Two concurrent tasks of two payers are charged separately."""
    registry = CollectorRegistry()
    accounts = UsageAccounting(rules=Rules({"m": PRICE}), tally=Tally(registry))
    bills = {"g": Bill(), "h": Bill()}
    async with model(server, accounts) as chat:

        async def ask(graph: str, times: int) -> None:
            with paid_by(BillingContext(graph, bill=bills[graph])):
                for _ in range(times):
                    await chat.complete(ASKED, SCHEMA, Stage.ANSWER)

        await asyncio.gather(ask("g", 2), ask("h", 1))
    for graph, bill in bills.items():
        assert bill.stages == await accounts.spending.stages(graph)
        money = registry.get_sample_value("graphtide_llm_cost_total", {"graph": graph, "stage": "answer"})
        assert money == pytest.approx(bill.llm.cost_nano / NANO)
    assert bills["g"].llm.calls == 2 and bills["h"].llm.calls == 1


def test_rules_refuse_a_budget_in_money_without_a_price() -> None:
    """A budget in money requires a price for every model: a missing one is reported at the start."""
    rules = Rules({"m": PRICE}, budgets={"g": Budget(cost_nano=1)})
    rules.check({"language": "m", "embedding": ""})
    with pytest.raises(Broken, match="embedding model 'e' has no price"):
        rules.check({"language": "m", "embedding": "e"})
