"""Answers by a language model: requests, checked citations, usage, and failures."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from graphtide.infra.models.limits.rate_limiter import EndpointLimits
from graphtide.infra.models.openai.chat import ChatEndpoint, OpenAIChat
from graphtide.infra.models.openai.extractor import OpenAIExtractor
from graphtide.infra.models.openai.generator import CUT_OFF, OpenAIGenerator
from graphtide.infra.models.prompts.templates import NOTHING_FITS
from graphtide.streams.errors import Retryable
from graphtide.streams.model_ports import ContextPassage, Generated
from tests.support import llm_faults as fake
from tests.support.endpoints import DROPPED, NOT_JSON, Fault, status
from tests.support.llm_server import LlmServer, Seen

QUESTION = "Who founded Halden Station?"
CONTEXT = (
    ContextPassage("Halden Station was founded in 1961 by Ida Moreau.", "Halden", "d1", "c1", ("Ida founded Halden",)),
    ContextPassage("Penguins eat krill.", "Penguins", "d2", "c2"),
)


@pytest.fixture
def server() -> Iterator[LlmServer]:
    """A real endpoint on loopback."""
    with LlmServer() as running:
        yield running


@pytest.fixture
async def generator(server: LlmServer) -> AsyncIterator[OpenAIGenerator]:
    """Return a generator on it."""
    chat = OpenAIChat(ChatEndpoint(server.base_url, "test-model", "sk-test"))
    yield OpenAIGenerator(chat)
    await chat.close()


async def test_answer_sends_passages_and_facts_between_marks(server: LlmServer, generator: OpenAIGenerator) -> None:
    """Every passage is numbered and marked, with its statements; no tool is offered."""
    await generator.answer(QUESTION, CONTEXT)
    [seen] = server.seen
    assert {"tools", "functions", "response_format"} & set(seen.body) == set()
    assert seen.body["messages"][1]["content"].count("<passage-") == 2
    assert "- Ida founded Halden" in seen.asked and seen.asked.endswith(f"Question: {QUESTION}")
    assert "Penguins" not in seen.body["messages"][0]["content"]


async def test_answer_carries_the_usage_of_its_call(server: LlmServer, generator: OpenAIGenerator) -> None:
    """An answer costs one call, with the endpoint's tokens, or, if it reports none, counted ones."""
    first = await generator.answer(QUESTION, CONTEXT)
    seen = server.seen[0]
    assert (first.llm_calls, first.prompt_tokens, first.completion_tokens) == (
        1,
        seen.prompt_tokens,
        seen.completion_tokens,
    )
    server.refuses = ("stream_options",)
    second = await generator.answer(QUESTION, CONTEXT)
    assert second == first and "stream_options" not in server.seen[-1].body


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("reply", "text", "cited"),
    [
        ("Ida Moreau founded it [1].", "Ida Moreau founded it [1].", (0,)),
        ("Ida Moreau founded it [3].", "Ida Moreau founded it. [unsupported]", ()),
        ("Ida did [1]. She was tall.", "Ida did [1]. She was tall. [unsupported]", (0,)),
        ("It eats krill [2][1].", "It eats krill [2][1].", (1, 0)),
        (NOTHING_FITS, NOTHING_FITS, ()),
        (f"{NOTHING_FITS}\n", NOTHING_FITS, ()),
        ("", NOTHING_FITS, ()),
        ("The doc [1].", "The doc [1].", (0,)),
    ],
)
async def test_answer_is_held_to_its_passages(
    server: LlmServer, generator: OpenAIGenerator, reply: str, text: str, cited: tuple[int, ...]
) -> None:
    """Citations of unknown passages are left out, unsupported sentences are marked, and "nothing fits" needs
    no source.
    """
    server.says = lambda seen: reply
    items = [item async for item in generator.stream(QUESTION, CONTEXT)]
    whole = items[-1]
    assert isinstance(whole, Generated) and (whole.text, whole.cited) == (text, cited)
    assert "".join(item for item in items[:-1] if isinstance(item, str)) == text


async def test_answer_costs_nothing_without_context_or_question(server: LlmServer, generator: OpenAIGenerator) -> None:
    """Without a context or a question no call is made."""
    assert await generator.answer(QUESTION, ()) == Generated(NOTHING_FITS)
    assert await generator.answer("?!", CONTEXT) == Generated(NOTHING_FITS)
    assert not server.seen


async def test_answer_says_that_it_was_cut_off(server: LlmServer, generator: OpenAIGenerator) -> None:
    """A truncated answer is not shown as a complete one."""
    server.misbehave(fake.CUT_OFF)
    assert (await generator.answer(QUESTION, CONTEXT)).text.endswith(CUT_OFF)


@pytest.mark.parametrize("fault", [status(429, retry_after="3"), status(500), DROPPED, NOT_JSON])
async def test_answer_raises_retryable_when_the_endpoint_fails(
    server: LlmServer, generator: OpenAIGenerator, fault: Fault
) -> None:
    """A refused or interrupted stream is Retryable; the next question is answered."""
    server.misbehave(fault)
    with pytest.raises(Retryable):
        await generator.answer(QUESTION, CONTEXT)
    assert (await generator.answer(QUESTION, CONTEXT)).cited == (0,)


async def test_answer_ends_its_call_when_the_reader_leaves(server: LlmServer) -> None:
    """With one slot at the endpoint, a reader that closed the stream early does not block the next question."""
    chat = OpenAIChat(ChatEndpoint(server.base_url, "m", limits=EndpointLimits(1)))
    generator = OpenAIGenerator(chat)
    server.says = lambda seen: "Ida Moreau founded it [1]. " * 400
    stream = generator.stream(QUESTION, CONTEXT)
    assert isinstance(await anext(stream), str)
    await stream.aclose()  # type: ignore[attr-defined]
    server.says = None
    assert (await generator.answer(QUESTION, CONTEXT)).cited == (0,)
    await chat.close()


async def test_answer_goes_in_front_of_documents_that_wait(server: LlmServer) -> None:
    """With one slot, one document in flight and two waiting, the question is next."""
    from graphtide.infra.models.limits.rate_limiter import EndpointLimits

    chat = OpenAIChat(ChatEndpoint(server.base_url, "m", limits=EndpointLimits(1)))
    extractor, generator = OpenAIExtractor(chat), OpenAIGenerator(chat)
    server.hold = threading.Event()
    documents = [asyncio.ensure_future(extractor.extract(f"Ida knew Tor {n}.", title="")) for n in range(3)]
    await asyncio.to_thread(server.arrived.get)
    question = asyncio.ensure_future(generator.answer(QUESTION, CONTEXT))
    await asyncio.sleep(0)
    server.hold.set()
    await asyncio.gather(question, *documents)
    assert [_is_question(seen) for seen in server.seen] == [False, True, False, False]
    await chat.close()


def _is_question(seen: Seen) -> bool:
    return bool(seen.body.get("stream"))
