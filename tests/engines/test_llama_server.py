"""The language-model adapters on the server of llama.cpp: the protocol, not the model's quality."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import pytest

from graphtide.infra.models.openai.chat import ChatEndpoint, ChatReply, Message, OpenAIChat
from graphtide.infra.models.openai.extractor import OpenAIExtractor
from graphtide.infra.models.openai.generator import CUT_OFF, OpenAIGenerator
from graphtide.infra.models.replies.schemas import Schema
from graphtide.streams.errors import Rejected
from graphtide.streams.model_ports import ContextPassage, ExtractionResult, Generated
from tests.support.llama_server import llama_server

PLACE = Schema("place", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
ASKED = [Message("user", 'Answer in JSON, such as {"city": "Rome"}: the capital of France.')]
PASSAGE = ContextPassage("Ada Lovelace was born in London in 1815.", "Ada Lovelace", "ada", "ada:1")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Yield the base URL of one server for all tests of this module."""
    with llama_server() as running:
        yield running


@pytest.fixture
async def chat(url: str) -> AsyncIterator[OpenAIChat]:
    """Yield a client whose answers may have 24 tokens."""
    client = OpenAIChat(ChatEndpoint(url, "smollm2", "x", timeout_s=600, max_output_tokens=24))
    yield client
    await client.close()


async def test_schema_that_the_server_refuses_becomes_json_mode(chat: OpenAIChat) -> None:
    """Its 500 names response_format, so the call is repeated in JSON mode, which is used from then on."""
    first = await chat.complete(ASKED, PLACE)
    assert chat.schema_support == "JSON mode, no schema"
    assert first.text.lstrip().startswith("{")
    assert first.prompt_tokens > 10 and 0 < first.completion_tokens <= 24
    second = await chat.complete(ASKED, PLACE)
    assert (second.text, second.prompt_tokens) == (first.text, first.prompt_tokens)


async def test_stream_gives_pieces_usage_and_the_reason_to_stop(chat: OpenAIChat) -> None:
    """The pieces are the text, and an answer longer than the limit ends with "length" at the limit."""
    items = [item async for item in chat.stream([Message("user", "Tell me a long story about a king and his castle.")])]
    whole = items[-1]
    assert isinstance(whole, ChatReply)
    assert "".join(item for item in items[:-1] if isinstance(item, str)) == whole.text
    assert len(items) > 5 and whole.finish == "length"
    assert whole.prompt_tokens > 10 and 0 < whole.completion_tokens <= 26


async def test_closed_stream_leaves_the_server_usable(chat: OpenAIChat) -> None:
    """A reader that goes after the first piece ends the call; the next call is answered."""
    stream = chat.stream([Message("user", "Count from one to one hundred in words.")])
    assert await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    assert (await chat.complete(ASKED, PLACE)).text


async def test_extraction_of_a_cut_off_reply_is_rejected_with_the_reason(chat: OpenAIChat) -> None:
    """24 tokens are too few for an extraction: the request is repeated once, then the document is Rejected."""
    with pytest.raises(Rejected, match="cut off"):
        await OpenAIExtractor(chat).extract(PASSAGE.text, title=PASSAGE.title)


async def test_extraction_is_a_result_or_a_rejection_and_answers_are_streamed(url: str) -> None:
    """Whatever a small model writes: a checked extraction or Rejected; an answer with usage, cut off or whole."""
    client = OpenAIChat(ChatEndpoint(url, "smollm2", "x", timeout_s=600, max_output_tokens=160))
    [found] = await asyncio.gather(
        OpenAIExtractor(client).extract(PASSAGE.text, title=PASSAGE.title), return_exceptions=True
    )
    assert isinstance(found, ExtractionResult | Rejected), found
    items = [item async for item in OpenAIGenerator(client).stream("Where was Ada born?", [PASSAGE])]
    await client.close()
    whole = items[-1]
    assert isinstance(whole, Generated) and whole.text
    assert whole.prompt_tokens > 50 and whole.completion_tokens > 0
    print(json.dumps({"answer": whole.text, "cut off": CUT_OFF in whole.text}))
