"""A file that is read again when it has changed, without a restart. Not a watcher: it looks when it is asked.

The invariant: what was read last and was right stays in force until something right takes its place; `problem` says
why the newer one did not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from streams.errors import Broken

T = TypeVar("T")
_Stamp = tuple[int, int, int]
_log = logging.getLogger("graphtide.access")

MAX_BYTES = 16 << 20


class WatchedFile(Generic[T]):
    """The meaning of a file. Raises Broken at construction when it cannot be read or `read` refuses it."""

    def __init__(self, path: Path, read: Callable[[str, str], T]) -> None:
        self._path = path
        self._read = read
        self._stamp = self._look()
        self._value = self._load()
        self.problem = ""

    def value(self) -> T:
        """What the file says now. A look at its times each call (about 2 µs), a reading only when they moved."""
        try:
            stamp = self._look()
            if stamp != self._stamp:
                self._stamp = stamp
                self._value = self._load()
                _log.info("%s was read again", self._path)
            elif not self.problem.startswith("cannot"):
                return self._value
            self.problem = ""
        except Broken as error:
            self._complain(str(error))
        return self._value

    def _complain(self, problem: str) -> None:
        if problem != self.problem:
            _log.error("%s; what it said before stays in force", problem)
        self.problem = problem

    def _look(self) -> _Stamp:
        try:
            held = self._path.stat()
        except OSError as error:
            raise Broken(f"{self._path} cannot be read: {error.strerror}") from None
        return held.st_mtime_ns, held.st_ino, held.st_size

    def _load(self) -> T:
        try:
            with self._path.open("rb") as opened:
                text = opened.read(MAX_BYTES).decode()
        except OSError as error:
            raise Broken(f"{self._path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise Broken(f"{self._path} is not text") from None
        return self._read(text, str(self._path))
