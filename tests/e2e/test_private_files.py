"""The permissions of stored files: owner only, whatever the umask and an older version's permissions."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphtide.infra.settings import Settings
from graphtide.infra.sqlite import SqliteBackend
from graphtide.services.wiring import open_application
from graphtide.streams.messages import DocumentMessage


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """Yield with a umask that removes no permission."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[Path]:
    """Return the files that another user could read, if the folder around them let him."""
    return [path for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077]


def names_in(folder: Path) -> set[str]:
    """Return the names of the folder's content."""
    return {path.name for path in folder.iterdir()}


def leave_open(folder: Path, file: str) -> None:
    """Create a file in the folder, and make all of its content readable for every user."""
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(b"")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


async def test_data_folder_is_private_whatever_the_umask(tmp_path: Path) -> None:
    """Database, write-ahead log, lock, model and indexes are private, while the service runs and afterwards."""
    folder = tmp_path / "data"
    async with open_application(Settings(data=folder)) as application:
        receipt = await application.publish([DocumentMessage("notes", "a", "Ada met Bob in Paris.")])
        assert receipt.accepted == 1
        assert {"graphtide.sqlite", "graphtide.sqlite-wal", "graphtide.lock", "embedding-model"} <= names_in(folder)
        assert open_to_others(folder) == []
    assert open_to_others(folder) == []


async def test_reopened_folder_with_saved_indexes_has_nothing_to_tighten(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Folders that are created on the way to another one are private, too: no warning at any later start."""
    folder = tmp_path / "new" / "data"
    for number in range(3):
        async with open_application(Settings(data=folder)) as application:
            receipt = await application.publish([DocumentMessage("notes", f"d{number}", "Ada met Bob in Paris.")])
            assert (await application.token_state("notes", receipt.token, 60.0)).reached
        assert (folder / "indexes" / "notes").is_dir()
        assert open_to_others(tmp_path / "new") == []
    assert "accessible" not in caplog.text


async def test_data_folder_of_an_older_version_is_tightened(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """There is one warning; a second start has none."""
    for expected in (1, 0):
        if expected:
            await (await SqliteBackend.open(tmp_path)).close()
            leave_open(tmp_path, "indexes/notes/vectors")
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            await (await SqliteBackend.open(tmp_path)).close()
        assert sum("they are now private" in record.getMessage() for record in caplog.records) == expected
        assert open_to_others(tmp_path) == []


async def test_folder_that_holds_other_things_keeps_its_permissions(tmp_path: Path) -> None:
    """In a data folder named by mistake, such as a home, only this project's files become private."""
    leave_open(tmp_path, "notes.txt")
    await (await SqliteBackend.open(tmp_path)).close()
    assert sorted(path.name for path in open_to_others(tmp_path)) == sorted([tmp_path.name, "notes.txt"])
