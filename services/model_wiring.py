"""Construction of the models from the settings: endpoints, extraction and answers, all with usage accounting.

A part of the wiring (`services/wiring.py`), separate because several processes use it. The caller supplies the usage
ledger and the memos. Without endpoints, rules and quotations replace the models.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from graphtide.infra.models.cache.embeddings import MemoisedEmbedder, MemoryVectorStore, VectorStore
from graphtide.infra.models.cache.extractions import MemoisedExtractor
from graphtide.infra.models.cache.reports import MemoisedReporter
from graphtide.infra.models.cache.summaries import MemoisedSummarizer
from graphtide.infra.models.limits.rate_limiter import EndpointLimits, RateLimiter
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.cross_encoder.encoder import MiniLmCrossEncoder
from graphtide.infra.models.local.embedders import NAMES, local_model
from graphtide.infra.models.local.extractor import OfflineExtractor, ParsingExtractor
from graphtide.infra.models.local.generator import ExtractiveGenerator
from graphtide.infra.models.local.reporter import ExtractiveReporter
from graphtide.infra.models.local.static_embedder import StaticEmbedder
from graphtide.infra.models.local.unit_reader import UnitReader
from graphtide.infra.models.prompts.graph_prompts import (
    ANSWER,
    ANSWER_PART,
    ENTITY,
    EXTRACTION,
    REPORT,
    ByGraph,
    prompts_by_graph,
)
from graphtide.infra.models.prompts.templates import Prompt
from graphtide.infra.models.usage.accounting import Price, Rules, UsageAccounting
from graphtide.infra.models.usage.counters import Tally
from graphtide.infra.observability.metrics.reranking import RerankMetrics
from graphtide.infra.settings import Settings, SettingsError
from graphtide.services.query.reranking import Reranking
from graphtide.streams.errors import Broken
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels
from graphtide.streams.model_ports import Embedder, Extractor, Generator, Rater, Reranker
from graphtide.streams.scheduling.work_pool import WorkPool
from graphtide.streams.summarize.report_writer import Reporter
from graphtide.streams.summarize.summary_writer import Summarizer
from graphtide.streams.usage import NANO, Budget

if TYPE_CHECKING:
    from graphtide.infra.models.openai.chat import OpenAIChat

log = logging.getLogger("graphtide")

QUESTIONS_REMEMBERED = 2_000
"""Maximum number of questions whose vectors are cached in memory."""
FAILURES_TO_OPEN = 5
"""Consecutive failures of an endpoint after which its circuit breaker opens."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of models, validated before anything is opened."""

    settings: Settings
    rules: Rules
    extraction: ByGraph
    answers: ByGraph
    answer_parts: ByGraph
    reports: ByGraph
    entities: ByGraph

    def chunker(self) -> SemanticChunker:
        return SemanticChunker(self.settings.chunk_tokens)


ASKING_THREADS = 4
ASKING_THREADS_PER_GRAPH = 2
"""One graph cannot occupy all threads: its questions wait for the lock of its view while a delta is applied."""
ASKING_MAX_WAITING = 1_000


@dataclass(frozen=True, slots=True)
class OwnModels:
    """Models that the caller supplies. None: the settings choose the model."""

    extractor: Extractor | None = None
    embedder: Embedder | None = None
    generator: Generator | None = None
    reranker: Reranker | None = None


@dataclass(frozen=True, slots=True)
class Memos:
    """The caches of models' answers. Without a cache of reports, a report is paid for again when it is due again."""

    vectors: VectorStore
    extractions: VectorStore
    reports: VectorStore | None = None


@dataclass(frozen=True, slots=True)
class ModelSet:
    """The models that read documents, answer questions, write and rate reports, and their endpoint (None without one).

    Without a rater, reports are rated by the question's neighbourhood (`graph/retrieval/global_search/dynamic.py`);
    without a
    summarizer, descriptions of an entity are truncated at the limit.
    """

    reading: ExtractionModels
    generator: Generator
    embedder: Embedder
    chat: OpenAIChat | None
    reporter: Reporter = field(default_factory=ExtractiveReporter)
    rater: Rater | None = None
    summarizer: Summarizer | None = None
    reranker: Reranker | None = None
    memos: Memos | None = None
    """The caches of their answers; None for models that are opened for one question."""
    asking: WorkPool = field(default_factory=WorkPool)
    """The threads of questions and look-ups."""
    caps: ExtractionLimits = field(default_factory=ExtractionLimits)
    """The limits of one document's extraction."""
    judges_names: bool = False
    """True if the language model judges pairs of entity names."""
    judges_predicates: bool = False
    """True if the language model also judges pairs of predicates."""

    def gates(self) -> Mapping[str, RateLimiter]:
        """Return the rate limiters of the configured endpoints, by their purpose."""
        embedding: RateLimiter | None = getattr(self.embedder, "gate", None)  # only an endpoint has one
        language = self.chat.gate if self.chat else None
        rerank: RateLimiter | None = getattr(self.reranker, "gate", None)
        gates = (("embedding", embedding), ("language", language), ("rerank", rerank))
        return {name: gate for name, gate in gates if gate}

    @property
    def names(self) -> Mapping[str, str]:
        """Return the names of the models for `stats`."""
        return {
            "extraction": self.reading.extractor.name,
            "embedding": self.embedder.name,
            "answers": self.generator.name,
            "reports": self.reporter.name,
            "rating": self.rater.name if self.rater else "by neighbourhood",
        }


def plan(settings: Settings) -> Plan:
    """Return the plan. Raises Broken for an incomplete endpoint, an invalid prompt, or a cost budget without prices."""
    if settings.embedding_base_url and not settings.embedding_model:
        raise Broken(
            "GRAPHTIDE_EMBEDDING_BASE_URL is set, GRAPHTIDE_EMBEDDING_MODEL is not: set it to the name of the model"
        )
    if not settings.embedding_base_url and local_model(settings.embedding_model) is None:
        raise Broken(
            f"GRAPHTIDE_EMBEDDING_MODEL is {settings.embedding_model!r}, which is not a local model"
            f" ({', '.join(NAMES)}), and GRAPHTIDE_EMBEDDING_BASE_URL is not set: set it to the address of the model's"
            " endpoint (https://api.openai.com/v1 for OpenAI), or name a local model"
        )
    if bool(settings.llm_base_url) != bool(settings.llm_model):
        raise Broken(
            "a language model needs both GRAPHTIDE_LLM_BASE_URL (https://api.openai.com/v1 for OpenAI) "
            "and GRAPHTIDE_LLM_MODEL, and one is empty: set both"
        )
    folder = Path(settings.prompts_dir) if settings.prompts_dir else None
    prompts = (prompts_by_graph(folder, kind) for kind in (EXTRACTION, ANSWER, ANSWER_PART, REPORT, ENTITY))
    return Plan(settings, _rules(settings), *prompts)


def _rules(settings: Settings) -> Rules:
    rules = Rules(
        {model: Price(price.prompt, price.completion) for model, price in settings.prices.items()},
        _budget(settings.budget_tokens_per_day, settings.budget_cost_per_day),
        {graph: _budget(budget.tokens, budget.cost) for graph, budget in settings.budgets.items()},
        settings.budget_blocks_queries,
    )
    paid = settings.embedding_model if settings.embedding_base_url else ""
    rules.check({"language": settings.llm_model, "rating": settings.llm_rating_model, "embedding": paid})
    return rules


def _budget(tokens: int, cost: float) -> Budget:
    return Budget(tokens, round(cost * NANO))


def open_models(
    chosen: Plan,
    accounts: UsageAccounting,
    memos: Memos,
    tally: Tally,
    stack: AsyncExitStack,
    own: OwnModels | None = None,
) -> ModelSet:
    """Build the models of the settings, or `own` instead; the stack closes them. Makes no call."""
    own = own or OwnModels()
    made = _models(chosen, accounts, memos, tally, stack, own.embedder)
    reading = replace(made.reading, extractor=own.extractor, extractors={}) if own.extractor else made.reading
    reranker = own.reranker or _reranker(chosen.settings, stack)
    return replace(made, reading=reading, generator=own.generator or made.generator, reranker=reranker)


def _reranker(settings: Settings, stack: AsyncExitStack) -> Reranker | None:
    """Return the reranker of the settings; the stack closes it. None without an endpoint."""
    if not settings.rerank_base_url:
        return None
    from graphtide.infra.models.reranking.endpoint import EndpointReranker, RerankEndpoint

    endpoint = RerankEndpoint(
        settings.rerank_base_url,
        settings.rerank_model,
        settings.rerank_api_key.get_secret_value(),
        settings.rerank_shape,
        settings.rerank_timeout_s,
        EndpointLimits(settings.rerank_concurrency, settings.rerank_requests_per_minute, 0, FAILURES_TO_OPEN),
    )
    reranker = EndpointReranker(endpoint)
    stack.push_async_callback(reranker.close)
    return reranker


def reranking_of(models: ModelSet, settings: Settings, registry: CollectorRegistry) -> Reranking | None:
    """Return the reranking of questions, with its metrics; None without a reranker."""
    called = RerankMetrics(registry).called  # without a reranker they are exported as 0
    if models.reranker is None:
        return None
    return Reranking(models.reranker, settings.rerank_candidates, settings.rerank_timeout_s, called)


def _models(
    chosen: Plan,
    accounts: UsageAccounting,
    memos: Memos,
    tally: Tally,
    stack: AsyncExitStack,
    own_embedder: Embedder | None,
) -> ModelSet:
    caps = ExtractionLimits(found=chosen.settings.max_statements)
    asking_pool = WorkPool(ASKING_THREADS, ASKING_THREADS_PER_GRAPH, ASKING_MAX_WAITING)
    reading_pool = WorkPool(questions=asking_pool)
    for pool in (reading_pool, asking_pool):
        stack.callback(pool.close)
    embedder = own_embedder or open_embedder(chosen.settings, accounts, stack, reading_pool)
    chat = _chat(chosen.settings, accounts, stack, chosen.settings.llm_model)
    if chat is None:
        log.warning(
            "no language model is configured: rules extract and answers are quotations, for trials only; "
            "set GRAPHTIDE_LLM_BASE_URL and GRAPHTIDE_LLM_MODEL"
        )
    remembered = cached_embedder(chosen.settings, embedder, memos.vectors, own_embedder)
    if isinstance(remembered, MemoisedEmbedder):
        stack.push_async_callback(remembered.close)
    if chat is None:
        local = _local_extractor(chosen.settings, reading_pool)
        reading = ExtractionModels(chosen.chunker(), local, remembered, pool=reading_pool)
        answers = ExtractiveGenerator(embedder, reader=_reader(chosen.settings, asking_pool), pool=asking_pool)
        return ModelSet(reading, answers, embedder, None, asking=asking_pool, caps=caps)

    from graphtide.infra.models.openai.generator import OpenAIGenerator
    from graphtide.infra.models.openai.rater import OpenAIRater

    extractor, own = _extractors(chosen, chat, memos, tally, stack)
    reading = ExtractionModels(chosen.chunker(), extractor, remembered, own, reading_pool)
    reporter, summarizer = _report_writers(chosen, chat, memos, tally)
    cheaper = _chat(chosen.settings, accounts, stack, chosen.settings.llm_rating_model)
    generator = OpenAIGenerator(chat, chosen.answers, chosen.answer_parts)
    summaries = summarizer if chosen.settings.entity_summaries else None
    rater = OpenAIRater(cheaper or chat)
    models = ModelSet(reading, generator, embedder, chat, reporter, rater, summaries, asking=asking_pool, caps=caps)
    settings = chosen.settings
    return replace(models, judges_names=settings.asks_entity_judge, judges_predicates=settings.asks_predicate_judge)


def _extractors(
    chosen: Plan, chat: OpenAIChat, memos: Memos, tally: Tally, stack: AsyncExitStack
) -> tuple[Extractor, Mapping[str, Extractor]]:
    """Return the extractor of most graphs, and those of graphs with a prompt of their own; the stack closes them."""
    from graphtide.infra.models.openai.extractor import OpenAIExtractor

    def extractor(prompt: Prompt) -> Extractor:
        asked = OpenAIExtractor(chat, tally, prompt, glean=chosen.settings.llm_gleaning)
        memoised = MemoisedExtractor(asked, memos.extractions, tally)
        stack.push_async_callback(memoised.close)
        return memoised

    own = {graph: extractor(prompt) for graph, prompt in chosen.extraction.own.items()}
    return extractor(chosen.extraction.default), own


def _report_writers(chosen: Plan, chat: OpenAIChat, memos: Memos, tally: Tally) -> tuple[Reporter, Summarizer]:
    """Return the writers of reports and of entity descriptions, with a cache if there is one."""
    from graphtide.infra.models.openai.reporter import OpenAIReporter
    from graphtide.infra.models.openai.summarizer import OpenAISummarizer

    reporter, summarizer = OpenAIReporter(chat, tally, chosen.reports), OpenAISummarizer(chat, tally, chosen.entities)
    if memos.reports is None:
        return reporter, summarizer
    return MemoisedReporter(reporter, memos.reports), MemoisedSummarizer(summarizer, memos.reports)


@asynccontextmanager
async def question_embedder(embedder: Embedder) -> AsyncIterator[Embedder]:
    """Open the embedder of questions, with a cache in memory; its calls end before the client of `embedder` closes."""
    memoised = MemoisedEmbedder(embedder, MemoryVectorStore(QUESTIONS_REMEMBERED))
    try:
        yield memoised
    finally:
        await memoised.close()


def open_embedder(settings: Settings, accounts: UsageAccounting, stack: AsyncExitStack, pool: WorkPool) -> Embedder:
    """Build the embedder of settings that `plan` accepts; the stack closes it. Raises Broken without its files."""
    if not settings.embedding_base_url:
        model = local_model(settings.embedding_model)
        if model is None:
            raise Broken(f"{settings.embedding_model!r} is not a local embedding model; this is a bug")
        return model.open(pool)
    from graphtide.infra.models.openai.embedder import EmbeddingEndpoint, OpenAIEmbedder

    endpoint = EmbeddingEndpoint(
        settings.embedding_base_url,
        settings.embedding_model,
        settings.embedding_api_key.get_secret_value(),
        timeout_s=settings.embedding_timeout_s,
        limits=EndpointLimits(
            settings.embedding_concurrency,
            settings.embedding_requests_per_minute,
            settings.embedding_tokens_per_minute,
            FAILURES_TO_OPEN,
        ),
    )
    embedder = OpenAIEmbedder(endpoint, accounts)
    stack.push_async_callback(embedder.close)
    return embedder


def _local_extractor(settings: Settings, pool: WorkPool) -> Extractor:
    """Return the extractor that needs no language model. Raises SettingsError if the parser is not installed."""
    if settings.extractor == "rules":
        return OfflineExtractor(pool)
    try:
        return ParsingExtractor(pool)
    except ImportError as error:
        raise SettingsError(f"extractor is {settings.extractor!r}, but {error}") from error


def _reader(settings: Settings, pool: WorkPool) -> UnitReader | None:
    """Return what reads units for answers without a language model; None for rules alone. Raises Broken if the
    packages of the cross-encoder are missing or have another model.
    """
    if settings.answer_model == "rules":
        return None
    return UnitReader(MiniLmCrossEncoder(pool), StaticEmbedder(pool), pool)


def cached_embedder(settings: Settings, embedder: Embedder, store: VectorStore, own: Embedder | None) -> Embedder:
    """Return the embedder of documents: with a cache, unless the model costs hardly more than the cache."""
    model = None if own or settings.embedding_base_url else local_model(settings.embedding_model)
    return MemoisedEmbedder(embedder, store) if model is None or model.worth_caching else embedder


def _chat(settings: Settings, accounts: UsageAccounting, stack: AsyncExitStack, model: str) -> OpenAIChat | None:
    """Return one client of the endpoint, shared by all uses so that they share its limits; None without an endpoint."""
    if not settings.llm_base_url or not model:
        return None
    from graphtide.infra.models.openai.chat import ChatEndpoint, OpenAIChat

    endpoint = ChatEndpoint(
        settings.llm_base_url,
        model,
        settings.llm_api_key.get_secret_value(),
        settings.llm_timeout_s,
        settings.llm_max_output_tokens,
        EndpointLimits(
            settings.llm_concurrency,
            settings.llm_requests_per_minute,
            settings.llm_tokens_per_minute,
            FAILURES_TO_OPEN,
        ),
    )
    chat = OpenAIChat(endpoint, accounts)
    stack.push_async_callback(chat.close)
    return chat
