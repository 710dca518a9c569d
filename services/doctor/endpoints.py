"""The doctor's checks of the model endpoints, with one small call each: reachability, key, and fit to the data."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

from graphtide.infra.models.openai.chat import ChatEndpoint, Message, OpenAIChat
from graphtide.infra.models.openai.embedder import EmbeddingEndpoint, OpenAIEmbedder
from graphtide.infra.models.replies.schemas import Schema
from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.settings import Settings
from graphtide.services.doctor import DoctorFinding
from graphtide.streams.errors import GraphtideError

TIMEOUT_S = 20.0
_SCHEMA = Schema("probe", {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]})


async def endpoint_findings(settings: Settings) -> AsyncIterator[DoctorFinding]:
    """Request one embedding and one short answer, a few tokens each; yield the findings of configured endpoints."""
    async with AsyncExitStack() as stack:
        if settings.embedding_base_url and settings.embedding_model:
            embedder = OpenAIEmbedder(
                EmbeddingEndpoint(
                    settings.embedding_base_url,
                    settings.embedding_model,
                    settings.embedding_api_key.get_secret_value(),
                    timeout_s=min(TIMEOUT_S, settings.embedding_timeout_s),
                )
            )
            stack.push_async_callback(embedder.close)
            async for finding in _embedding(embedder, settings):
                yield finding
        if settings.llm_base_url and settings.llm_model:
            chat = OpenAIChat(
                ChatEndpoint(
                    settings.llm_base_url,
                    settings.llm_model,
                    settings.llm_api_key.get_secret_value(),
                    min(TIMEOUT_S, settings.llm_timeout_s),
                ),
                UsageAccounting(),
            )
            stack.push_async_callback(chat.close)
            async for finding in _language(chat):
                yield finding


async def _embedding(embedder: OpenAIEmbedder, settings: Settings) -> AsyncIterator[DoctorFinding]:
    try:
        dimensions = await embedder.probe()
    except GraphtideError as error:
        why = "new documents wait, and questions without a cached vector get 503"
        yield DoctorFinding("embedding endpoint", str(error), why, _cure(str(error), "EMBEDDING"))
        return
    for graph, stored in stored_dimensions(settings.data / "indexes").items():
        if stored != dimensions:
            what = f"vectors of graph {graph} have {stored} dimensions, and the endpoint now gives {dimensions}"
            cure = f"set the model that {settings.data}/embedding-model names, or publish to a new data folder"
            yield DoctorFinding(
                "embedding endpoint",
                what,
                "vectors of different dimensions cannot be compared, so no search works",
                cure,
            )


async def _language(chat: OpenAIChat) -> AsyncIterator[DoctorFinding]:
    try:
        await chat.complete([Message("user", 'Answer with {"ok": true} in JSON.')], _SCHEMA)
    except GraphtideError as error:
        why = "new documents wait, and questions get passages without an answer"
        yield DoctorFinding("language endpoint", str(error), why, _cure(str(error), "LLM"))


def _cure(message: str, name: str) -> str:
    """Return the setting to check, by the endpoint's response."""
    if "answered 401" in message or "answered 403" in message:
        return f"set GRAPHTIDE_{name}_API_KEY to a valid key"
    if "answered 404" in message or "answered 400" in message:
        return (
            f"check GRAPHTIDE_{name}_MODEL, and that GRAPHTIDE_{name}_BASE_URL is the provider's (it often ends in /v1)"
        )
    if "answered 402" in message or "answered 429" in message:
        return f"check the account's limits with the provider, or lower GRAPHTIDE_{name}_REQUESTS_PER_MINUTE"
    return f"start the endpoint, or check GRAPHTIDE_{name}_BASE_URL; try: curl GRAPHTIDE_{name}_BASE_URL/models"


def stored_dimensions(indexes: Path) -> dict[str, int]:
    """Return the dimensions of each graph's saved vectors, from their manifests; damaged manifests are skipped."""
    found: dict[str, int] = {}
    for manifest in sorted(indexes.glob("*/chunks/manifest.json")):
        try:
            found[manifest.parts[-3]] = int(json.loads(manifest.read_text())["dim"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found
