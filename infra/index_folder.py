"""Storage of the vector indexes of a graph's view between runs: one folder per graph, one snapshot per index.

The indexes are derived state. A snapshot that is missing, damaged or of other parameters is ignored with a warning, and
the view fills an empty index from the store; an older one is brought up to date by row versions.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from graphtide.graph.vector_index import VectorIndex
from graphtide.graph.view import IndexVersions, VectorIndexes
from graphtide.infra.hnsw import HnswIndex, HnswParameters, IndexDamaged, IndexNotSaved
from graphtide.infra.hnsw.snapshot import MANIFEST, Snapshot
from graphtide.infra.private_files import make_private_file, make_private_folder
from graphtide.infra.settings import Settings
from graphtide.streams.errors import Broken

log = logging.getLogger("graphtide.index")

HISTORY = ".history"
"""The file with the history of the graph database that everything was saved in. No graph has such a name."""
KINDS = ("chunks", "entities", "statements")


def hnsw_parameters(settings: Settings) -> HnswParameters:
    """Return the parameters of the settings. A saved index of another M or ef_construction is built anew."""
    return HnswParameters(settings.hnsw_m, settings.hnsw_ef_construction, settings.hnsw_ef)


def check_indexes(folder: Path, saved: Sequence[str], stored: Mapping[str, int]) -> None:
    """Raise Broken for saved indexes with a database without graphs: they belong to another database."""
    if saved and not stored:
        raise Broken(
            f"the database in {folder} holds no graph, but {folder / 'indexes'} holds indexes of {', '.join(saved[:5])}"
            ": the database was lost or replaced; restore it from a backup,"
            f" or remove {folder / 'indexes'} to start with an empty graph"
        )


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
        for kind, index in _by_kind(indexes).items():
            try:
                index.save(self._folder / graph / kind, version)
            except IndexNotSaved as error:
                log.warning("the %s index of graph %s was not saved: %s", kind, graph, error)

    def compact(self, indexes: VectorIndexes) -> None:
        """See IndexKeeper.compact."""
        for index in _by_kind(indexes).values():
            index.compact()

    def saved(self) -> list[str]:
        """Return the graphs with saved indexes."""
        return sorted({manifest.parent.parent.name for manifest in self._folder.glob(f"*/*/{MANIFEST}")})

    def adopt(self, history: str) -> None:
        """Note the history of the graph database, and delete what was saved of another one: from before a restore.

        In another history the same version of a graph may have other rows. Raises OSError.
        """
        file = self._folder / HISTORY
        saved = file.read_text(encoding="utf-8") if file.exists() else history
        if saved != history:
            log.warning("the graph database was restored: the indexes and rows saved in %s are deleted", self._folder)
            shutil.rmtree(self._folder)
        if not file.exists():
            make_private_folder(self._folder, contents=())
            make_private_file(file)
            file.write_text(history, encoding="utf-8")

    def drop(self, graph: str) -> None:
        """Delete what was saved of a graph whose internal numbers have changed their meaning, checkpoint included."""
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
