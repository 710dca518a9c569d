"""The places of saved views and write models of a cluster process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from graphtide.infra.checkpoints.shared import SharedCheckpoints
from graphtide.infra.checkpoints.write_models import WriteModelArchives
from graphtide.infra.index_folder import IndexFolder
from graphtide.infra.object_store import UnusableStoreError
from graphtide.infra.private_files import make_private_folder
from graphtide.services.administration.maintenance import drop_deleted, drop_deleted_indexes
from graphtide.services.cluster.backing import Backing
from graphtide.services.cluster.roles.role import RoleDependencies
from graphtide.streams.checkpoints.model_checkpoints import ModelCheckpoints
from graphtide.streams.errors import GraphtideError
from graphtide.streams.ports import GraphStore
from graphtide.streams.retry import outcome_of

log = logging.getLogger("graphtide")

T = TypeVar("T")
SWEEP_EVERY_S = 600.0
"""Seconds after which a write model that another process has changed is deleted where it was saved."""


async def drop_outdated(indexes: IndexFolder, backing: Backing) -> None:
    """Delete what was saved of deleted graphs, and before the graph database was restored."""
    if history := await backing.history():
        await asyncio.to_thread(indexes.adopt, history)
    await drop_deleted_indexes(indexes, backing.store)


async def shared_checkpoints(tools: RoleDependencies) -> SharedCheckpoints | None:
    """Open the place of shared checkpoints, if the settings name one, and delete the copies of deleted graphs in it."""
    url, backing = tools.settings.checkpoints_url, tools.backing
    if not url:
        return None
    history = await backing.history()
    shared = await _opened("checkpoints are not shared", lambda: SharedCheckpoints(url, history))
    if shared is not None:
        await drop_deleted(await asyncio.to_thread(shared.graphs), shared.delete, backing.store)
    return shared


async def write_model_checkpoints(tools: RoleDependencies) -> ModelCheckpoints | None:
    """Open the place of saved write models: that of the settings, or a folder of the process. None if there is none."""
    url, history = tools.settings.checkpoints_url, await tools.backing.history()
    folder = tools.settings.data / "consolidate" / "checkpoints"

    def open_archives() -> WriteModelArchives:
        if not url:
            make_private_folder(folder)
        return WriteModelArchives(url or str(folder), history)

    archives = await _opened("write models are not saved", open_archives)
    return ModelCheckpoints(archives) if archives is not None else None


async def _opened(failed: str, open_place: Callable[[], T]) -> T | None:
    """Return the opened place; None, with a warning, if it cannot be opened: the graph database has everything."""
    try:
        return await asyncio.to_thread(open_place)
    except (OSError, UnusableStoreError) as error:
        log.warning("%s: %s", failed, error)
        return None


async def sweep_now_and_then(checkpoints: ModelCheckpoints, store: GraphStore) -> None:
    """Delete outdated write models at the start, and periodically. A failed sweep is repeated at the next interval."""
    while True:
        failure = await outcome_of(checkpoints.sweep(store))
        if isinstance(failure, Exception) and not isinstance(failure, GraphtideError):
            raise failure
        await asyncio.sleep(SWEEP_EVERY_S)
