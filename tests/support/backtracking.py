"""A step counter for regular expressions: the backtracking search of `re`, in Python, one step per element tried.

`re` reports no steps, and times on a busy machine prove no growth. This matcher walks the parse tree of `re` itself and
tries the same alternatives in the same order, so its counts grow as the work of `re` does. Invariant: it finds the same
spans as `re` (tests/unit/test_patterns.py compares them).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from re import _constants as c  # type: ignore[attr-defined,unused-ignore]
from re import _parser as parser  # type: ignore[attr-defined,unused-ignore]
from typing import Any

Continue = Callable[[int], bool]
Node = tuple[Any, Any]
_CHARACTERS = (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN)


class TooManySteps(Exception):  # noqa: N818 -- a count that was reached
    """The error raised when a search exceeds its limit of steps."""


class UnsupportedError(NotImplementedError):
    """The error raised for a pattern with an element that this matcher does not support: extend the matcher."""


class Search:
    """A counted search of one pattern in texts."""

    def __init__(self, pattern: re.Pattern[Any], max_steps: int) -> None:
        self.tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE if _is_bytes(pattern) else pattern.flags)
        self._flags = pattern.flags
        self._is_bytes = _is_bytes(pattern)
        self._max_steps = max_steps
        self._text: Sequence[int] = ()
        self._end = -1
        self.steps = 0
        self._whole = False
        self._match = self._sequence(list(self.tree), self._accept)

    def scan(self, text: str, method: str) -> list[tuple[int, int]]:
        """Return the spans that a method of `re.Pattern` finds, and leave the steps it took in `steps`."""
        self._text, self.steps = [ord(each) for each in text], 0
        self._whole = method == "fullmatch"
        if method in ("match", "fullmatch"):
            return [(0, self._end)] if self._match(0) else []
        found: list[tuple[int, int]] = []
        at = 0
        while at <= len(text):
            self._step()
            if not self._match(at):
                at += 1
                continue
            found.append((at, self._end))
            if method == "search":
                break
            at = self._end if self._end > at else at + 1
        return found

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self._max_steps:
            raise TooManySteps

    def _accept(self, at: int) -> bool:
        if self._whole and at != len(self._text):
            return False
        self._end = at
        return True

    def _sequence(self, nodes: Sequence[Node], then: Continue) -> Continue:
        for node in reversed(nodes):
            then = self._node(node, then)
        return then

    def _node(self, node: Node, then: Continue) -> Continue:  # noqa: PLR0911 -- one line for each kind
        kind, value = node
        if kind in _CHARACTERS:
            return self._character(self.fits(node), then)
        if kind is c.AT:
            return self._assertion(self._place(value), then)
        if kind is c.SUBPATTERN:
            return self._sequence(list(value[3]), then)
        if kind is c.BRANCH:
            return self._branch([(self._first(list(each)), self._sequence(list(each), then)) for each in value[1]])
        if kind in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
            return self._repeat(kind, value, then)
        if kind is c.ATOMIC_GROUP:
            return self._atomic(list(value), then)
        if kind in (c.ASSERT, c.ASSERT_NOT):
            return self._look(kind is c.ASSERT, value, then)
        raise UnsupportedError(f"{kind} in {self.tree}")

    def _character(self, fits: Callable[[int], bool], then: Continue) -> Continue:
        def match(at: int) -> bool:
            self._step()
            return at < len(self._text) and fits(self._text[at]) and then(at + 1)

        return match

    def _assertion(self, holds: Callable[[int], bool], then: Continue) -> Continue:
        def match(at: int) -> bool:
            self._step()
            return holds(at) and then(at)

        return match

    def _first(self, nodes: Sequence[Node]) -> Callable[[int], bool] | None:
        """Return the possible first characters, when every match of the nodes begins with one character."""
        return self.fits(nodes[0]) if nodes and nodes[0][0] in _CHARACTERS else None

    def _branch(self, branches: Sequence[tuple[Callable[[int], bool] | None, Continue]]) -> Continue:
        """Try the alternatives that can begin here, as `re` does; -1 denotes the end of the text."""
        branches_of: dict[int, list[Continue]] = {}

        def match(at: int) -> bool:
            self._step()
            one = self._text[at] if at < len(self._text) else -1
            if one not in branches_of:
                branches_of[one] = [then for first, then in branches if first is None or (one >= 0 and first(one))]
            return any(then(at) for then in branches_of[one])

        return match

    def _alone(self, nodes: Sequence[Node]) -> Callable[[int], int]:
        """Return a function that returns the end of the nodes' first match, or -1, and tries no other."""
        ends: list[int] = []

        def reach(at: int) -> bool:
            ends.append(at)
            return True

        inner = self._sequence(nodes, reach)

        def match(at: int) -> int:
            return ends.pop() if inner(at) else -1

        return match

    def _atomic(self, nodes: Sequence[Node], then: Continue) -> Continue:
        inner = self._alone(nodes)

        def match(at: int) -> bool:
            end = inner(at)
            return end >= 0 and then(end)

        return match

    def _look(self, wanted: bool, value: Any, then: Continue) -> Continue:
        direction, nodes = value
        inner, width = self._alone(list(nodes)), nodes.getwidth()[0] if direction < 0 else 0

        def match(at: int) -> bool:
            self._step()
            return (at >= width and inner(at - width) >= 0) is wanted and then(at)

        return match

    def _repeat(self, kind: Any, value: Any, then: Continue) -> Continue:
        minimum, maximum, nodes = value
        body = list(nodes)
        if kind is c.POSSESSIVE_REPEAT:
            return self._possessive(self._alone(body), minimum, maximum, then)
        if len(body) == 1 and body[0][0] in _CHARACTERS:
            return self._run(kind is c.MAX_REPEAT, self.fits(body[0]), minimum, maximum, then)
        return self._group(kind is c.MAX_REPEAT, body, minimum, maximum, then)

    def _possessive(self, inner: Callable[[int], int], minimum: int, maximum: int, then: Continue) -> Continue:
        def match(at: int) -> bool:
            count = 0
            while count < maximum and (end := inner(at)) >= 0:
                count += 1
                if end == at:
                    count = max(count, minimum)
                    break
                at = end
            return count >= minimum and then(at)

        return match

    def _run(self, greedy: bool, fits: Callable[[int], bool], minimum: int, maximum: int, then: Continue) -> Continue:
        def reach(at: int, until: int) -> int:
            while at < until and fits(self._text[at]):
                self._step()
                at += 1
            return at

        def match(at: int) -> bool:
            last = min(len(self._text), at + int(maximum))
            first = reach(at, min(last, at + minimum))
            if first < at + minimum:
                return False
            if greedy:
                return any(then(end) for end in range(reach(first, last), first - 1, -1))
            while not then(first):
                if first == last or not fits(self._text[first]):
                    return False
                self._step()
                first += 1
            return True

        return match

    def _group(self, greedy: bool, body: Sequence[Node], minimum: int, maximum: int, then: Continue) -> Continue:
        """Count repetitions on a stack, so that the one compiled body can be re-entered."""
        stack: list[tuple[int, int]] = []

        def again(at: int) -> bool:
            count, began = stack[-1]
            if at == began and count >= minimum:
                return False
            stack.append((count + 1, at))
            try:
                return enter(at)
            finally:
                stack.pop()

        inner = self._sequence(body, again)

        def leave(at: int) -> bool:
            before = stack.copy()
            stack.pop()
            try:
                return then(at)
            finally:
                stack[:] = before

        def enter(at: int) -> bool:
            self._step()
            count = stack[-1][0]
            if count < minimum:
                return inner(at)
            options = (inner, leave) if greedy else (leave, inner)
            return any(option(at) for option in options if option is leave or count < maximum)

        def match(at: int) -> bool:
            stack.append((0, -1))
            try:
                return enter(at)
            finally:
                stack.pop()

        return match

    def _place(self, code: Any) -> Callable[[int], bool]:
        lines = bool(self._flags & re.MULTILINE)
        if code in (c.AT_BEGINNING, c.AT_BEGINNING_STRING):
            return lambda at: at == 0 or (lines and code is c.AT_BEGINNING and self._text[at - 1] == 10)
        if code is c.AT_END_STRING:
            return lambda at: at == len(self._text)
        if code is c.AT_END:
            return lambda at: at == len(self._text) or (self._text[at] == 10 and (lines or at + 1 == len(self._text)))
        if code in (c.AT_BOUNDARY, c.AT_NON_BOUNDARY):
            return lambda at: (self._word(at - 1) != self._word(at)) is (code is c.AT_BOUNDARY)
        raise UnsupportedError(str(code))

    def _word(self, at: int) -> bool:
        return 0 <= at < len(self._text) and self.category(c.CATEGORY_WORD, self._text[at])

    def category(self, code: Any, one: int) -> bool:
        r"""Return whether a character belongs to a category such as `\w`."""
        char, plain = chr(one), self._is_bytes or bool(self._flags & re.ASCII)
        name = str(code).removeprefix("CATEGORY_")
        kind = name.removeprefix("NOT_")
        if plain and one > 127:
            belongs = False
        elif kind == "WORD":
            belongs = char.isalnum() or char == "_"
        elif kind == "DIGIT":
            belongs = unicodedata.category(char) == "Nd"
        elif kind == "SPACE":
            belongs = char.isspace() and not (plain and 28 <= one <= 31)
        else:
            raise UnsupportedError(str(code))
        return belongs is (kind == name)

    def fits(self, node: Node) -> Callable[[int], bool]:
        """Return whether a node of one character matches the character."""
        known: dict[int, bool] = {}

        def fits(one: int) -> bool:
            if one not in known:
                known[one] = any(self._plainly_fits(node, variant) for variant in self._variants(one))
            return known[one]

        return fits

    def _variants(self, one: int) -> Iterable[int]:
        if not self._flags & re.IGNORECASE:
            return (one,)
        char = chr(one)
        return {ord(form) for form in (char, char.lower(), char.upper()) if len(form) == 1}

    def _plainly_fits(self, node: Node, one: int) -> bool:
        kind, value = node
        if kind is c.LITERAL:
            return bool(one == value)
        if kind is c.NOT_LITERAL:
            return bool(one != value)
        if kind is c.ANY:
            return one != 10 or bool(self._flags & re.DOTALL)
        negated = value[0][0] is c.NEGATE
        return any(self._item(item, one) for item in value[negated:]) is not negated

    def _item(self, item: Node, one: int) -> bool:
        kind, value = item
        if kind is c.LITERAL:
            return bool(one == value)
        if kind is c.RANGE:
            return bool(value[0] <= one <= value[1])
        return self.category(value, one)


def _is_bytes(pattern: re.Pattern[Any]) -> bool:
    return isinstance(pattern.pattern, bytes)
