"""Copies of saved graphs in a folder or an object store that all replicas of a cluster reach, for new replicas.

A copy is one archive of a graph's saved indexes and rows, named by version and history of the graph database. A process
that can write to the place decides what replicas answer, as one that can write to the graph database does.

Invariant: an archive under its name is complete; what a replica extracts is checked as its own files are, and is used
only if it is of the history and version asked for.
"""

from __future__ import annotations

import logging
import re
import shutil
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from uuid import uuid4

from graphtide.infra.checkpoints.archives import AVOIDED_S, DAMAGES, open_place
from graphtide.infra.object_store import store_errors
from graphtide.infra.private_files import create_private_folder, make_private_file

log = logging.getLogger("graphtide.index")

KEPT = 2
"""Archives of a graph that are kept: a replica may be reading the older one."""
_SAVED = re.compile(r"view\.npz|(?:chunks|entities|statements)/(?:manifest\.json|[0-9a-f]{16}\.(?:vectors|ids))")
"""Files of a graph's folder that a copy has. No other member of an archive is extracted."""
_NAME = re.compile(r"([0-9]{20})-([0-9a-f]{1,64})\.zip")


@dataclass(frozen=True, slots=True)
class Copy:
    """An archive of a graph in the shared place."""

    path: str
    version: int
    history: str


class SharedCheckpoints:
    """The copies of a cluster. Blocking; failures are logged, and do nothing else."""

    def __init__(self, url: str, history: str) -> None:
        """Open the place: a URL that fsspec knows, or a folder. Raises UnusableStoreError and OSError."""
        self._files, self._root, self._shown = open_place(url)
        self._history = history
        self._avoided_until = 0.0

    def publish(self, folder: Path, graph: str, version: int) -> None:
        """Copy the saved files of a graph at that version, unless there is a copy that is as new."""
        part = f"{self._root}/{graph}/.{version:020d}-{uuid4().hex}.part"
        try:
            with store_errors():
                if any(copy.version >= version for copy in self._copies(graph)):
                    return
                with self._files.open(part, "wb") as file:
                    _write(file, folder)
                self._files.mv(part, f"{self._root}/{graph}/{version:020d}-{self._history}.zip")
                self._tidy(graph, version)
        except DAMAGES as error:
            log.warning("graph %s was not copied to %s: %s", graph, self._shown, error)

    def fetch(self, folder: Path, graph: str, oldest: int, newest: int) -> bool:
        """Replace `folder` by the newest copy of version `oldest` to `newest`. Returns False without one."""
        if time.monotonic() < self._avoided_until:
            return False
        beside = folder.parent.parent / f"{folder.parent.name}.fetched" / graph
        archive = beside.with_name(f"{graph}.zip")
        try:
            if not self._download(graph, oldest, newest, archive):
                return False
            shutil.rmtree(beside, ignore_errors=True)
            _extract(archive, beside)
            shutil.rmtree(folder, ignore_errors=True)
            create_private_folder(folder.parent)
            beside.rename(folder)
        except DAMAGES as error:
            shutil.rmtree(beside, ignore_errors=True)
            log.warning("graph %s was not copied from %s: %s", graph, self._shown, error)
            return False
        finally:
            archive.unlink(missing_ok=True)
        log.info("graph %s: its checkpoint was copied from %s", graph, self._shown)
        return True

    def _download(self, graph: str, oldest: int, newest: int, target: Path) -> bool:
        """Write the newest copy of these versions to `target`. Returns False without one. Raises OSError.

        After an error nothing is fetched for AVOIDED_S.
        """
        try:
            with store_errors():
                found = [copy for copy in self._copies(graph) if oldest <= copy.version <= newest]
                if not found:
                    return False
                create_private_folder(target.parent)
                make_private_file(target)
                self._files.get_file(max(found, key=lambda copy: copy.version).path, str(target))
                return True
        except FileNotFoundError:  # another replica has replaced it meanwhile
            raise
        except OSError:
            self._avoided_until = time.monotonic() + AVOIDED_S
            raise

    def delete(self, graph: str) -> None:
        """Delete every copy of a graph, of any history."""
        try:
            with store_errors():
                if self._exists(graph):
                    self._files.rm(f"{self._root}/{graph}", recursive=True)
        except DAMAGES as error:
            log.warning("the copies of graph %s in %s were not deleted: %s", graph, self._shown, error)

    def graphs(self) -> list[str]:
        """Return the graphs that have copies; none if the place cannot be reached. Names with a dot are no graphs."""
        try:
            with store_errors():
                return sorted(
                    {name for path in self._listed("") if not (name := path.rpartition("/")[2]).startswith(".")}
                )
        except DAMAGES as error:
            log.warning("%s cannot be listed: %s", self._shown, error)
            return []

    def _exists(self, graph: str) -> bool:
        return bool(self._listed(graph))

    def _listed(self, graph: str) -> list[str]:
        """Return the paths of what is under the folder of a graph, or under the place; none without the folder."""
        self._files.invalidate_cache()
        folder = f"{self._root}/{graph}".rstrip("/")
        try:
            found = self._files.ls(folder, detail=False)
        except FileNotFoundError:
            return []
        return [path.rstrip("/") for path in found if path.strip("/") != folder.strip("/")]

    def _copies(self, graph: str) -> Iterator[Copy]:
        """Yield the copies of this history."""
        for path in self._listed(graph):
            found = _NAME.fullmatch(path.rpartition("/")[2])
            if found is not None and found[2] == self._history:
                yield Copy(path, int(found[1]), found[2])

    def _tidy(self, graph: str, version: int) -> None:
        """Delete all but the newest copies, those of other histories, and what killed processes left of older ones."""
        kept = sorted(self._copies(graph), key=lambda copy: copy.version)[-KEPT:]
        names = {copy.path.rpartition("/")[2] for copy in kept}
        for path in self._listed(graph):
            name = path.rpartition("/")[2]
            is_unfinished = name.endswith(".part") and name[1:21] >= f"{version:020d}"
            if name not in names and not is_unfinished:
                self._files.rm_file(path)


def _write(file: IO[bytes], folder: Path) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and _SAVED.fullmatch(name):
                archive.write(path, name)


def _extract(file: Path, folder: Path) -> None:
    """Write the members of the archive as private files, comparing their checksums. Raises ValueError for others."""
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            if not _SAVED.fullmatch(name):
                raise ValueError(f"the archive has {name[:80]!r}, which is no saved file")
            path = folder / name
            create_private_folder(path.parent)
            make_private_file(path)
            with archive.open(name) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
