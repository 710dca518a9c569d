"""Backups of data folders that lost their database, or cannot be written to."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

import graphtide.sync
from graphtide.infra.settings import Settings
from graphtide.infra.sqlite.administration.backup import backup, restore
from graphtide.infra.sqlite.administration.source_file import reading
from graphtide.infra.sqlite.backend import SqliteBackend
from graphtide.infra.sqlite.folder_lock import DATABASE
from graphtide.services.wiring import open_application
from graphtide.streams.errors import Broken
from tests.recovery.test_full_disk import NAMESPACES, ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a data folder with one graph and its saved indexes."""
    with graphtide.sync.open(tmp_path / "data") as db:
        receipt = db.graph("g").add("a", "Ana Ruiz leads.", entities=[{"name": "Ana Ruiz"}], facts=[])
        db.graph("g").wait(receipt.token)
    assert (tmp_path / "data" / "indexes" / "g").is_dir()
    return tmp_path / "data"


async def _served(folder: Path) -> str:
    """Return the reason for which a service does not start on the folder."""
    with pytest.raises(Broken) as refused:
        async with open_application(Settings(data=folder)):
            pass
    return str(refused.value)


async def _empty(folder: Path) -> None:
    await (await SqliteBackend.open(folder)).close()


@pytest.mark.parametrize("is_initialised", [False, True])
def test_emptied_database_beside_indexes_is_not_backed_up(folder: Path, is_initialised: bool) -> None:
    """Neither a file of 0 bytes nor one with tables and no graph; a service refuses the same folder."""
    (folder / DATABASE).unlink()
    if is_initialised:
        asyncio.run(_empty(folder))
    else:
        (folder / DATABASE).touch()
    target = folder.parent / "backup"
    with pytest.raises(Broken, match="restore it from a backup") as refused:
        backup(folder, target)
    assert not target.exists() and list(folder.parent.glob(".*part*")) == []
    assert str(folder) in str(refused.value)
    assert "restore it from a backup" in asyncio.run(_served(folder))


def test_empty_file_alone_is_not_backed_up(tmp_path: Path) -> None:
    (tmp_path / DATABASE).touch()
    with pytest.raises(Broken, match="is empty: the database was lost, or no service has used the folder; restore"):
        backup(tmp_path, tmp_path.parent / "backup")


def test_folder_whose_graphs_were_deleted_is_backed_up(folder: Path) -> None:
    """Indexes that a deletion left are no sign of a lost database."""
    saved = folder.parent / "saved"
    shutil.copytree(folder / "indexes", saved)
    with graphtide.sync.open(folder) as db:
        db.delete_graph("g")
    shutil.rmtree(folder / "indexes", ignore_errors=True)
    shutil.copytree(saved, folder / "indexes")
    assert backup(folder, folder.parent / "backup").graphs == {}


@pytest.fixture(scope="module")
def mounted() -> Sequence[str]:
    """Return the prefix of a shell script that may mount a folder read-only in a namespace of its own."""
    for way in NAMESPACES:
        try:
            tried = [*way, "sh", "-c", "mount --bind /mnt /mnt && mount -o remount,ro,bind /mnt"]
            done = subprocess.run(tried, capture_output=True, text=True, timeout=60, check=False)
        except OSError:
            continue
        if not done.returncode:
            return way
    pytest.skip("nothing may be mounted here")


def _backup_read_only(mounted: Sequence[str], folder: Path, target: Path) -> subprocess.CompletedProcess[str]:
    script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    command = [sys.executable, "-m", "graphtide.services.cli", "backup", str(target), "--data", str(folder)]
    return subprocess.run(
        [*mounted, "sh", "-c", script, str(folder), *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_folder_mounted_read_only_is_backed_up(folder: Path, mounted: Sequence[str]) -> None:
    """The copy restores to the same graphs, and the folder has no other file afterwards."""
    before = sorted(path.name for path in folder.iterdir())
    done = _backup_read_only(mounted, folder, folder.parent / "backup")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before
    expected = backup(folder, folder.parent / "other").graphs
    assert restore(folder.parent / "backup", folder.parent / "restored").graphs == expected != {}


def test_folder_mounted_read_only_with_a_log_is_backed_up_while_the_service_runs(
    folder: Path, mounted: Sequence[str]
) -> None:
    """The files that SQLite needs beside the database are those of the service."""
    with graphtide.sync.open(folder) as db:
        receipt = db.graph("h").add("a", "Kenji Mori leads.", entities=[], facts=[])
        db.graph("h").wait(receipt.token)
        done = _backup_read_only(mounted, folder, folder.parent / "backup")
    assert done.returncode == 0, done.stderr
    assert set(restore(folder.parent / "backup", folder.parent / "restored").graphs) == {"g", "h"}


def test_log_of_a_killed_service_in_a_read_only_folder_is_refused_with_the_remedy(
    folder: Path, mounted: Sequence[str]
) -> None:
    """A copy of the file alone would lack the changes in the log."""
    copied = folder.parent / "copied"
    copied.mkdir()
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        connection.execute("CREATE TABLE later (x)")
        for suffix in ("", "-wal"):  # as a kill leaves them on another machine
            shutil.copy(folder / f"{DATABASE}{suffix}", copied / f"{DATABASE}{suffix}")
    done = _backup_read_only(mounted, copied, folder.parent / "backup")
    assert done.returncode != 0 and not (folder.parent / "backup").exists()
    message = " ".join(done.stderr.split())
    assert "cannot be written to" in message and "stop the service" in message and "copy of the folder" in message


def test_change_during_a_read_without_locks_is_detected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that only this process cannot write to may be changed by another one."""
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    with pytest.raises(Broken, match="was changed while it was read"), reading(folder / DATABASE) as uri:
        assert uri.endswith("immutable=1")
        with closing(sqlite3.connect(folder / DATABASE)) as connection:
            connection.execute("CREATE TABLE later (x)")
    with reading(folder / DATABASE) as uri:
        assert uri.endswith("immutable=1")
