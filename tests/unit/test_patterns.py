"""Steps of every regular expression of the code: linear in the length of the text, whatever the text is.

`re` holds the interpreter's lock for as long as a search takes, so one ambiguous pattern and one crafted text stop the
whole process. Steps are counted, not timed: a busy machine changes nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.backtracking import Search, TooManySteps
from tests.support.pattern_scan import Found, attacks, other_engines, patterns

ROOT = Path(__file__).parents[2]
MAX_STEPS = 400_000
MAX_GROWTH = 2.5
"""Steps of a doubled text over those of the text: 2 when linear, 4 when quadratic."""
FIRST, LAST = 24, 1536
"""Characters of the shortest and longest texts. A bounded repetition looks quadratic until its bound is passed."""
MADE_AT_RUN_TIME: dict[str, str] = {
    "infra.models.local.static_embedder:compile": "a choice among the model's escaped special tokens: no repetition",
    "infra.models.openai.errors:sub": "the escaped key of the endpoint: no repetition",
}
"""Patterns that no scan can evaluate, and why each is safe."""

SHARES = 16
"""The number of tests among which the patterns are divided: collecting a test must not import every module."""


@cache
def found_patterns() -> tuple[Found, ...]:
    """Return all patterns that can be evaluated, and those that cannot."""
    return tuple(patterns(ROOT))


def share_of(share: int) -> list[tuple[Found, re.Pattern[Any]]]:
    """Return every SHARES-th pattern that can be evaluated."""
    evaluated = [(found, found.pattern) for found in found_patterns() if found.pattern is not None]
    assert len(evaluated) > SHARES
    return evaluated[share::SHARES]


@pytest.fixture(autouse=True)
def deep() -> Iterator[None]:
    """Raise the recursion limit: the matcher recurses with the text."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    yield
    sys.setrecursionlimit(before)


def growth(found: re.Pattern[str], method: str, attack: tuple[str, str, str], last: int = LAST) -> float:
    """Return the ratio of steps after doubling the text; infinity beyond the step limit."""
    search, (head, pump, tail) = Search(found, MAX_STEPS), attack

    def steps(size: int) -> int:
        search.scan(head + pump * max(1, size // len(pump)) + tail, method)
        return search.steps

    size = max(FIRST, 2 * len(pump))
    try:
        fewer, more = steps(size), steps(2 * size)
        while more > MAX_GROWTH * fewer and 2 * size < last:
            size *= 2
            fewer, more = more, steps(2 * size)
    except TooManySteps:
        return float("inf")
    return more / max(1, fewer)


def first_excess(pattern: re.Pattern[str], methods: frozenset[str]) -> tuple[float, str, tuple[str, str, str]] | None:
    """Return the first attack that grows too fast: its growth, method and text."""
    each = {"findall": "finditer", "sub": "finditer", "subn": "finditer", "split": "finditer"}
    tried = {each.get(method, method) for method in methods}
    ways = ((method, attack) for method in sorted(tried) for attack in attacks(Search(pattern, MAX_STEPS)))
    grown = ((growth(pattern, method, attack), method, attack) for method, attack in ways)
    return next((one for one in grown if one[0] > MAX_GROWTH), None)


@pytest.mark.thorough
@pytest.mark.parametrize("share", range(SHARES))
def test_pattern_takes_steps_in_proportion_to_any_text(share: int) -> None:
    """Doubling a text that was made to slow the pattern down at most doubles the steps."""
    excesses = {
        f"{found.where} {found.source}": first_excess(pattern, found.methods) for found, pattern in share_of(share)
    }
    slow = {where: excess for where, excess in excesses.items() if excess is not None}
    assert slow == {}, "growth, method and text of each slow pattern"


@pytest.mark.thorough
def test_scan_sees_every_engine_and_every_pattern() -> None:
    """No pattern is hidden by an alias, another engine, or run-time construction without a reason."""
    assert other_engines(ROOT) == []
    assert {found.where for found in found_patterns() if found.pattern is None} == set(MADE_AT_RUN_TIME)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\b(in|of) (all |all the |the )*(corpus|graph)\b", "search"),
        (r"(?:[\s.)]|\[[\d\s,;]*\]?)*$", "search"),
        (r"\s*-(?:\s*-)*\s*", "sub"),
        (r"\s+([,;])", "sub"),
        (r"\bbetween\b.+\band\b", "search"),
        (r"^#[ \t]+(.+?)[ \t]*#*[ \t]*$", "search"),
        (r"(a|b|ab)*c", "fullmatch"),
        (r"(a+)+$", "match"),
    ],
)
def test_attack_is_found_for_patterns_known_to_be_slow(pattern: str, method: str) -> None:
    """The attacks slow down exponential and quadratic patterns, most of them from earlier versions of this project."""
    assert first_excess(re.compile(pattern), frozenset({method})) is not None


@pytest.mark.thorough
@pytest.mark.parametrize("share", range(SHARES))
def test_counted_search_finds_what_re_finds(share: int) -> None:
    """The counter takes the same path through a pattern as `re` does, so its spans are the same."""
    for found, pattern in share_of(share):
        check_counted_search(found, pattern)


def check_counted_search(found: Found, pattern: re.Pattern[Any]) -> None:
    """Compare the spans of the counter with those of `re` on texts made from the pattern."""
    search = Search(pattern, 10 * MAX_STEPS)
    is_bytes = isinstance(pattern.pattern, bytes)
    for head, pump, tail in attacks(search)[::7]:
        text = head + pump * 3 + tail
        if is_bytes and not text.isascii():
            continue
        given: Any = text.encode() if is_bytes else text
        for method in ("search", "match", "fullmatch"):
            span = getattr(pattern, method)(given)
            assert search.scan(text, method) == ([span.span()] if span else []), (found.where, method, text)
