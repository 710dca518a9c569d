"""Permissions of what this project stores: folders for their owner alone (0700), files likewise (0600).

They hold documents, so the invariant does not depend on the umask: what is new is made so, and what an earlier version
left open is tightened when it is opened, with one warning.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISVTX

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_OTHERS = 0o077
_log = logging.getLogger("graphtide")


def make_private_folder(folder: Path, contents: tuple[str, ...] = ("*",), owned: bool = True) -> None:
    """Make the folder where it is missing, and it and what `contents` match in it private. Raises OSError if it cannot
    be made.

    Without `owned` a folder that was there keeps its permissions: it may be shared with others. What belongs to another
    user keeps them, too, with a warning. Cost: a look at each file.
    """
    made = not folder.exists()
    folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    found = list(_open_to_others(folder, contents, owned or made))
    kept = [path for path in found if not _tighten(path)]
    if made:
        return
    if len(found) > len(kept):
        many = len(found) - len(kept)
        _log.warning("%s: %d files or folders could be reached by other users; now their owner alone can", folder, many)
    if kept:
        _log.warning(
            "%s: %d files or folders, such as %s, can be reached by others and belong to another user; run "
            "chmod as that one",
            folder,
            len(kept),
            kept[0],
        )


def make_private_file(path: Path) -> None:
    """Make the file, empty, where it is missing, and private. Raises OSError."""
    path.touch(PRIVATE_FILE)
    path.chmod(PRIVATE_FILE)


def _open_to_others(folder: Path, contents: tuple[str, ...], owned: bool) -> Iterator[Path]:
    matching = [path for pattern in contents for path in folder.glob(pattern)]
    inner = [path for top in matching if top.is_dir() and not top.is_symlink() for path in top.rglob("*")]
    for path in (*([folder] if owned else ()), *matching, *inner):
        try:
            mode = path.lstat().st_mode
        except OSError:
            continue
        if not S_ISLNK(mode) and S_IMODE(mode) & _OTHERS and not mode & S_ISVTX:  # such as /tmp
            yield path


def _tighten(path: Path) -> bool:
    try:
        path.chmod(PRIVATE_FOLDER if S_ISDIR(path.lstat().st_mode) else PRIVATE_FILE)
    except OSError:
        return False
    return True


def make_new_files_private() -> None:
    """Make every file that this process creates private, those of libraries too."""
    os.umask(_OTHERS)
