"""The doctor's check of the database file: the errors with which `graphtide serve` would refuse it.

The invariant: the file is opened read-only, and no lock of the data folder is taken, so a running service is not
disturbed. SQLite may leave an empty write-ahead log beside the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from graphtide.infra.index_folder import IndexFolder, check_indexes
from graphtide.infra.settings import Settings
from graphtide.infra.sqlite.connection import schema_version
from graphtide.infra.sqlite.errors import failure
from graphtide.infra.sqlite.folder_lock import DATABASE
from graphtide.services.doctor import DoctorFinding
from graphtide.streams.errors import Broken

_CURE = "unless the message names another remedy, restore a backup: graphtide restore DIR --force (docs/operating.md)"


def database_findings(settings: Settings) -> Iterator[DoctorFinding]:
    """Yield the error of a database file that is damaged, foreign, of a newer schema, or empty beside saved indexes."""
    if settings.names_cluster:
        return
    try:
        _check_file(settings)
    except Broken as error:
        yield DoctorFinding("database", str(error), "the service does not start", _CURE)


def _check_file(settings: Settings) -> None:
    path = settings.data / DATABASE
    try:
        version = schema_version(path)
    except sqlite3.Error as error:
        problem = failure(error)
        if isinstance(problem, Broken):
            raise Broken(f"{path}: {problem}") from error
        return  # locked for a moment: the service waits for it, too
    if not version:
        check_indexes(settings.data, IndexFolder(settings.data / "indexes").saved(), {})
