"""The data folder, and the lock that excludes a second process."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from graphtide.infra.private_files import make_private_folder
from graphtide.streams.errors import Broken

DATABASE = "graphtide.sqlite"
LOCK = "graphtide.lock"
CONTENTS = ("graphtide.*", "embedding-model*", "indexes", "reembedding")
"""Content of a data folder. A folder named by mistake may hold other files, which stay unchanged."""


class FolderLock:
    """A lock held from construction to `release`, or to the end of the process, however it ends.

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
        # The holder's process id is for human readers: on a full disk, the database reports the error.
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Release the lock. The file stays: deleting it would admit two holders."""
        os.close(self._descriptor)
