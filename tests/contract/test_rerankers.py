"""Contract of every reranker: own functions, and endpoints in the forms of Cohere and of text-embeddings-inference."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import pytest_asyncio

from graphtide.infra.models.limits.rate_limiter import EndpointLimits
from graphtide.infra.models.reranking.endpoint import EndpointReranker, RerankEndpoint
from graphtide.services.sdk.callables import CallableReranker
from graphtide.streams.errors import GraphtideError, Rejected, Retryable
from graphtide.streams.model_ports import Reranker
from tests.support.endpoints import DROPPED, NOT_JSON, Edit, Fault, status
from tests.support.rerank_server import RerankServer, shared_words

KEY = "secret-of-the-endpoint"
QUESTION = "who built the boiler"
TEXTS = ("nothing of it", "ana built the boiler", "the boiler is old")


def rows(answer: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer["results"]
    return found


SPOILED: dict[str, Edit] = {
    "no results": lambda answer: {"results": []},
    "one missing": lambda answer: {"results": answer["results"][1:]},
    "one twice": lambda answer: {"results": [answer["results"][0]] * len(answer["results"])},
    "beyond the texts": lambda answer: {
        "results": [{**each, "index": each["index"] + 1} for each in answer["results"]]
    },
    "not finite": lambda answer: {"results": [{**each, "relevance_score": math.nan} for each in answer["results"]]},
    "beyond a float": lambda answer: {"results": [{**each, "relevance_score": 10**400} for each in answer["results"]]},
    "no score": lambda answer: {"results": [{"index": each["index"]} for each in answer["results"]]},
    "text for a score": lambda answer: {"results": [{**each, "relevance_score": "high"} for each in answer["results"]]},
    "a list of lists": lambda answer: [[0, 1.0]] * len(answer["results"]),
}


def scores(question: str, texts: Sequence[str]) -> list[float]:
    return [shared_words(question, text) for text in texts]


async def scores_later(question: str, texts: Sequence[str]) -> list[float]:
    return scores(question, texts)


def endpoint(server: RerankServer, **options: Any) -> EndpointReranker:
    limits = EndpointLimits(2, 0, 0, 100)
    return EndpointReranker(RerankEndpoint(server.base_url, "cross-1", KEY, limits=limits, **options))


@pytest_asyncio.fixture(params=["function", "coroutine", "cohere", "tei"])
async def reranker(request: pytest.FixtureRequest) -> AsyncIterator[Reranker]:
    if request.param in ("function", "coroutine"):
        yield CallableReranker(scores if request.param == "function" else scores_later)
        return
    with RerankServer() as server:
        made = endpoint(server, shape=request.param)
        yield made
        await made.close()


async def test_reranker_scores_each_text_in_its_place(reranker: Reranker) -> None:
    """One finite number for each text, in their order, the highest for the most relevant."""
    found = await reranker.rerank(QUESTION, TEXTS)
    assert list(found) == pytest.approx(scores(QUESTION, TEXTS))
    assert max(range(3), key=found.__getitem__) == 1


async def test_reranker_takes_any_text(reranker: Reranker) -> None:
    """Empty, long and odd texts, equal ones, and none at all."""
    odd = ["", " \n", "boiler\0", "\ud800", "x" * 20_000, "boiler", "boiler"]
    found = await reranker.rerank(QUESTION, odd)
    assert len(found) == len(odd) and found[5] == found[6] and all(map(math.isfinite, found))
    assert list(await reranker.rerank(QUESTION, [])) == []


async def test_reranker_has_a_name(reranker: Reranker) -> None:
    """It identifies the model in traces, and holds no key."""
    assert reranker.name and KEY not in reranker.name + repr(reranker)


@pytest.mark.parametrize("wrong", [None, [1.0], [1.0, 2.0, math.inf], "high", [[1.0], [2.0], [3.0]], [1, 2, 10**400]])
async def test_own_function_that_returns_no_scores_is_rejected(wrong: object) -> None:
    """The message names the function."""
    with pytest.raises(Rejected, match="reranker"):
        await CallableReranker(lambda question, texts: wrong).rerank(QUESTION, TEXTS)  # type: ignore[arg-type]


async def test_own_function_that_raises_is_retryable() -> None:
    """Its error is the reason."""

    def broken(question: str, texts: Sequence[str]) -> list[float]:
        raise KeyError("no model")

    with pytest.raises(Retryable, match="no model"):
        await CallableReranker(broken).rerank(QUESTION, TEXTS)


async def test_endpoint_receives_one_request_in_its_form() -> None:
    """The model, the question and the texts, and the key in a header only."""
    with RerankServer() as server:
        for shape in ("cohere", "tei"):
            made = endpoint(server, shape=shape)
            await made.rerank(QUESTION, TEXTS)
            await made.close()
        cohere, tei = server.seen
    assert cohere.body == {
        "model": "cross-1",
        "query": QUESTION,
        "documents": list(TEXTS),
        "top_n": 3,
        "return_documents": False,
    }
    assert tei.body == {"query": QUESTION, "texts": list(TEXTS), "truncate": True}
    assert {seen.headers.get("Authorization", seen.headers.get("authorization")) for seen in (cohere, tei)} == {
        f"Bearer {KEY}"
    }


FAULTS = {
    **{name: Fault(edit=edit) for name, edit in SPOILED.items()},
    "padded": Fault(edit=lambda answer: {**answer, "padding": "x" * (2 << 20)}),
    "not JSON": NOT_JSON,
    "dropped": DROPPED,
    "429": status(429),
    "500": status(500),
    "401": status(401),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_endpoint_that_gives_no_scores_raises_and_works_again(fault: str) -> None:
    """Every failure is one of the port's errors, without the key; the next call is not affected."""
    with RerankServer() as server:
        made = endpoint(server)
        server.misbehave(FAULTS[fault])
        with pytest.raises(GraphtideError) as raised:
            await made.rerank(QUESTION, TEXTS)
        assert isinstance(raised.value, Retryable) and KEY not in str(raised.value)
        await made.close()
        fresh = endpoint(server)
        assert list(await fresh.rerank(QUESTION, TEXTS)) == pytest.approx(scores(QUESTION, TEXTS))
        await fresh.close()
