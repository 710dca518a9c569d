"""The models of a data folder: opened with the caches in its database, and checked against the model of its vectors.

A part of the wiring (`services/wiring.py`).
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from graphtide.infra.models.local.embedders import setting_of
from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.models.usage.counters import Tally
from graphtide.infra.settings import Settings
from graphtide.infra.sqlite import SqliteBackend, SqliteVectorStore
from graphtide.infra.sqlite.administration.embedding_model import (
    EmbeddingModel,
    is_file_current,
    record_model,
    recorded_model,
)
from graphtide.infra.sqlite.administration.reembedded import ReembeddedDocuments
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.services.administration.model_change import ModelChange, open_change, settings_of_old_model
from graphtide.services.model_wiring import Memos, ModelSet, OwnModels, Plan, open_models, plan
from graphtide.streams.errors import Broken
from graphtide.streams.model_ports import Embedder

EXTRACTION_MEMO = "extraction_memo"
REPORT_MEMO = "report_memo"


async def open_stored_models(
    settings: Settings,
    chosen: Plan,
    backend: SqliteBackend,
    accounting: tuple[UsageAccounting, Tally],
    stack: AsyncExitStack,
    own: OwnModels | None,
) -> tuple[ModelSet, ModelChange | None]:
    """Open the models with their caches; while the folder is embedded again, those of its old model and the change.

    Raises Broken for a folder of another model.
    """
    accounts, tally = accounting
    old = await _old_model(backend, settings, own)
    memos = await _memos(backend)
    models = replace(open_models(plan(old) if old else chosen, accounts, memos, tally, stack, own), memos=memos)
    await _check_model(backend.database, settings.data, models.embedder)
    if old is None:
        return models, None
    change = await open_change(models, settings, accounts, stack)
    return change.models, change


async def _old_model(backend: SqliteBackend, settings: Settings, own: OwnModels | None) -> Settings | None:
    """Return the settings of the folder's model if it is to be replaced while the service runs.

    Otherwise the work of a re-embedding that was given up is deleted.
    """
    recorded = await recorded_model(backend.database, settings.data)
    caller_embeds = own is not None and own.embedder is not None
    old = settings_of_old_model(settings, recorded) if settings.reembed and not caller_embeds else None
    if old is None:
        await ReembeddedDocuments(backend.database, backend.store).discard()
    return old


async def _memos(backend: SqliteBackend) -> Memos:
    extractions = SqliteVectorStore(backend.database, table=EXTRACTION_MEMO)
    await extractions.create()
    reports = SqliteVectorStore(backend.database, table=REPORT_MEMO)
    await reports.create()
    return Memos(SqliteVectorStore(backend.database), extractions, reports)


async def _check_model(database: SqliteDatabase, folder: Path, embedder: Embedder) -> None:
    """Raise Broken if the data folder has another embedding model: vectors of two models cannot be compared."""
    recorded = await recorded_model(database, folder)
    named = EmbeddingModel(embedder.name, embedder.dimensions)
    if recorded is not None and recorded.name != named.name:
        raise Broken(
            f"{folder} was embedded with {recorded.name}, and the settings name {named.name}: run graphtide reembed"
            f" --data {folder} to embed its documents again, set GRAPHTIDE_REEMBED=true to do it while the service"
            f" runs, or restore GRAPHTIDE_EMBEDDING_MODEL={setting_of(recorded.name)}"
        )
    if recorded is not None and recorded.dimensions and named.dimensions and recorded.dimensions != named.dimensions:
        raise Broken(
            f"the vectors in {folder} have {recorded.dimensions} dimensions, and {named.name} gives {named.dimensions}:"
            f" run graphtide reembed --data {folder} to embed its documents again"
        )
    model = replace(named, dimensions=named.dimensions or (recorded.dimensions if recorded else 0))
    if model != recorded or not is_file_current(folder, model.name):
        await record_model(database, folder, model)
