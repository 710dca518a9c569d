"""Storage of the vector indexes of a graph's view between runs: one folder per graph, one snapshot per index.

The indexes are derived state. A snapshot that is missing, damaged or of other parameters is ignored with a warning, and
the view fills an empty index from the store; an older one is brought up to date by row versions. An index that searches
exactly, because it is small, has no snapshot.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from graphtide.graph.vector_index import VectorIndex
from graphtide.graph.view import IndexVersions, VectorIndexes
from graphtide.infra.hnsw import HnswIndex, HnswParameters, IndexDamaged
from graphtide.infra.hnsw.snapshot import Snapshot
from graphtide.infra.private_files import make_private_folder
from graphtide.infra.settings import Settings

log = logging.getLogger("graphtide.index")

KINDS = ("chunks", "entities", "statements")


def hnsw_parameters(settings: Settings) -> HnswParameters:
    """Return the parameters of the settings. A saved index of another M or ef_construction is built anew."""
    return HnswParameters(settings.hnsw_m, settings.hnsw_ef_construction, settings.hnsw_ef)


class IndexFolder:
    """The `IndexKeeper` of hnswlib indexes under one data folder."""

    def __init__(self, folder: Path, parameters: HnswParameters | None = None) -> None:
        self._folder = folder
        self._parameters = parameters or HnswParameters()

    def open(self, graph: str, dimensions: int, version: int) -> tuple[VectorIndexes, IndexVersions]:
        opened = {kind: self._open(self._folder / graph / kind, dimensions, version) for kind in KINDS}
        indexes = VectorIndexes(*(opened[kind][0] for kind in KINDS))
        return indexes, IndexVersions(*(opened[kind][1] for kind in KINDS))

    def _open(self, folder: Path, dimensions: int, version: int) -> tuple[HnswIndex, int]:
        if version and folder.exists():
            try:
                saved = Snapshot(folder, dimensions, self._parameters).version()
                if saved <= version:
                    return HnswIndex.load(folder, dimensions, saved, self._parameters), saved
                log.warning("%s is of version %d, newer than the graph's %d", folder, saved, version)
            except IndexDamaged as error:
                log.warning("%s; the index is built anew from the store", error)
        return HnswIndex(dimensions, self._parameters), 0

    def save(self, graph: str, indexes: VectorIndexes, version: int) -> None:
        """See IndexKeeper.save. Of a graph whose indexes have no links, the folder alone is made.

        A start fills those indexes from the rows that it reads anyway, so a process with many small graphs ends soon.
        """
        for kind, index in _by_kind(indexes).items():
            try:
                make_private_folder(self._folder / graph)  # the graph was here, see `saved`
                self._save(self._folder / graph / kind, index, version)
            except OSError as error:
                log.warning("the %s index of graph %s was not saved: %s", kind, graph, error)

    @staticmethod
    def _save(folder: Path, index: HnswIndex, version: int) -> None:
        if index.statistics().kind == "hnsw":
            index.save(folder, version)
        else:
            shutil.rmtree(folder, ignore_errors=True)  # of the time when it was larger

    def compact(self, indexes: VectorIndexes) -> None:
        """See IndexKeeper.compact."""
        for index in _by_kind(indexes).values():
            index.compact()

    def saved(self) -> list[str]:
        """Return the graphs whose indexes were saved, also those that need no files."""
        return sorted(folder.name for folder in self._folder.glob("*") if folder.is_dir())

    def drop(self, graph: str) -> None:
        """Delete the saved indexes of a graph whose internal numbers have changed their meaning."""
        shutil.rmtree(self._folder / graph, ignore_errors=True)

    def close(self, indexes: VectorIndexes) -> None:
        for index in _by_kind(indexes).values():
            index.close()


def _by_kind(indexes: VectorIndexes) -> dict[str, HnswIndex]:
    found: dict[str, HnswIndex] = {}
    for kind in KINDS:
        index: VectorIndex = getattr(indexes, kind)
        if not isinstance(index, HnswIndex):
            raise TypeError(f"the {kind} index was not opened here")
        found[kind] = index
    return found
