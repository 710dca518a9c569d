"""Storage of the columns of views: one uncompressed archive of NumPy arrays per graph, beside its saved indexes.

Invariant: an archive is complete, or it is not there: one rename replaces it after its bytes are on disk, and the
archive has a checksum of each array.
"""

from __future__ import annotations

import logging
import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from graphtide.infra.checkpoints.archives import DAMAGES, read_array
from graphtide.infra.checkpoints.shared import SharedCheckpoints
from graphtide.infra.durable_files import to_disk
from graphtide.infra.private_files import create_private_folder, make_private_file
from graphtide.streams.checkpoints.columns import Columns
from graphtide.streams.checkpoints.ports import HEADER

log = logging.getLogger("graphtide.index")

FILE = "view.npz"
T = TypeVar("T")


class CheckpointFolder:
    """The `CheckpointKeeper` of the folder of an IndexFolder, which deletes a graph's checkpoint with its indexes.

    `shared` has copies for new replicas; None: there are none.
    """

    def __init__(self, folder: Path, shared: SharedCheckpoints | None = None) -> None:
        self._folder = folder
        self._shared = shared

    def save(self, graph: str, columns: Columns) -> None:
        """See CheckpointKeeper.save."""
        arrays: dict[str, Any] = dict(columns)
        folder = self._folder / graph
        temporary = folder / "view.tmp"
        try:
            create_private_folder(folder)
            make_private_file(temporary)
            with temporary.open("wb") as file:
                np.savez(file, **arrays)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(folder / FILE)
            to_disk(folder)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            log.warning("the checkpoint of graph %s was not saved: %s", graph, error)

    def header(self, graph: str) -> bytes | None:
        """See CheckpointKeeper.header."""
        return self._read(graph, lambda archive: read_array(archive, f"{HEADER}.npy").tobytes())

    def load(self, graph: str) -> Columns | None:
        """See CheckpointKeeper.load."""
        return self._read(
            graph,
            lambda archive: {name.removesuffix(".npy"): read_array(archive, name) for name in archive.namelist()},
        )

    def delete(self, graph: str) -> None:
        """See CheckpointKeeper.delete."""
        try:
            (self._folder / graph / FILE).unlink(missing_ok=True)
        except OSError as error:
            log.warning("the checkpoint of graph %s was not deleted: %s", graph, error)

    def publish(self, graph: str, version: int) -> None:
        """See CheckpointKeeper.publish."""
        if self._shared is not None and (self._folder / graph / FILE).exists():
            self._shared.publish(self._folder / graph, graph, version)

    def fetch(self, graph: str, oldest: int, newest: int) -> bool:
        """See CheckpointKeeper.fetch."""
        return self._shared is not None and self._shared.fetch(self._folder / graph, graph, oldest, newest)

    def forget(self, graph: str) -> None:
        """See CheckpointKeeper.forget."""
        self.delete(graph)
        if self._shared is not None:
            self._shared.delete(graph)

    def _read(self, graph: str, read: Callable[[zipfile.ZipFile], T]) -> T | None:
        path = self._folder / graph / FILE
        try:
            with zipfile.ZipFile(path) as archive:
                return read(archive)
        except FileNotFoundError:
            return None
        except DAMAGES as error:
            log.warning("%s cannot be read: %s; the graph is loaded from the store", path, error)
            return None
