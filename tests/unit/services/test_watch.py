"""`sync --watch`: which changes start a pass, and a folder that another one replaces."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import pytest

from graphtide.services.cli.sync import watch
from graphtide.services.cli.sync.tree import SourceUnavailableError

TIMEOUT_S = 60
GONE = ["gone"]


class EndedError(Exception):
    """The last pass of a test."""


def passes_over(folder: Path, seen: Queue[list[str]]) -> Callable[[], None]:
    """Return a pass that tells the names in the folder, and ends the watch at `end.md`."""

    def pass_once() -> None:
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else GONE
        seen.put(names)
        if "end.md" in names:
            raise EndedError
        if names == GONE:
            raise SourceUnavailableError("the folder cannot be listed")

    return pass_once


def test_folder_that_is_removed_and_created_again_is_watched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system reports nothing of the new folder to a watch of the old one."""
    monkeypatch.setattr(watch, "RETRY_MS", 50)
    folder, seen, messages = tmp_path / "notes", Queue[list[str]](), list[str]()
    folder.mkdir()
    (folder / "a.md").write_text("x")
    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch.watch_folder, folder, passes_over(folder, seen), messages.append)
        assert seen.get(timeout=TIMEOUT_S) == ["a.md"]
        shutil.rmtree(folder)
        while seen.get(timeout=TIMEOUT_S) != GONE:
            pass
        folder.mkdir()
        while seen.get(timeout=TIMEOUT_S) != []:
            pass
        (folder / "end.md").write_text("x")
        assert isinstance(watching.exception(timeout=TIMEOUT_S), EndedError)
    assert len(messages) == 1 and "trying again" in messages[0]
