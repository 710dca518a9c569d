"""Extraction by a language model: the outcome of each failure."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from prometheus_client import CollectorRegistry

from graphtide.infra.models.openai.chat import ChatEndpoint, OpenAIChat
from graphtide.infra.models.openai.extractor import OpenAIExtractor
from graphtide.infra.models.replies.extraction_parser import MAX_ENTITIES
from graphtide.streams.errors import Rejected, Retryable
from tests.support import llm_faults as fake
from tests.support.bench_data import ROOT
from tests.support.endpoints import DROPPED, NOT_JSON, SLOW, Fault, status
from tests.support.extractor_replies import KEY, TEXT, TITLE
from tests.support.llm_server import LlmServer

UNUSABLE = {
    "cut-off": (fake.CUT_OFF, "cut off"),
    "malformed": (fake.MALFORMED, "not JSON"),
    "empty": (fake.EMPTY, "not JSON"),
    "wrong-schema": (fake.WRONG_SCHEMA, "no list of entities"),
    "a-list": (fake.A_LIST, "no list of entities|not a JSON object"),
    "flood": (fake.FLOOD, f"10000 entities; at most {MAX_ENTITIES}"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", sorted(set(UNUSABLE) - {"a-list"}))
async def test_extraction_asks_once_more_when_an_answer_cannot_be_used(
    server: LlmServer, extractor: OpenAIExtractor, case: str
) -> None:
    """The second call names the error of the first, quotes at most a part of it, and its answer is accepted."""
    right = await extractor.extract(TEXT, title=TITLE)
    server.misbehave(UNUSABLE[case][0])
    assert await extractor.extract(TEXT, title=TITLE) == right
    again = server.seen[-1].body["messages"]
    assert len(server.seen) == 3 and [one["role"] for one in again] == ["system", "user", "assistant", "user"]
    assert "cannot be used" in again[-1]["content"] and len(again[2]["content"]) <= 4_000


@pytest.mark.thorough
@pytest.mark.parametrize("case", sorted(set(UNUSABLE) - {"a-list"}))
async def test_extraction_rejects_with_the_cause_when_the_second_answer_is_no_better(
    server: LlmServer, extractor: OpenAIExtractor, registry: CollectorRegistry, case: str
) -> None:
    """After two calls, both counted, the text is rejected with the reason."""
    fault, cause = UNUSABLE[case]
    server.misbehave(fault, fault)
    with pytest.raises(Rejected, match=cause):
        await extractor.extract(TEXT, title=TITLE)
    assert len(server.seen) == 2
    assert registry.get_sample_value("graphtide_llm_calls_total", {"graph": "-", "stage": "extract"}) == 2


async def test_extraction_takes_an_object_inside_a_list(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """Some models wrap their one object in a list; the object is found."""
    right = await extractor.extract(TEXT, title=TITLE)
    server.misbehave(fake.A_LIST)
    assert await extractor.extract(TEXT, title=TITLE) == right


async def test_extraction_rejects_what_the_model_declines(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """A refusal by a content filter is Rejected: a retry would get the same answer."""
    server.misbehave(fake.FILTERED)
    with pytest.raises(Rejected, match="content filter"):
        await extractor.extract(TEXT, title=TITLE)
    assert len(server.seen) == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("fault", "wait_s"),
    [
        (status(429, retry_after="2"), 2.0),
        (status(503), None),
        (status(500), None),
        (status(401, f"Incorrect API key provided: {KEY}"), 60.0),
        (DROPPED, None),
        (NOT_JSON, None),
        (fake.NO_CHOICES, None),
        (Fault(body=b'{"choices": [{"message": {"content": 7}}]}'), None),
        (Fault(body=b"[]"), None),
        (Fault(body=b"null"), None),
    ],
)
async def test_extraction_raises_retryable_once_when_it_may_work_later(
    server: LlmServer, extractor: OpenAIExtractor, fault: Fault, wait_s: float | None
) -> None:
    """A failed call is one attempt and one Retryable with the endpoint's wait; the next call works."""
    server.misbehave(fault)
    with pytest.raises(Retryable) as raised:
        await extractor.extract(TEXT, title=TITLE)
    assert raised.value.retry_after_s == wait_s and server.base_url in str(raised.value)
    assert KEY not in str(raised.value) and len(server.seen) == 1
    assert (await extractor.extract(TEXT, title=TITLE)).relations


async def test_extraction_rejects_a_text_that_the_endpoint_will_never_take(
    server: LlmServer, extractor: OpenAIExtractor
) -> None:
    """The error contains the endpoint's own words, for the operator who has to shorten the text, without the key."""
    server.misbehave(status(400, f"maximum context length is 8192 tokens, {KEY}"))
    with pytest.raises(Rejected, match="8192 tokens") as raised:
        await extractor.extract(TEXT, title=TITLE)
    assert KEY not in str(raised.value)


async def test_extraction_raises_retryable_when_the_answer_is_late(server: LlmServer) -> None:
    """A hanging endpoint costs the timeout."""
    client = OpenAIChat(ChatEndpoint(server.base_url, "m", timeout_s=0.2))
    server.misbehave(SLOW)
    with pytest.raises(Retryable, match=r"did not answer within 0\.2 s"):
        await OpenAIExtractor(client).extract(TEXT, title=TITLE)
    await client.close()


async def test_extraction_never_shows_its_key_in_the_log(
    server: LlmServer, extractor: OpenAIExtractor, caplog: pytest.LogCaptureFixture
) -> None:
    """No log line at any level contains the key, whatever the endpoint echoes."""
    caplog.set_level(logging.DEBUG)
    for code in (400, 401, 429, 500):
        server.misbehave(status(code, f"your key {KEY} is no good"))
        with pytest.raises((Retryable, Rejected)):
            await extractor.extract(TEXT, title=TITLE)
    assert KEY not in caplog.text


@pytest.mark.thorough
async def test_extraction_reads_recordings_from_a_server_in_a_process_of_its_own() -> None:
    """`python -m tests.support.llm_server` serves as the class does, for benchmarks and manual trials."""
    command = [sys.executable, "-m", "tests.support.llm_server", "--port", "0", "--only-json-mode", "--fault", "503"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:  # noqa: ASYNC220 - a moment
        try:
            lines = iter(process.stdout or ())
            url = next(line.split()[-1] for line in lines if line.startswith("listening on"))
            client = OpenAIChat(ChatEndpoint(url, "m"))
            with pytest.raises(Retryable, match="503"):  # the requested fault fails the second request, after a 400
                await OpenAIExtractor(client).extract(TEXT, title=TITLE)
            assert (await OpenAIExtractor(client).extract(TEXT, title=TITLE)).relations
            await client.close()
        finally:
            process.terminate()
