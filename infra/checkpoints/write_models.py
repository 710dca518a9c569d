"""Storage of the columns of write models: an uncompressed archive of NumPy arrays per graph, in a folder or an object
store.

The place is the process's own, or one that all writers of the cluster reach: a graph may be continued by another
process than the one that saved it. Names contain the version and the history of the graph database.

Invariant: an archive under its name is complete, and has a checksum of each array.
"""

from __future__ import annotations

import logging
import re
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.checkpoints.archives import AVOIDED_S, DAMAGES, open_place, read_array
from graphtide.infra.object_store import store_errors
from graphtide.streams.checkpoints.columns import Columns
from graphtide.streams.checkpoints.ports import SavedModel

log = logging.getLogger("graphtide.streams")

T = TypeVar("T")
FOLDER = ".write-models"
"""The folder in the place. No graph has a name with a leading dot."""
UNFINISHED_S = 3_600.0
"""Age in seconds from which an unfinished archive is one that a killed process left."""
_MODEL_NAME = re.compile(r"([A-Za-z0-9_.-]{1,64})\.([0-9]{20})\.([0-9a-f]{0,64})\.npz")
_PART_NAME = re.compile(r"([0-9]{1,15})-[0-9a-f]{32}\.part")


class WriteModelArchives:
    """The `ModelKeeper` of a place. Failures are logged, and do nothing else."""

    def __init__(self, url: str, history: str) -> None:
        """Open the place: a URL that fsspec knows, or a folder. Raises UnusableStoreError and OSError."""
        self._files, root, self._shown = open_place(url)
        self._root = f"{root}/{FOLDER}"
        self._history = history
        self._avoided_until = 0.0

    def save(self, graph: str, version: int, columns: Iterable[tuple[str, NDArray[Any]]]) -> bool:
        """See ModelKeeper.save."""
        failed = f"the write model of graph {graph} is not saved"
        return self._reached(failed, partial(self._write, graph, version, columns)) is not None

    def take(self, graph: str, version: int) -> Columns | None:
        """See ModelKeeper.take."""
        path = self._path(graph, version)
        failed = f"the write model of graph {graph} is restored from the store"
        file = self._reached(failed, partial(self._opened, path))
        if file is None:
            return None
        try:
            with store_errors(), file, zipfile.ZipFile(file) as archive:
                return {name.removesuffix(".npy"): read_array(archive, name) for name in archive.namelist()}
        except DAMAGES as error:
            log.warning("%s: %s in %s is damaged: %s", failed, path.rpartition("/")[2], self._shown, error)
            return None
        finally:
            self._reached("a saved write model stays", partial(self._remove, path))

    def saved(self) -> Sequence[SavedModel]:
        """See ModelKeeper.saved."""
        return self._reached("saved write models are not listed", lambda: list(self._found())) or ()

    def delete(self, models: Iterable[SavedModel]) -> None:
        """See ModelKeeper.delete."""
        for model in models:
            self._reached("a saved write model stays", partial(self._remove, f"{self._root}/{model.name}"))

    def _reached(self, failed: str, work: Callable[[], T]) -> T | None:
        """Return the result of work in the place; None after a failure, which is logged, and for AVOIDED_S after it."""
        if time.monotonic() < self._avoided_until:
            return None
        try:
            with store_errors():
                return work()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._avoided_until = time.monotonic() + AVOIDED_S
            log.warning("%s: %s: %s", failed, self._shown, error)
            return None

    def _write(self, graph: str, version: int, columns: Iterable[tuple[str, NDArray[Any]]]) -> bool:
        part = f"{self._root}/{time.time():.0f}-{uuid4().hex}.part"
        try:
            with self._files.open(part, "wb") as file, zipfile.ZipFile(file, "w") as archive:
                for name, column in columns:
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, column, allow_pickle=False)
            self._files.mv(part, self._path(graph, version))
        except BaseException as error:
            with suppress(Exception):
                self._files.rm_file(part)
            if isinstance(error, FileNotFoundError):  # the place itself, such as the bucket
                raise OSError(str(error)) from error
            raise
        return True

    def _opened(self, path: str) -> Any:
        self._files.invalidate_cache()
        return self._files.open(path, "rb")

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._files.rm_file(path)

    def _found(self) -> Iterator[SavedModel]:
        self._files.invalidate_cache()
        for path in self._files.ls(self._root, detail=False):
            name = path.rstrip("/").rpartition("/")[2]
            if (model := _MODEL_NAME.fullmatch(name)) is not None:
                yield SavedModel(model[1], int(model[2]), name, model[3] == self._history)
            elif (part := _PART_NAME.fullmatch(name)) is not None and time.time() - int(part[1]) > UNFINISHED_S:
                yield SavedModel("", 0, name, is_current=False)

    def _path(self, graph: str, version: int) -> str:
        return f"{self._root}/{graph}.{version:020d}.{self._history}.npz"
