"""Files that are read again when they have changed, without a restart. Not a watcher: it looks when it is asked.

The invariant: what was read last and was right stays in force until something right takes its place; `problem` says
why the newer one did not.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from graphtide.streams.errors import Broken

T = TypeVar("T")
_Stamps = tuple[tuple[int, int, int], ...]
_log = logging.getLogger("graphtide.access")

MAX_BYTES = 16 << 20


class Watched(Generic[T]):
    """The meaning of some files together. Raises Broken at construction when `load` does.

    Several threads may ask: gRPC does so from its own.
    """

    def __init__(self, paths: Sequence[Path], load: Callable[[], T]) -> None:
        self._paths = tuple(paths)
        self._load = load
        self._turn = threading.Lock()
        self._stamps = self._look()
        self._value = load()
        self._refusal = ""
        """What `load` says against the files with these stamps."""
        self._told = ""

    def value(self) -> T:
        """What the files say now. A look at their times each call (about 2 µs a file), a reading when they moved."""
        with self._turn:
            self._refresh()
            return self._value

    @property
    def problem(self) -> str:
        """Why the newest files are not in force, "" when they are. As new as `value`."""
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
        _log.info("%s: read again", ", ".join(map(str, self._paths)))
        return ""

    def _tell(self, problem: str) -> str:
        """Log what is wrong, once for as long as it is."""
        if problem and problem != self._told:
            _log.error("%s; what was read before stays in force", problem)
        self._told = problem
        return problem

    def _look(self) -> _Stamps:
        return tuple(_stamp(path) for path in self._paths)


class WatchedFile(Watched[T]):
    """One file of text; `read` is given it and its place, and raises Broken for what it refuses."""

    def __init__(self, path: Path, read: Callable[[str, str], T]) -> None:
        super().__init__((path,), lambda: read(_text(path), str(path)))


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        held = path.stat()
    except OSError as error:
        raise Broken(f"{path} cannot be read: {error.strerror}") from None
    return held.st_mtime_ns, held.st_ino, held.st_size


def _text(path: Path) -> str:
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError:
        raise Broken(f"{path} is not text") from None


def read_bytes(path: Path) -> bytes:
    """No more than MAX_BYTES of a file. Raises Broken."""
    try:
        with path.open("rb") as opened:
            return opened.read(MAX_BYTES)
    except OSError as error:
        raise Broken(f"{path} cannot be read: {error.strerror}") from None
