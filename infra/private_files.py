"""Permissions of stored files: folders (0700) and files (0600) are accessible to their owner alone.

The files of keys and secrets that an operator names are restricted when they are read.
They hold documents, so the invariant does not depend on the umask: new ones are created private, and those that an
earlier version left open are made private when they are opened, with one warning.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG, S_ISVTX

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_OTHERS = 0o077
READERS, WRITERS = 0o077, 0o022
"""Permissions of other users that a file must not grant: one with a secret, and one that decides who may call."""
_log = logging.getLogger("graphtide")


def make_private_folder(folder: Path, contents: tuple[str, ...] = ("*",), owned: bool = True) -> None:
    """Create the folder if it is missing, and make it and the matches of `contents` private. Raises OSError.

    Without `owned` an existing folder keeps its permissions: it may be shared with others. Files of another user also
    keep theirs, with a warning. Cost: one stat per file.
    """
    made = not folder.exists()
    create_private_folder(folder)
    found = list(_open_to_others(folder, contents, owned or made))
    kept = [path for path in found if not _tighten(path)]
    if made:
        return
    if len(found) > len(kept):
        many = len(found) - len(kept)
        _log.warning("%s: %d files or folders were accessible to other users; they are now private", folder, many)
    if kept:
        _log.warning(
            "%s: %d files or folders, such as %s, are accessible to others and belong to another user; run "
            "chmod as that user",
            folder,
            len(kept),
            kept[0],
        )


def create_private_folder(folder: Path) -> None:
    """Create the folder and its missing parents, all private. Existing ones keep their permissions. Raises OSError.

    `Path.mkdir` gives its mode to the last folder alone, and the permissions of the umask to the parents.
    """
    missing = [each for each in folder.parents if not each.exists()]
    for each in (*reversed(missing), folder):
        each.mkdir(PRIVATE_FOLDER, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Create the file, empty, if it is missing, and make it private. Raises OSError."""
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


def restrict_open_file(opened: int, path: Path, forbidden: int) -> None:
    """Remove the `forbidden` permissions from the open file, with a warning.

    A file of another user keeps its permissions, and there is a warning unless only its group may read it: this process
    may read it as a member of the group.
    """
    status = os.fstat(opened)
    excess = S_IMODE(status.st_mode) & forbidden
    if not excess or not S_ISREG(status.st_mode):
        return
    if not _restrict(opened, S_IMODE(status.st_mode) & ~forbidden):
        if excess & ~0o040:
            _log.warning("%s: other users may %s; run chmod go= as its owner", path, _described(excess))
        return
    _log.warning("%s: other users could %s; it is now restricted to its owner", path, _described(excess))


def _restrict(opened: int, mode: int) -> bool:
    try:
        os.fchmod(opened, mode)
    except OSError:
        return False
    return True


def _described(excess: int) -> str:
    return "change it" if excess & WRITERS else "read it"


def make_new_files_private() -> None:
    """Make every file that this process creates private, including those of libraries."""
    os.umask(_OTHERS)
