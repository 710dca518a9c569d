"""The only place that builds adapters: from settings to a running application, and back down in order.

Order up: models, storage, views, stages. Order down: stages stop taking work, indexes are saved, storage is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from graph.records import GraphDelta
from infra.index_folder import IndexFolder
from infra.kernels import CURE, stale
from infra.metrics import Metrics
from infra.models.accounting import Accounts
from infra.models.memo import MemoisedEmbedder, MemoryVectorStore
from infra.models.tally import Tally
from infra.settings import Settings
from infra.single_valued import load_single_valued
from infra.sqlite import SqliteBackend, SqliteSpending, SqliteVectorStore
from services.application import Application
from services.embedded import EmbeddedApplication, Runtime
from services.health import Dependency, disk, endpoint, storage
from services.model_wiring import Memos, ModelSet, open_models, plan
from streams.consolidate import ConsolidateStage
from streams.errors import Broken
from streams.extract import ExtractStage
from streams.followers import Views
from streams.ports import State
from streams.progress import Progress
from streams.reports import Due, ReportWriter, Shelves
from streams.retrying import supervise
from streams.summarize import SummarizeStage

if TYPE_CHECKING:
    from infra.models.openai_judge import OpenAIJudge

log = logging.getLogger("graphtide")

SAVE_EVERY_S = 600.0
CHECK_EVERY_S = 5.0
SAVE_AFTER_VERSIONS = 500
QUESTIONS_REMEMBERED = 2_000
MODEL_FILE = "embedding-model"
EXTRACTION_MEMO = "extraction_memo"
REPORT_MEMO = "report_memo"


@asynccontextmanager
async def open_application(settings: Settings, registry: CollectorRegistry | None = None) -> AsyncIterator[Application]:
    """A running application on the embedded runtime, with its stages, until the block ends.

    Its metrics go to `registry`. Raises Broken, before anything is touched, when the settings ask for what this
    version does not have, or when the data folder is in use, damaged, or made with another embedding model.
    """
    if settings.kafka or settings.bolt:
        raise Broken("GRAPHTIDE_KAFKA and GRAPHTIDE_BOLT are not supported by this version; unset them")
    old = stale()
    if old:
        raise Broken(f"the compiled kernels {', '.join(old)} are older than their sources; {CURE}")
    chosen = plan(settings)
    async with AsyncExitStack() as stack:
        backend = await SqliteBackend.open(settings.data)
        stack.push_async_callback(backend.close)
        registry = registry or CollectorRegistry()
        tally = Tally(registry)
        accounts = Accounts(await SqliteSpending.open(backend.database), chosen.rules, tally)
        models = open_models(chosen, accounts, await _memos(backend), tally, stack)
        _check_model(settings.data / MODEL_FILE, models.embedder.name)
        views = Views(IndexFolder(settings.data / "indexes"), load_single_valued(settings.single_valued))
        stack.push_async_callback(views.close)
        await views.open(backend.store)
        runtime = _runtime(backend, views, models, registry, accounts)
        runtime = replace(runtime, dependencies=_dependencies(settings.data, backend, models))
        due = Due(settings.reports_least_change, settings.reports_lazy)
        writer = ReportWriter(backend.store, models.reporter, due)
        reports = SummarizeStage(backend.log, views, writer, runtime.metrics)
        stages = {
            "extract": runtime.extract.run,
            "consolidate": runtime.consolidate.run,
            "summarize": reports.run,
            "index-snapshots": lambda: _save_now_and_then(views),
            "communities-check": lambda: _check_now_and_then(runtime.consolidate),
        }
        if models.chat is not None and settings.llm_judge:
            from infra.models.openai_judge import OpenAIJudge

            judge = OpenAIJudge(models.chat)
            stages["pair-judge"] = lambda: _judge_now_and_then(runtime.consolidate, judge)
        stack.push_async_callback(_stop, [_start(name, run, runtime.notes) for name, run in stages.items()])
        yield EmbeddedApplication(runtime)


def _dependencies(folder: Path, backend: SqliteBackend, models: ModelSet) -> tuple[Dependency, ...]:
    """What a service in one process depends on: its file, the disk, and the endpoints that the settings name."""
    found = [storage(lambda: backend.ledger.unfinished(0, 1)), disk(folder)]
    trouble = getattr(models.embedder, "trouble", None)  # only an endpoint can have any
    if trouble is not None:
        found.append(endpoint("embedding endpoint", trouble))
    if models.chat is not None:
        found.append(endpoint("language endpoint", models.chat.trouble))
    return tuple(found)


def _runtime(
    backend: SqliteBackend,
    views: Views,
    models: ModelSet,
    registry: CollectorRegistry,
    accounts: Accounts,
) -> Runtime:
    progress = Progress(backend.log, backend.ledger, backend.store, views)
    metrics = _Announcing(registry, progress)

    async def follow(delta: GraphDelta) -> None:
        await views.follow(delta)
        progress.moved()

    return Runtime(
        backend.log,
        backend.store,
        backend.ledger,
        views,
        progress,
        ExtractStage(backend.log, backend.ledger, models.reading, metrics),
        ConsolidateStage(backend.log, backend.store, follow, metrics),
        MemoisedEmbedder(models.embedder, MemoryVectorStore(QUESTIONS_REMEMBERED)),
        models.generator,
        models.rater,
        metrics,
        {},
        Shelves(backend.store),
        {
            "extraction": models.reading.extractor.name,
            "embedding": models.embedder.name,
            "answers": models.generator.name,
            "reports": models.reporter.name,
            "rating": models.rater.name if models.rater else "by neighbourhood",
        },
        accounts,
    )


async def _memos(backend: SqliteBackend) -> Memos:
    extractions = SqliteVectorStore(backend.database, table=EXTRACTION_MEMO)
    await extractions.create()
    reports = SqliteVectorStore(backend.database, table=REPORT_MEMO)
    await reports.create()
    return Memos(SqliteVectorStore(backend.database), extractions, reports)


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
