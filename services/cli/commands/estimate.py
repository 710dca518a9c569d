"""The command `graphtide estimate`: the cost of publishing files, without a service and without a call.

It reads the settings as the service does, and the data folder, if it exists, for cached answers and the length of
earlier answers of the model; a service may use the folder meanwhile.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.cache.extractions import MemoisedExtractor
from graphtide.infra.models.openai.chat import ChatEndpoint, OpenAIChat
from graphtide.infra.models.openai.extractor import OpenAIExtractor
from graphtide.infra.models.prompts.templates import Prompt
from graphtide.infra.models.usage.accounting import Price, UsageAccounting
from graphtide.infra.models.usage.estimate import Estimate, Estimator, Reader
from graphtide.infra.models.usage.expectations import Expectations
from graphtide.infra.settings import Settings, SettingsError, load_settings
from graphtide.infra.sqlite.folder_lock import DATABASE
from graphtide.infra.sqlite.memo import ReadOnlyMemo
from graphtide.infra.sqlite.usage import extracted_so_far
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.documents import document_of
from graphtide.services.cli import render as show
from graphtide.services.cli.client import Json
from graphtide.services.cli.exit_codes import USAGE, CommandError
from graphtide.services.cli.sources import DocumentSource, FoundFiles, Unreadable
from graphtide.services.cli.terminal import tell
from graphtide.services.model_wiring import Plan, plan
from graphtide.streams.errors import GraphtideError, Invalid
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.usage import BillingContext, ModelUsage, Stage, paid_by

UNNAMED = "(no model is set)"


@dataclass(frozen=True, slots=True)
class Estimated:
    """The estimate, and the data it is based on."""

    estimate: Estimate
    model: str
    priced: bool
    history: ModelUsage

    def as_json(self) -> Json:
        entry = self.estimate
        basis = f"{self.history.calls} extractions in the data folder" if self.history.calls else "a guess"
        body: Json = {"model": self.model, "documents": entry.documents, "with_facts": entry.brought}
        body |= {"passages": entry.passages, "calls": entry.llm.calls, **self._amounts(entry.llm)}
        body |= {"embedding_tokens": entry.embedding.prompt_tokens}
        if self.priced:
            body["cost"] = (entry.llm + entry.embedding).cost
            body["embedding_cost"] = entry.embedding.cost
        saved: Json = {"calls": entry.saved.calls, **self._amounts(entry.saved)}
        return body | {
            "saved": saved | ({"cost": entry.saved.cost} if self.priced else {}),
            "answers_guessed_from": basis,
        }

    @staticmethod
    def _amounts(spent: ModelUsage) -> Json:
        return {"prompt_tokens": spent.prompt_tokens, "completion_tokens": spent.completion_tokens}


def estimate_all(
    graph: str, found: FoundFiles, given: Json, config: Path | None, advance: Callable[[int], None]
) -> Estimated:
    """Return the estimate for all found documents. Raises CommandError for invalid settings."""
    try:
        settings = load_settings(given, config)
        chosen = plan(settings)
    except (SettingsError, GraphtideError) as error:
        raise CommandError(str(error), USAGE) from error
    documents = _documents(graph, found, settings, advance)
    return asyncio.run(_estimate(chosen, chosen.extraction.of(graph), documents))


async def _estimate(chosen: Plan, prompt: Prompt, documents: Iterator[DocumentMessage]) -> Estimated:
    settings, database = chosen.settings, chosen.settings.data / DATABASE
    model = settings.llm_model or UNNAMED
    prices = {"language": chosen.rules.prices.get(settings.llm_model, Price())}
    prices["embedding"] = chosen.rules.prices.get(settings.embedding_model, Price())
    expected, history = Expectations(settings.llm_max_output_tokens), extracted_so_far(database)
    material = max(0, history.prompt_tokens - history.calls * count_tokens(prompt.text))
    expected.learn(Stage.EXTRACT, material, history.completion_tokens, history.calls)
    async with AsyncExitStack() as stack:
        # The client only supplies the keys of the memo; it is never called.
        chat = OpenAIChat(ChatEndpoint(settings.llm_base_url or "http://127.0.0.1:9/v1", model), UsageAccounting())
        stack.push_async_callback(chat.close)
        asked = OpenAIExtractor(chat, None, prompt, glean=settings.llm_gleaning)
        with closing(ReadOnlyMemo(database, "extraction_memo")) as memo:
            reader = Reader(chosen.chunker(), asked, MemoisedExtractor(asked, memo))
            estimator = Estimator(reader, expected, prices)
            for document in documents:
                with paid_by(BillingContext(document.graph)):
                    await estimator.add(document)
    return Estimated(estimator.result(), model, bool(chosen.rules.prices), history)


def _documents(
    graph: str, found: FoundFiles, settings: Settings, advance: Callable[[int], None]
) -> Iterator[DocumentMessage]:
    for each in found.read():
        advance(1)
        document = _read(graph, each, settings)
        if document is not None:
            yield document


def _read(graph: str, entry: DocumentSource | Unreadable, settings: Settings) -> DocumentMessage | None:
    if isinstance(entry, Unreadable):
        tell(f"graphtide: {entry.name}: {entry.reason}")
        return None
    try:
        return document_of(graph, json.loads(entry.line), RequestLimits.of(settings))
    except Invalid as error:
        tell(f"graphtide: {entry.name}: {error}")
        return None


def shown(console: Console, body: Json) -> None:
    """Print the estimate as a table, with the cached part in words."""
    saved = body["saved"]
    words = f"{saved['calls']} calls, {saved['prompt_tokens'] + saved['completion_tokens']} tokens"
    words += f", cost {saved['cost']:.4f}" if "cost" in saved else ""
    show.fields(console, {**body, "saved": words})
