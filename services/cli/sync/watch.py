"""`sync --watch`: a pass after every change of the folder, until the user stops it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from watchfiles import Change, watch

from graphtide.services.cli.exit_codes import UNREACHABLE, CommandError
from graphtide.services.cli.sync.scan import IGNORE_FILE

RETRY_MS = 5_000


def watch_folder(folder: Path, pass_once: Callable[[], None], tell: Callable[[str], None]) -> None:
    """Call `pass_once` after every change. While the service is unreachable, retry every five seconds.

    The first pass comes at most five seconds after the watch began: it sees what changed before that.
    """
    failed, began = False, False
    changes = watch(folder, watch_filter=_is_visible(folder), rust_timeout=RETRY_MS, yield_on_timeout=True)
    for changed in changes:
        if began and not changed and not failed:
            continue
        began = True
        try:
            pass_once()
            failed = False
        except CommandError as error:
            if error.code != UNREACHABLE:
                raise
            if not failed:
                tell(f"graphtide: {error}; trying again every {RETRY_MS // 1000} s")
            failed = True


def _is_visible(folder: Path) -> Callable[[Change, str], bool]:
    """Return a filter that admits changes outside of hidden folders and files."""
    root = folder.resolve()

    def admits(_change: Change, path: str) -> bool:
        inside = Path(path)
        parts = inside.relative_to(root).parts if inside.is_relative_to(root) else inside.parts[-1:]
        return not any(part.startswith(".") and part != IGNORE_FILE for part in parts)

    return admits
