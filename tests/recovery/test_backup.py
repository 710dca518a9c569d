"""Backup and restore of a data folder: one state, whole or absent, under concurrent writes and kills."""

from __future__ import annotations

import asyncio
import itertools
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from graphtide.infra.backup_folder import MANIFEST, BackupManifest
from graphtide.infra.settings import Settings
from graphtide.infra.sqlite.administration.backup import backup, restore
from graphtide.infra.sqlite.folder_lock import DATABASE, FolderLock
from graphtide.services.application import QueryRequest
from graphtide.services.wiring import open_application
from graphtide.streams.errors import Broken
from tests.support.old_data import RECORDINGS
from tests.support.processes import service

OLD = RECORDINGS[-1]
GRAPH = "written"


async def _digests(folder: Path, model: str = "") -> dict[str, tuple[int, str]]:
    async with open_application(Settings(data=folder, embedding_model=model)) as application:
        found = {}
        for graph in await application.graphs():
            assert (await application.verify(graph)).differences == ()
            digest = await application.digest(graph)
            found[graph] = (digest.version, digest.digest)
        return found


def _states(manifest: BackupManifest) -> dict[str, tuple[int, str]]:
    return {graph: (state.version, state.digest) for graph, state in manifest.graphs.items()}


def test_backup_beside_a_writing_service_is_one_state(tmp_path: Path) -> None:
    """While documents stream in: the restored folder verifies, and has the digests that the manifest names."""
    stop, sent = threading.Event(), itertools.count(1)
    with service(tmp_path / "data") as running, httpx.Client(base_url=running.url, timeout=60) as client:

        def publish() -> None:
            while not stop.is_set():
                number = next(sent)
                facts = [{"subject": f"Person {number % 7}", "predicate": "met", "object": f"Person {number % 5}"}]
                body = {"text": f"Meeting {number}.", "facts": facts}
                client.put(f"/v1/graphs/{GRAPH}/documents/d{number % 40}", json=body).raise_for_status()

        publisher = threading.Thread(target=publish)
        publisher.start()
        try:
            manifests = []
            for number in range(3):
                while next(sent) < 40 * (number + 1):
                    stop.wait(0.05)
                manifests.append(backup(tmp_path / "data", tmp_path / f"backup-{number}"))
        finally:
            stop.set()
            publisher.join()
        last = client.get(f"/v1/graphs/{GRAPH}/digest").json()
    for number, manifest in enumerate(manifests):
        restore(tmp_path / f"backup-{number}", tmp_path / f"restored-{number}")
        connection = sqlite3.connect(tmp_path / f"restored-{number}" / DATABASE)
        with closing(connection):
            [pending] = connection.execute("SELECT count(*) FROM revisions WHERE state = 'accepted'").fetchone()
        found = asyncio.run(_digests(tmp_path / f"restored-{number}"))
        if not pending:
            assert found == _states(manifest)
        assert found[GRAPH][0] >= manifest.graphs[GRAPH].version
    assert manifests[0].graphs[GRAPH].version < manifests[-1].graphs[GRAPH].version <= last["version"]


async def test_restored_folder_equals_the_one_that_was_backed_up(tmp_path: Path) -> None:
    """All graphs are equal, digest by digest; files are private; the folder accepts further documents."""
    folder = OLD.unpack(tmp_path / "data")
    wanted = await _digests(folder, "hashing")
    manifest = backup(folder, tmp_path / "backup")
    restored = restore(tmp_path / "backup", tmp_path / "restored")
    assert restored == manifest and _states(manifest) == wanted == await _digests(tmp_path / "restored", "hashing")
    for path in (*(tmp_path / "backup").iterdir(), tmp_path / "restored" / DATABASE):
        assert path.stat().st_mode & 0o077 == 0, path
    assert (tmp_path / "backup").stat().st_mode & 0o077 == 0
    async with open_application(Settings(data=tmp_path / "restored", embedding_model="hashing")) as application:
        receipt = await application.delete("fixture", "ada")
        await application.query("fixture", QueryRequest("Ada?", after=receipt.token, generate=False))


def test_backup_and_restore_refuse_what_would_overwrite_data(tmp_path: Path) -> None:
    """Refused are a target that is not empty, a folder in use, and a folder with a database in it without --force."""
    folder = OLD.unpack(tmp_path / "data")
    backup(folder, tmp_path / "backup")
    with pytest.raises(Broken, match="not an empty folder"):
        backup(folder, tmp_path / "backup")
    with pytest.raises(Broken, match="--force"):
        restore(tmp_path / "backup", folder)
    lock = FolderLock(folder)
    with pytest.raises(Broken, match="in use by process"):
        restore(tmp_path / "backup", folder, force=True)
    lock.release()
    restore(tmp_path / "backup", folder, force=True)
    with pytest.raises(Broken, match="--data"):
        backup(tmp_path / "nothing", tmp_path / "other")


@pytest.mark.parametrize("name", [DATABASE, "embedding-model", MANIFEST])
def test_restore_refuses_a_backup_with_other_bytes(tmp_path: Path, name: str) -> None:
    """One flipped bit in any file: nothing is restored."""
    backup(OLD.unpack(tmp_path / "data"), tmp_path / "backup")
    path = tmp_path / "backup" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(Broken, match="backup"):
        restore(tmp_path / "backup", tmp_path / "restored")
    assert not (tmp_path / "restored" / DATABASE).exists()


def _child(action: str, source: Path, target: Path, step: int) -> int:
    command = [sys.executable, "-m", "tests.support.backup_child", action, str(source), str(target), str(step)]
    code = subprocess.run(command, check=False, capture_output=True, text=True)
    assert code.returncode in {0, -signal.SIGKILL}, code.stderr
    return code.returncode


def test_killed_backup_leaves_nothing_under_its_name(tmp_path: Path) -> None:
    """After kill -9 before each step the target is absent or whole, and the next backup to the same name succeeds."""
    folder = OLD.unpack(tmp_path / "data")
    for step in itertools.count(1):
        target = tmp_path / f"backup-{step}"
        if _child("backup", folder, target, step) == 0:
            break
        if target.exists():
            restore(target, tmp_path / f"restored-{step}")
        else:
            backup(folder, target)
        assert not list(tmp_path.glob(".*.part"))
    assert step > 4


async def test_killed_restore_leaves_the_old_data_or_the_new(tmp_path: Path) -> None:
    """After kill -9 before each step the folder opens with its old digests or with the backup's, and restores again."""
    folder = OLD.unpack(tmp_path / "old")
    before = await _digests(folder, "hashing")  # migrates the folder: backups of older schemas name no digests
    backup(folder, tmp_path / "backup-of-old")
    async with open_application(Settings(data=folder, embedding_model="hashing")) as application:
        receipt = await application.delete("fixture", "ada")
        await application.query("fixture", QueryRequest("Ada?", after=receipt.token, generate=False))
    after = _states(backup(folder, tmp_path / "backup-of-new"))
    assert before != after
    outcomes = set()
    for step in itertools.count(1):
        data = tmp_path / f"data-{step}"
        restore(tmp_path / "backup-of-old", data)
        code = _child("restore", tmp_path / "backup-of-new", data, step)
        found = await _digests(data, "hashing")
        assert found in (before, after)
        outcomes.add(found == after)
        if code == 0:
            break
    assert outcomes == {True, False} and found == after
