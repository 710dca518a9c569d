"""The data folder, and the lock that keeps a second process out of it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from graphtide.infra.private_files import make_private_folder
from graphtide.streams.errors import Broken

DATABASE = "graphtide.sqlite"
LOCK = "graphtide.lock"
CONTENTS = ("graphtide.*", "embedding-model*", "indexes")
"""What a data folder holds: a folder that is named by mistake may hold more, which is left alone."""


class FolderLock:
    """Held from construction to `release`, or to the end of the process, however it ends.

    Raises Broken when another holder, in this process or another, has it, or when the folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        try:
            ours = (folder / DATABASE).exists() or not (folder.exists() and any(folder.iterdir()))
            make_private_folder(folder, CONTENTS, owned=ours)
            self._descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Broken(f"the data folder {folder} cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(self._descriptor, 20).decode(errors="replace").strip() or "?"
            os.close(self._descriptor)
            raise Broken(
                f"the data folder {folder} is in use by process {holder}: stop it, or choose another folder"
            ) from error
        # Whose it is, is for people to read: where a full disk has no room for it, the database is to say so.
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another holder in. The file stays: deleting it would let two in."""
        os.close(self._descriptor)
