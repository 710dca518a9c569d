"""Libraries that repeat themselves: what is new is said at once, what repeats now and then, with a count."""

from __future__ import annotations

import logging

from graphtide.infra.observability.log_dedup import EVERY_S, MOST, Repetitions


def said(filter_: Repetitions, at_s: float, text: str, name: str = "aiokafka") -> str | None:
    """The text as it is written, or None when it is left out."""
    record = logging.LogRecord(name, logging.ERROR, "", 0, "%s", (text,), None)
    record.created = at_s
    return record.getMessage() if filter_.filter(record) else None


def test_repetition_is_said_once_in_a_while_with_how_often_it_was_not() -> None:
    """Of a thousand lines in a second one; after the time another, that counts them; other words are not held back."""
    one = Repetitions("graphtide")
    assert [said(one, number / 1000, "refused") for number in range(1000)] == ["refused"] + [None] * 999
    assert said(one, 1.0, "something else") == "something else"
    assert said(one, 1.0, "refused", "neo4j") == "refused"
    assert said(one, EVERY_S, "refused") == "refused (999 repetitions suppressed)"
    assert said(one, 2 * EVERY_S, "refused") == "refused"


def test_repetition_of_our_own_is_always_said() -> None:
    """What Graphtide says is said when something happens."""
    one = Repetitions("graphtide")
    assert [said(one, 0.0, "request", "graphtide.access") for _ in range(3)] == ["request"] * 3
    assert [said(one, 0.0, "x", "graphtides") for _ in range(2)] == ["x", None]


def test_repetitions_remember_a_bounded_number_of_texts() -> None:
    """The oldest is forgotten, and said again: memory is bounded whatever a library says."""
    one = Repetitions("graphtide")
    for number in range(MOST + 1):
        assert said(one, 0.0, str(number))
    assert said(one, 0.0, "0") == "0"
    assert said(one, 0.0, str(MOST)) is None
