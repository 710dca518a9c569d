"""The only place that builds adapters: from settings to a running application, and back down in order.

Order up: models, storage, views, stages. Order down: stages stop taking work, indexes are saved, storage is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from graph.records import GraphDelta
from infra.index_folder import IndexFolder
from infra.metrics import Metrics
from infra.models.accounting import Accounts, Price, Rules
from infra.models.chunking import SemanticChunker
from infra.models.extraction_memo import MemoisedExtractor
from infra.models.hashing_embeddings import HashingEmbedder
from infra.models.limits import Limits
from infra.models.memo import MemoisedEmbedder, MemoryVectorStore
from infra.models.offline_answers import ExtractiveGenerator
from infra.models.offline_extraction import OfflineExtractor
from infra.models.offline_reports import ExtractiveReporter
from infra.models.tally import Tally
from infra.settings import Settings
from infra.sqlite import SqliteBackend, SqliteSpending, SqliteVectorStore
from services.application import Application
from services.embedded import EmbeddedApplication, Runtime
from streams.consolidate import ConsolidateStage
from streams.errors import Broken
from streams.extract import ExtractStage
from streams.extraction import Models
from streams.followers import Views
from streams.models import Embedder, Extractor, Generator
from streams.ports import State
from streams.progress import Progress
from streams.reports import Due, ReportWriter, Shelves
from streams.retrying import supervise
from streams.spending import NANO, Budget
from streams.summarize import SummarizeStage

if TYPE_CHECKING:
    from infra.models.openai_chat import OpenAIChat
    from infra.models.openai_judge import OpenAIJudge

log = logging.getLogger("graphtide")

SAVE_EVERY_S = 600.0
CHECK_EVERY_S = 5.0
SAVE_AFTER_VERSIONS = 500
FAILURES_TO_OPEN = 5
"""Failures of an endpoint in a row after which it is left alone for a while."""
QUESTIONS_REMEMBERED = 2_000
MODEL_FILE = "embedding-model"


@asynccontextmanager
async def open_application(settings: Settings, registry: CollectorRegistry | None = None) -> AsyncIterator[Application]:
    """A running application on the embedded runtime, with its stages, until the block ends.

    Its metrics go to `registry`. Raises Broken, before anything is touched, when the settings ask for what this
    version does not have, or when the data folder is in use, damaged, or made with another embedding model.
    """
    if settings.kafka or settings.bolt:
        raise Broken("GRAPHTIDE_KAFKA and GRAPHTIDE_BOLT are not supported by this version; unset them")
    rules = _rules(settings)
    _check_endpoints(settings)
    async with AsyncExitStack() as stack:
        backend = await SqliteBackend.open(settings.data)
        stack.push_async_callback(backend.close)
        registry = registry or CollectorRegistry()
        tally = Tally(registry)
        accounts = Accounts(await SqliteSpending.open(backend.database), rules, tally)
        embedder = await _embedder(settings, accounts, stack)
        chat = await _chat(settings, accounts, stack)
        _check_model(settings.data / MODEL_FILE, embedder.name)
        views = Views(IndexFolder(settings.data / "indexes"))
        stack.push_async_callback(views.close)
        await views.open(backend.store)
        readers = await _readers(chat, backend, tally, stack)
        runtime = _runtime(backend, views, embedder, readers, registry, accounts)
        due = Due(settings.reports_least_change, settings.reports_lazy)
        writer = ReportWriter(backend.store, ExtractiveReporter(), due)
        reports = SummarizeStage(backend.log, views, writer, runtime.metrics)
        stages = {
            "extract": runtime.extract.run,
            "consolidate": runtime.consolidate.run,
            "summarize": reports.run,
            "index-snapshots": lambda: _save_now_and_then(views),
            "communities-check": lambda: _check_now_and_then(runtime.consolidate),
        }
        if chat is not None and settings.llm_judge:
            from infra.models.openai_judge import OpenAIJudge

            judge = OpenAIJudge(chat)
            stages["pair-judge"] = lambda: _judge_now_and_then(runtime.consolidate, judge)
        stack.push_async_callback(_stop, [_start(name, run, runtime.notes) for name, run in stages.items()])
        yield EmbeddedApplication(runtime)


def _runtime(
    backend: SqliteBackend,
    views: Views,
    embedder: Embedder,
    readers: tuple[Extractor, Generator],
    registry: CollectorRegistry,
    accounts: Accounts,
) -> Runtime:
    progress = Progress(backend.log, backend.ledger, backend.store, views)
    metrics = _Announcing(registry, progress)
    extractor, generator = readers
    remembered = MemoisedEmbedder(embedder, SqliteVectorStore(backend.database))
    models = Models(SemanticChunker(), extractor, remembered)

    async def follow(delta: GraphDelta) -> None:
        await views.follow(delta)
        progress.moved()

    return Runtime(
        backend.log,
        backend.store,
        backend.ledger,
        views,
        progress,
        ExtractStage(backend.log, backend.ledger, models, metrics),
        ConsolidateStage(backend.log, backend.store, follow, metrics),
        MemoisedEmbedder(embedder, MemoryVectorStore(QUESTIONS_REMEMBERED)),
        generator,
        metrics,
        {},
        Shelves(backend.store),
        {"extraction": extractor.name, "embedding": embedder.name, "answers": generator.name},
        accounts,
    )


def _check_endpoints(settings: Settings) -> None:
    """Raise Broken when half of an endpoint is named."""
    if settings.embedding_base_url and not settings.embedding_model:
        raise Broken("GRAPHTIDE_EMBEDDING_BASE_URL is set, GRAPHTIDE_EMBEDDING_MODEL is not: name the model to ask for")
    if bool(settings.llm_base_url) != bool(settings.llm_model):
        raise Broken(
            "a language model needs both GRAPHTIDE_LLM_BASE_URL (https://api.openai.com/v1 for OpenAI) "
            "and GRAPHTIDE_LLM_MODEL: set the other one, too"
        )


def _rules(settings: Settings) -> Rules:
    """Prices and budgets. Raises Broken when money is to be counted and a model has no price."""
    rules = Rules(
        {model: Price(price.prompt, price.completion) for model, price in settings.prices.items()},
        _budget(settings.budget_tokens_per_day, settings.budget_cost_per_day),
        {graph: _budget(one.tokens, one.cost) for graph, one in settings.budgets.items()},
        settings.budget_stops_questions,
    )
    rules.check({"language": settings.llm_model, "embedding": settings.embedding_model})
    return rules


def _budget(tokens: int, cost: float) -> Budget:
    return Budget(tokens, round(cost * NANO))


async def _embedder(settings: Settings, accounts: Accounts, stack: AsyncExitStack) -> Embedder:
    if not settings.embedding_base_url:
        log.warning("no embedding endpoint is configured: hashing embeddings stand in, for trying out")
        return HashingEmbedder()
    from infra.models.openai_embeddings import EmbeddingEndpoint, OpenAIEmbedder

    key = settings.embedding_api_key.get_secret_value()
    limits = Limits(
        settings.embedding_concurrency,
        settings.embedding_requests_per_minute,
        settings.embedding_tokens_per_minute,
        FAILURES_TO_OPEN,
    )
    endpoint = OpenAIEmbedder(
        EmbeddingEndpoint(
            settings.embedding_base_url,
            settings.embedding_model,
            key,
            timeout_s=settings.embedding_timeout_s,
            limits=limits,
        ),
        accounts,
    )
    stack.push_async_callback(endpoint.close)
    return endpoint


async def _chat(settings: Settings, accounts: Accounts, stack: AsyncExitStack) -> OpenAIChat | None:
    """The language model, one for extraction and answers so that both keep to its limits; None without one."""
    if not settings.llm_base_url:
        log.warning("no language model is configured: rules extract and answers are quotations, for trying out")
        return None
    from infra.models.openai_chat import ChatEndpoint, OpenAIChat

    limits = Limits(
        settings.llm_concurrency,
        settings.llm_requests_per_minute,
        settings.llm_tokens_per_minute,
        FAILURES_TO_OPEN,
    )
    chat = OpenAIChat(
        ChatEndpoint(
            settings.llm_base_url,
            settings.llm_model,
            settings.llm_api_key.get_secret_value(),
            settings.llm_timeout_s,
            settings.llm_max_output_tokens,
            limits,
        ),
        accounts,
    )
    stack.push_async_callback(chat.close)
    return chat


async def _readers(
    chat: OpenAIChat | None, backend: SqliteBackend, tally: Tally, stack: AsyncExitStack
) -> tuple[Extractor, Generator]:
    """What reads documents and what answers questions: by the language model, or by rules and quotations."""
    if chat is None:
        return OfflineExtractor(), ExtractiveGenerator(HashingEmbedder())
    from infra.models.openai_answers import OpenAIGenerator
    from infra.models.openai_extraction import OpenAIExtractor

    remembered = SqliteVectorStore(backend.database, table="extraction_memo")
    await remembered.create()
    extractor = MemoisedExtractor(OpenAIExtractor(chat, tally), remembered, tally)
    stack.push_async_callback(extractor.close)
    return extractor, OpenAIGenerator(chat)


def _check_model(file: Path, name: str) -> None:
    """Vectors of two models cannot be compared: a data folder keeps to the one it was begun with."""
    if not file.exists():
        file.write_text(name + "\n")
    elif (held := file.read_text().strip()) != name:
        raise Broken(
            f"{file.parent} was embedded with {held}, and the settings say {name}: set the model back, "
            "or publish to a new data folder"
        )


class _Announcing(Metrics):
    """Metrics that also wake whoever waits for a revision, when it ends by failing."""

    def __init__(self, registry: CollectorRegistry | None, progress: Progress) -> None:
        super().__init__(registry)
        self._progress = progress

    def ended(self, graph: str, state: State) -> None:
        super().ended(graph, state)
        self._progress.moved()


def _start(name: str, run: Callable[[], Awaitable[None]], notes: dict[str, str]) -> asyncio.Task[None]:
    def note(reason: str) -> None:
        notes[name] = reason

    return asyncio.create_task(supervise(name, run, note), name=name)


async def _stop(stages: list[asyncio.Task[None]]) -> None:
    """Cancel the stages and wait: what they had not committed is read again at the next start."""
    for stage in stages:
        stage.cancel()
    await asyncio.gather(*stages, return_exceptions=True)


async def _check_now_and_then(stage: ConsolidateStage) -> None:
    """Let no graph's communities drift for long. What is due is decided by how much changed, not by the clock."""
    while True:
        await asyncio.sleep(CHECK_EVERY_S)
        await stage.check_drift()


async def _judge_now_and_then(stage: ConsolidateStage, judge: OpenAIJudge) -> None:
    """Have open pairs judged as they come up, a few at a time."""
    while True:
        await asyncio.sleep(CHECK_EVERY_S)
        while await stage.judge(judge.same):
            pass


async def _save_now_and_then(views: Views) -> None:
    """Keep the saved indexes young enough that a start after a crash has little to catch up with."""
    while True:
        await asyncio.sleep(SAVE_EVERY_S)
        await views.save(least_versions=SAVE_AFTER_VERSIONS)
