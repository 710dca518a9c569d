"""Log messages that libraries repeat: a new one is logged at once, a repeated one at intervals, with a count."""

from __future__ import annotations

import logging

from graphtide.infra.observability.log_dedup import EVERY_S, MAX_TEXTS, Repetitions


def written(filter_: Repetitions, at_s: float, text: str, name: str = "aiokafka") -> str | None:
    """Return the text as it is written, or None when it is left out."""
    record = logging.LogRecord(name, logging.ERROR, "", 0, "%s", (text,), None)
    record.created = at_s
    return record.getMessage() if filter_.filter(record) else None


def test_repetition_is_said_once_in_a_while_with_how_often_it_was_not() -> None:
    """A thousand equal lines in a second are one; the next after the interval counts them; other messages pass."""
    one = Repetitions("graphtide")
    assert [written(one, number / 1000, "refused") for number in range(1000)] == ["refused"] + [None] * 999
    assert written(one, 1.0, "something else") == "something else"
    assert written(one, 1.0, "refused", "neo4j") == "refused"
    assert written(one, EVERY_S, "refused") == "refused (999 repetitions suppressed)"
    assert written(one, 2 * EVERY_S, "refused") == "refused"


def test_repetition_of_our_own_is_always_said() -> None:
    """Graphtide's own messages always pass."""
    one = Repetitions("graphtide")
    assert [written(one, 0.0, "request", "graphtide.access") for _ in range(3)] == ["request"] * 3
    assert [written(one, 0.0, "x", "graphtides") for _ in range(2)] == ["x", None]


def test_repetitions_remember_a_bounded_number_of_texts() -> None:
    """The oldest text is forgotten, and logged again: memory is bounded whatever a library logs."""
    one = Repetitions("graphtide")
    for number in range(MAX_TEXTS + 1):
        assert written(one, 0.0, str(number))
    assert written(one, 0.0, "0") == "0"
    assert written(one, 0.0, str(MAX_TEXTS)) is None
