"""Search of many names in many texts at once: the places (indices of texts) that contain each name.

The names are sorted, so the names that begin at a position of a text are the sorted predecessor of the text there and
its prefixes among the names. Every name links to its longest proper prefix that is also a name, and to a more distant
one (skew-binary jump pointers, Myers 1983), so finding the longest name at a position takes logarithmic time. When a
text is known to contain a name, it is known to contain the prefixes of the name, which are not visited again.

Cost: O((n + t) log n) for n characters of names and t of texts, however the names repeat and overlap.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

HEAD_CHARS = 4
DIRECT_STEPS = 2_000_000
"""Number of names times characters up to which searching name by name is faster."""


MAX_PLACES = 2_000_000
"""Maximum number of (name, text) pairs that are held in memory."""


class TooManyPlacesError(ValueError):
    """More than MAX_PLACES pairs of a name and a text that contains it."""


def places_of(names: Iterable[str], texts: Sequence[str]) -> dict[str, list[int]]:
    """Return the indices of the texts that contain each name, ascending. Names must not be empty.

    Raises TooManyPlacesError.
    """
    distinct = sorted(set(names))
    if len(distinct) * sum(map(len, texts)) <= DIRECT_STEPS:
        return {name: [place for place, text in enumerate(texts) if name in text] for name in distinct}
    return _NameIndex(distinct).places(texts)


class _NameIndex:
    """Sorted names, with the links between names and their prefixes."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._longest = max(map(len, names), default=0)
        self._heads = {name[:HEAD_CHARS] for name in names if len(name) >= HEAD_CHARS}
        self._short = {name for name in names if len(name) < HEAD_CHARS}
        self._parent = [-1] * len(names)
        self._jump = [-1] * len(names)
        self._depth = [0] * len(names)
        self._link()

    def _link(self) -> None:
        open_prefixes: list[int] = []
        for number, name in enumerate(self._names):
            while open_prefixes and not name.startswith(self._names[open_prefixes[-1]]):
                open_prefixes.pop()
            if open_prefixes:
                self._link_to(number, open_prefixes[-1])
            open_prefixes.append(number)

    def _link_to(self, number: int, parent: int) -> None:
        self._parent[number] = parent
        self._depth[number] = self._depth[parent] + 1
        jump = self._jump[parent]
        if jump >= 0 and self._depth[parent] - self._depth[jump] == self._depth[jump] - self._jump_depth(jump):
            self._jump[number] = self._jump[jump]
        else:
            self._jump[number] = parent

    def _jump_depth(self, number: int) -> int:
        return self._depth[self._jump[number]] if self._jump[number] >= 0 else -1

    def places(self, texts: Sequence[str]) -> dict[str, list[int]]:
        found: list[list[int]] = [[] for _ in self._names]
        left = MAX_PLACES
        for place, text in enumerate(texts):
            for at in range(len(text)):
                if text[at : at + HEAD_CHARS] in self._heads or self._begins_short(text, at):
                    left -= self._note(text, at, place, found)
            if left < 0:
                raise TooManyPlacesError(f"the names occur in more than {MAX_PLACES} places")
        return dict(zip(self._names, found, strict=True))

    def _begins_short(self, text: str, at: int) -> bool:
        return bool(self._short) and any(text[at : at + size] in self._short for size in range(1, HEAD_CHARS))

    def _note(self, text: str, at: int, place: int, found: list[list[int]]) -> int:
        """Note the names that begin at `at`, the longest first, up to one that is noted already; return how many."""
        number, noted = self._longest_at(text, at), 0
        while number >= 0 and (not found[number] or found[number][-1] != place):
            found[number].append(place)
            number = self._parent[number]
            noted += 1
        return noted

    def _longest_at(self, text: str, at: int) -> int:
        """Return the longest name that begins at `at`; -1 for none."""
        names, number = self._names, bisect_right(self._names, text[at : at + self._longest]) - 1
        while number >= 0 and not text.startswith(names[number], at):
            jump = self._jump[number]
            beyond = jump < 0 or text.startswith(names[jump], at)
            number = self._parent[number] if beyond else jump
        return number
