"""The port to a tree of files that `sync` follows: `LocalTree` here, `RemoteTree` in `remote.py`.

The invariant: a listing is complete or fails. No adapter returns a part of a folder after an error, because `sync`
deletes the documents of files that a listing does not show.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from graphtide.infra.files.types import UnreadableFileError
from graphtide.services.cli.exit_codes import FAILED, USAGE, CommandError

STATE_FOLDER = ".graphtide"


class SourceUnavailableError(CommandError):
    """The root of a tree cannot be listed, or is empty though files of it were published, as a mount that is missing:
    nothing was published or deleted. `--watch` tries again.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, FAILED)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file by its path relative to the root, with what shows a change without reading it.

    `etag` identifies the content where the store has such a value, else it is empty. `mtime_ns` is the time of the last
    change; in a folder that of the file's entry, too, so that another file of this name, size and time of content, such
    as from an archive, shows. 0 means unknown.
    """

    name: str
    size: int
    mtime_ns: int
    etag: str = ""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """An entry of a folder. `file` returns its details. Raises UnreadableFileError with the reason, and OSError.

    `linked_folder` tells that it is a link to a folder: it is neither a folder nor a file to read.
    """

    name: str
    is_folder: bool
    file: Callable[[], FoundFile]
    linked_folder: bool = False


class FileTree(Protocol):
    """A tree of files. Names are relative to the root and separated by slashes; the root is the empty name."""

    @property
    def shown(self) -> str:
        """Return the name of the tree for messages, without credentials."""
        ...

    @property
    def origin(self) -> str:
        """Return the prefix of the sources of its documents: a source is this, a slash and the file's name."""
        ...

    def state_file(self, key: str) -> Path:
        """Return the path of the record of what was published; `key` identifies service and graph."""
        ...

    def entries(self, folder: str) -> Sequence[TreeEntry]:
        """Return all entries of a folder. Raises OSError when the listing fails or is incomplete."""
        ...

    def has(self, name: str) -> bool:
        """Return False only if the tree states that it contains no file of that name. Raises OSError."""
        ...

    def read(self, name: str, size: int) -> bytes:
        """Return the content of a file that was listed with `size` bytes. Raises OSError."""
        ...


class LocalTree:
    """A folder of this machine. Links to files within it are followed, links to folders are not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._root = folder.resolve()

    @property
    def shown(self) -> str:
        return str(self.folder)

    @property
    def origin(self) -> str:
        return self._root.name

    def state_file(self, key: str) -> Path:
        return self.folder / STATE_FOLDER / f"sync-{key}.json"

    def entries(self, folder: str) -> Sequence[TreeEntry]:
        with os.scandir(self.folder / folder) as found:
            return [
                TreeEntry(
                    each.name,
                    each.is_dir(follow_symlinks=False),
                    partial(self._file, Path(each.path)),
                    _is_folder_link(each),
                )
                for each in found
            ]

    def has(self, name: str) -> bool:
        try:
            (self.folder / name).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def read(self, name: str, size: int) -> bytes:
        return (self.folder / name).read_bytes()

    def _file(self, path: Path) -> FoundFile:
        status = path.stat()
        if path.is_symlink() and not path.resolve().is_relative_to(self._root):
            raise UnreadableFileError("is a link to a file outside of the folder; copy the file")
        if not path.is_file():
            raise UnreadableFileError("is not a regular file")
        return FoundFile(
            path.relative_to(self.folder).as_posix(), status.st_size, max(status.st_mtime_ns, status.st_ctime_ns)
        )


def _is_folder_link(entry: os.DirEntry[str]) -> bool:
    """Return whether the entry is a link to a folder; False for a link that cannot be followed, such as to itself."""
    try:
        return entry.is_symlink() and entry.is_dir()
    except OSError:
        return False


def state_folder() -> Path:
    """Return the user's folder for records of what was published, apart from the sources. Raises CommandError."""
    try:
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "graphtide"
    except RuntimeError as error:  # a container may run as a user whom it does not know
        raise CommandError("this user has no home folder; set XDG_STATE_HOME to a folder for records") from error


def open_tree(place: str) -> FileTree:
    """Return the tree that a command names: a folder, or a URL of fsspec. Raises CommandError."""
    if "://" not in place:
        return _local(Path(place))
    if place.startswith(("file://", "local://")):
        from urllib.request import url2pathname

        return _local(Path(url2pathname(place.partition("://")[2])))
    from graphtide.services.cli.sync.remote import open_remote

    return open_remote(place)


def _local(folder: Path) -> LocalTree:
    if not folder.is_dir():
        raise CommandError(f"{folder} is not a folder; name a folder, or a URL such as s3://bucket/notes", USAGE)
    return LocalTree(folder)
