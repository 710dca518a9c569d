"""A real endpoint of a language model, and an extractor that calls it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from prometheus_client import CollectorRegistry

from graphtide.infra.models.openai.chat import ChatEndpoint, OpenAIChat
from graphtide.infra.models.openai.extractor import OpenAIExtractor
from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.models.usage.counters import Tally
from tests.support.extractor_replies import KEY
from tests.support.llm_server import LlmServer


@pytest.fixture
def server() -> Iterator[LlmServer]:
    """A real endpoint on loopback."""
    with LlmServer() as running:
        yield running


@pytest.fixture
def registry() -> CollectorRegistry:
    """Return the registry of this test's counters."""
    return CollectorRegistry()


@pytest.fixture
def tally(registry: CollectorRegistry) -> Tally:
    """Return the counters on the registry."""
    return Tally(registry)


@pytest.fixture
async def chat(server: LlmServer, tally: Tally) -> AsyncIterator[OpenAIChat]:
    """Return a client of it."""
    client = OpenAIChat(ChatEndpoint(server.base_url, "test-model", KEY), UsageAccounting(tally=tally))
    yield client
    await client.close()


@pytest.fixture
def extractor(chat: OpenAIChat, tally: Tally) -> OpenAIExtractor:
    """Return an extractor on the client, counting into the registry."""
    return OpenAIExtractor(chat, tally)
