"""Freshness observed by a replica: the time until queries see a document, in any order of notices."""

from __future__ import annotations

import pytest

from graphtide.streams.follow.freshness import ACCEPTED, MAX_TIMES, Freshness, accepted, accepted_in

NOW_S = 1_000.0


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """Return what was observed, with a stopped clock."""
    monkeypatch.setattr("graphtide.streams.follow.freshness.time.time", lambda: NOW_S)
    return []


def fresh(seen: list[tuple[str, float]]) -> Freshness:
    return Freshness(lambda graph, seconds: seen.append((graph, seconds)))


def test_version_is_observed_once_when_it_is_shown(seen: list[tuple[str, float]]) -> None:
    """Not when it is announced, and not again when that is repeated; each of its revisions by itself."""
    one = fresh(seen)
    one.announced("g", 1, accepted([999_000, 998_500]))
    one.announced("h", 1, accepted([990_000]))
    one.shown("g", 0)
    assert not seen
    one.shown("g", 1)
    assert sorted(seen) == [("g", 1.0), ("g", 1.5)]
    one.announced("g", 1, accepted([999_000, 998_500]))
    one.shown("g", 1)
    one.shown("h", 1)
    assert seen[2:] == [("h", 10.0)]


def test_snapshot_makes_all_versions_up_to_it_queryable(seen: list[tuple[str, float]]) -> None:
    """Those that were announced, when it is shown; those whose notices come later, when these come."""
    one = fresh(seen)
    one.announced("g", 3, accepted([999_000]))
    one.announced("g", 4, accepted([998_000]))
    one.shown("g", 5)
    assert [seconds for _, seconds in seen] == [1.0, 2.0]
    one.announced("g", 5, accepted([997_000]))
    one.shown("g", 5)
    assert [seconds for _, seconds in seen[2:]] == [3.0]


def test_what_stood_at_the_start_is_not_observed(seen: list[tuple[str, float]]) -> None:
    """No query could reach this process before, and a replay of old notices is not a slow document."""
    one = fresh(seen)
    one.begin({"g": 7})
    for version in (5, 7, 8):
        one.announced("g", version, accepted([version * 100_000]))
        one.shown("g", max(7, version))
    assert seen == [("g", 200.0)]


@pytest.mark.parametrize(
    "value", [b"", b"x", b"1,", b"-5", b"1.5", b"9" * 16, b",".join([b"1"] * (MAX_TIMES + 1)), "\u0661".encode()]
)
def test_header_that_no_writer_wrote_says_nothing(value: bytes) -> None:
    """Nor does a notice without one, as all were before there was the header."""
    assert accepted_in(((ACCEPTED, value),)) == () == accepted_in((("traceparent", b"00"),))


def test_header_holds_the_newest_and_no_more_than_its_bound() -> None:
    """Unknown times are left out; without a known time there is no header."""
    assert accepted_in(accepted([0, 5, 3])) == (3, 5)
    assert accepted_in(accepted(range(1_000, 1_000 + 2 * MAX_TIMES))) == tuple(
        range(1_000 + MAX_TIMES, 1_000 + 2 * MAX_TIMES)
    )
    assert accepted([]) == accepted([0]) == ()


def test_clock_that_is_behind_is_no_negative_time(seen: list[tuple[str, float]]) -> None:
    """The broker's clock may be ahead of this machine's."""
    one = fresh(seen)
    one.announced("g", 1, accepted([int(NOW_S * 1000) + 60_000]))
    one.shown("g", 1)
    assert seen == [("g", 0.0)]
