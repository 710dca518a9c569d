"""Configuration files that are read again after a change, without a restart.

Each use checks the files; nothing watches them. The invariant: the last valid version stays in use until a newer valid
one replaces it; `problem` holds the reason why a newer version was refused.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from graphtide.infra.private_files import restrict_open_file
from graphtide.streams.errors import Broken

T = TypeVar("T")
_Stamps = tuple[tuple[int, int, int], ...]
_log = logging.getLogger("graphtide.access")

MAX_BYTES = 16 << 20


class Watched(Generic[T]):
    """The parsed value of a set of files. Raises Broken at construction when `load` does.

    Thread-safe: gRPC reads it from its own threads.
    """

    def __init__(self, paths: Sequence[Path], load: Callable[[], T]) -> None:
        self._paths = tuple(paths)
        self._load = load
        self._turn = threading.Lock()
        self._stamps = self._look()
        self._value = load()
        self._refusal = ""
        """The error of `load` for the files with these stamps."""
        self._reported = ""

    def value(self) -> T:
        """Return the current value. Cost: one stat per file (about 2 µs), and a read after a change."""
        with self._turn:
            self._refresh()
            return self._value

    @property
    def problem(self) -> str:
        """Return why the newest files are not in use, "" when they are. Checks the files as `value` does."""
        with self._turn:
            return self._refresh()

    def _refresh(self) -> str:
        try:
            stamps = self._look()
        except Broken as error:
            return self._tell(str(error))
        if stamps != self._stamps:
            self._stamps = stamps
            self._refusal = self._read()
        return self._tell(self._refusal)

    def _read(self) -> str:
        try:
            self._value = self._load()
        except Broken as error:
            return str(error)
        _log.info("read %s again after a change", ", ".join(map(str, self._paths)))
        return ""

    def _tell(self, problem: str) -> str:
        """Log a new problem once; return it."""
        if problem and problem != self._reported:
            _log.error("%s; the previous version stays in use until the file is corrected", problem)
        self._reported = problem
        return problem

    def _look(self) -> _Stamps:
        return tuple(_stamp(path) for path in self._paths)


class WatchedFile(Watched[T]):
    """One text file; `read` receives its text and its path, and raises Broken for invalid content.

    `forbidden` are the permissions of other users that are removed when the file is read.
    """

    def __init__(self, path: Path, read: Callable[[str, str], T], forbidden: int) -> None:
        super().__init__((path,), lambda: read(_text(path, forbidden), str(path)))


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise Broken(f"{path} cannot be read: {error.strerror}") from None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _text(path: Path, forbidden: int) -> str:
    try:
        return read_bytes(path, forbidden).decode()
    except UnicodeDecodeError:
        raise Broken(f"{path} is not UTF-8 text") from None


def read_bytes(path: Path, forbidden: int = 0) -> bytes:
    """Return at most the first MAX_BYTES of a file. Raises Broken. Removes the `forbidden` permissions from it."""
    try:
        with path.open("rb") as opened:
            restrict_open_file(opened.fileno(), path, forbidden)
            return opened.read(MAX_BYTES)
    except OSError as error:
        raise Broken(f"{path} cannot be read: {error.strerror}") from None
