"""The sources that a watched folder skips, from pass to pass: each is reported when it is skipped first, or for another
reason, and once when it is readable again. A line of records is one source wherever it is in its file.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from graphtide.services.cli.sources import Unreadable
from graphtide.services.cli.sync.types import SyncResult


@dataclass(frozen=True, slots=True)
class SkippedNews:
    """The difference of a pass to the one before it: what is newly skipped, and the files that are readable again."""

    skipped: tuple[Unreadable, ...]
    readable: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.skipped or self.readable)


class SkippedSources:
    """The sources that the last complete pass skipped."""

    def __init__(self) -> None:
        self._last: tuple[Unreadable, ...] = ()

    def take(self, done: SyncResult) -> SkippedNews:
        """Return what a complete pass changes, and remember it. A file that was deleted is not readable again; one
        with records is so once all of them are.
        """
        before, now = self._last, tuple(dict.fromkeys(done.skipped))
        self._last = now
        still = {_source(each.name, done.listed) for each in now}
        readable = dict.fromkeys(_source(each.name, done.listed) for each in before)
        named = Counter(_identity(each, done.listed) for each in before)
        named.subtract(_identity(each, done.listed) for each in now if each in before)
        return SkippedNews(
            tuple(each for each in now if each not in before and not _take(named, _identity(each, done.listed))),
            tuple(name for name in readable if name not in still and name in done.listed),
        )


def _identity(each: Unreadable, listed: frozenset[str]) -> tuple[str, str]:
    """Return what a skipped source is known by: a line by its file and content, as its number may change."""
    return (_source(each.name, listed), each.content) if each.content else (each.name, each.reason)


def _take(named: Counter[tuple[str, str]], identity: tuple[str, str]) -> bool:
    """Return whether one of these was named and is left, and take it."""
    if named[identity] <= 0:
        return False
    named[identity] -= 1
    return True


def _source(name: str, listed: frozenset[str]) -> str:
    """Return the name of the file of a skipped record, such as `a.jsonl:3`, else the name itself."""
    file, _, number = name.rpartition(":")
    return file if name not in listed and number.isdecimal() and file in listed else name
