"""`sync --watch`: a pass after every change of a folder, or at intervals, until the user stops it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from watchfiles import Change, watch

from graphtide.services.cli.exit_codes import UNREACHABLE, CommandError
from graphtide.services.cli.sync.scan import IGNORE_FILE
from graphtide.services.cli.sync.tree import SourceUnavailableError

RETRY_MS = 5_000


def watch_folder(folder: Path, pass_once: Callable[[], None], tell: Callable[[str], None]) -> None:
    """Call `pass_once` after every change. While the service is unreachable, retry every five seconds.

    The first pass comes at most five seconds after the watch began: it sees what changed before that.
    """
    passes = _Passes(pass_once, tell, f"every {RETRY_MS // 1000} s")
    while True:
        _watch_this(folder, _identity(folder), passes)


def _watch_this(folder: Path, identity: tuple[int, int] | None, passes: _Passes) -> None:
    """Watch until another folder has this name, or none: the system reports nothing of it to this watch."""
    if identity is None:
        passes.run()
        time.sleep(RETRY_MS / 1_000)
        return
    began = False
    for changed in watch(folder, watch_filter=_is_visible(folder), rust_timeout=RETRY_MS, yield_on_timeout=True):
        if not began or changed or passes.failed:
            began = True
            passes.run()
        if _identity(folder) != identity:
            return


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what tells the folder from another one of its name, None without one."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if folder.is_dir() else None


def watch_by_polling(
    interval_s: float,
    pass_once: Callable[[], None],
    tell: Callable[[str], None],
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Call `pass_once` at intervals, measured from the end of one pass to the begin of the next one."""
    passes = _Passes(pass_once, tell, f"in {interval_s:g} s")
    while True:
        wait(interval_s)
        passes.run()


class _Passes:
    """Repeated passes. While the service or the source is unreachable, each repetition is tried again."""

    def __init__(self, pass_once: Callable[[], None], tell: Callable[[str], None], when: str) -> None:
        self._pass_once, self._tell, self._when = pass_once, tell, when
        self.failed = False

    def run(self) -> None:
        try:
            self._pass_once()
            self.failed = False
        except CommandError as error:
            if error.code != UNREACHABLE and not isinstance(error, SourceUnavailableError):
                raise
            if not self.failed:
                self._tell(f"graphtide: {error}; trying again {self._when}")
            self.failed = True


def _is_visible(folder: Path) -> Callable[[Change, str], bool]:
    """Return a filter that admits changes outside of hidden folders and files."""
    root = folder.resolve()

    def admits(_change: Change, path: str) -> bool:
        inside = Path(path)
        parts = inside.relative_to(root).parts if inside.is_relative_to(root) else inside.parts[-1:]
        return not any(part.startswith(".") and part != IGNORE_FILE for part in parts)

    return admits
