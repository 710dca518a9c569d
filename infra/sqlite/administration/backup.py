"""Backup and restore of a data folder, by SQLite's backup interface.

A backup is read on a connection of its own, in one read transaction, while a service may be writing: in WAL mode
neither waits for the other, so no lock of the folder is needed. A restore takes the folder's lock.

Invariants: a backup is one state of log, ledger and graphs; a folder being restored holds, at every instant, its
previous database or the complete one of the backup.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from graphtide.graph.digest import digest
from graphtide.infra.backup_folder import (
    BackupManifest,
    GraphState,
    Progress,
    check_files,
    copy_private,
    read_manifest,
    seal,
    silent,
    writing,
)
from graphtide.infra.durable_files import to_disk
from graphtide.infra.index_folder import IndexFolder, check_indexes
from graphtide.infra.private_files import PRIVATE_FILE
from graphtide.infra.sqlite.administration.embedding_model import MODEL_FILE
from graphtide.infra.sqlite.administration.source_file import check_filled, open_failure, reading
from graphtide.infra.sqlite.connection import SCHEMA_VERSION, schema_version
from graphtide.infra.sqlite.folder_lock import DATABASE, FolderLock
from graphtide.infra.sqlite.graph_store import graphs, snapshot
from graphtide.streams.errors import Broken

KIND = "data folder"
INDEXES = "indexes"
SIDE_FILES = ("-wal", "-shm")
KEPT = (MODEL_FILE,)
"""Files of a data folder that are part of a backup, beside the database. Indexes are derived from it."""
STEP_PAGES = 1024
RESTORING = f"{DATABASE}.restoring"


def backup(folder: Path, target: Path, on_progress: Progress = silent) -> BackupManifest:
    """Write a backup of the data folder to `target`, which does not exist or is empty.

    Raises Broken, with `target` unchanged, also for a database that was emptied: as a service does, which then does not
    start. Cost: the file once, and each graph in memory once for its digest.
    """
    if not (folder / DATABASE).exists():
        raise Broken(f"{folder} holds no {DATABASE}: name the data folder with --data or GRAPHTIDE_DATA")
    try:
        with reading(folder / DATABASE) as uri:
            check_filled(uri, folder / DATABASE)
            schema = schema_version(folder / DATABASE, uri)
            with writing(target) as beside:
                copy_database(folder / DATABASE, beside / DATABASE, on_progress, uri)
                _check_indexes(folder, beside / DATABASE, schema)
                for name in KEPT:
                    if (folder / name).exists():
                        copy_private(folder / name, beside / name)
                return seal(beside, KIND, schema, _graphs(beside / DATABASE, schema, on_progress))
    except sqlite3.Error as error:
        raise open_failure(error, folder) from error


def _check_indexes(folder: Path, copied: Path, schema: int) -> None:
    """Raise Broken for a database without graphs beside saved indexes of some; not for an older schema."""
    if schema != SCHEMA_VERSION:
        return
    with closing(sqlite3.connect(f"{copied.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        deleted = {name for [name] in connection.execute(_DELETED)}
        saved = [graph for graph in IndexFolder(folder / INDEXES).saved() if graph not in deleted]
        check_indexes(folder, saved, graphs.existing(connection))


_DELETED = "SELECT name FROM deletions JOIN graphs USING (graph)"


def restore(source: Path, folder: Path, *, force: bool = False, on_progress: Progress = silent) -> BackupManifest:
    """Restore the backup `source` to the data folder. With `force`, replace the existing database.

    Raises Broken for a damaged backup, a folder in use, and, without `force`, one that holds a database.
    """
    manifest = read_manifest(source, KIND, SCHEMA_VERSION)
    if DATABASE not in manifest.files:
        raise Broken(f"the backup {source} holds no {DATABASE}: use another backup")
    check_files(source, manifest, on_progress)
    lock = FolderLock(folder)
    try:
        if (folder / DATABASE).exists() and not force:
            raise Broken(f"{folder} holds data: restore into another folder, or replace its data with --force")
        _replace(source, folder, manifest, on_progress)
    except OSError as error:
        raise Broken(f"the backup {source} cannot be restored to {folder}: {error.strerror or error}") from error
    finally:
        lock.release()
    return manifest


def copy_database(source: Path, target: Path, on_progress: Progress, uri: str = "") -> None:
    """Copy one state of a database to a new file, without a write-ahead log. Raises Broken for a damaged one.

    `uri` is that of `reading`, for a source in a folder that may be mounted read-only.
    """
    target.touch(PRIVATE_FILE)
    uri = uri or f"{source.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as read:
        read.execute("PRAGMA busy_timeout = 5000")
        # The read transaction pins one state: without it, every commit of the service would restart the copy.
        read.execute("BEGIN")
        read.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        with closing(sqlite3.connect(target, isolation_level=None)) as written:
            read.backup(
                written, pages=STEP_PAGES, progress=lambda _, left, total: on_progress("pages", total - left, total)
            )
            written.execute("PRAGMA journal_mode = DELETE")  # one file, without others beside it
            [found] = written.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise Broken(f"{source} is damaged ({found}): no backup was written; restore an earlier one")


def _graphs(path: Path, schema: int, on_progress: Progress) -> dict[str, GraphState]:
    """Return the digest of each graph in the copy; none for an older schema, whose rows this version does not read."""
    if schema != SCHEMA_VERSION:
        return {}
    found: dict[str, GraphState] = {}
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        names = graphs.existing(connection)
        for number, name in enumerate(names):
            on_progress("graphs digested", number, len(names))
            rows = snapshot.read(connection, name)
            found[name] = GraphState(rows.version, digest(rows))
    return found


def _replace(source: Path, folder: Path, manifest: BackupManifest, on_progress: Progress) -> None:
    """Copy the files of a backup to a locked folder.

    1 the new database under another name, on the disk; 2 the old one without its write-ahead log, and without indexes;
    3 the small files; 4 the new database by one rename.
    """
    fresh = folder / RESTORING
    on_progress("files restored", 0, len(manifest.files))
    copy_private(source / DATABASE, fresh)  # 1
    fold_log(folder / DATABASE)  # 2
    shutil.rmtree(folder / INDEXES, ignore_errors=True)
    for name in KEPT:  # 3
        if name in manifest.files:
            copy_private(source / name, folder / f"{name}.new")
            (folder / f"{name}.new").replace(folder / name)
    to_disk(folder)
    fresh.replace(folder / DATABASE)  # 4
    to_disk(folder)


def fold_log(path: Path) -> None:
    """Write the write-ahead log back, so that the old file is complete without it, and delete the files beside it."""
    if path.exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:  # a damaged one is replaced anyway
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for suffix in SIDE_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
