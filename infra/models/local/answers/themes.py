"""Answers about a whole corpus: the beginnings of its texts.

`graph/retrieval/question_words.py` recognises such questions: they have no words to look for, beside those of a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.infra.models.local.answers.choosing.rendering import MAX_WORDS, Quotation
from graphtide.infra.models.local.answers.units import Unit, UnitKind

MAX_TEXTS = 6
_REPEATS = 0.8
_MIN_WORDS = 4
_FIELD_WORDS = 8
"""Words of a line of the head of a text, at most: "Date: 3 May 2026", "Present: Bea, Jonas, Ida"."""


def beginnings(units: Sequence[Unit], *, by_day: bool = False) -> list[Quotation]:
    """Return the first full sentence with new content of each of the first texts, after the title of its document.

    The last passage of a document counts: the first passages of the documents follow those of the result. `by_day`: the
    days of a diary are texts of their own.
    """

    def text_of(unit: Unit) -> object:
        return (unit.doc_id or unit.origin, unit.date) if by_day else unit.doc_id or unit.origin

    last = {text_of(unit): unit.origin for unit in units}
    units = [unit for unit in units if unit.origin == last[text_of(unit)]]
    chosen: list[Unit] = []
    done: set[object] = set()
    left = MAX_WORDS
    for unit in sorted(units, key=lambda unit: (is_weak(unit), _is_field(unit))):
        key = text_of(unit)
        if key in done or any(_repeats(unit, second) for second in chosen):
            continue
        done.add(key)
        count = len(_titled(unit).split())
        if count <= left or not chosen:
            chosen.append(unit)
            left -= count
        if len(chosen) == MAX_TEXTS:
            break
    return [Quotation(_titled(unit), unit) for unit in chosen]


def is_weak(unit: Unit) -> bool:
    """Return whether a unit says little about its text: a row, a quotation, a line of its head, a greeting or another
    short line.
    """
    whole = unit.kind is UnitKind.SENTENCE and len(unit.text.split()) >= _MIN_WORDS and not _is_field(unit)
    return not whole or unit.quoted or unit.dangling or unit.text.endswith((":", "?", ","))


def _is_field(unit: Unit) -> bool:
    words = unit.text.split()
    return len(words) <= _FIELD_WORDS and any(word.endswith(":") for word in words[:1])


def _titled(unit: Unit) -> str:
    titled = unit.doc_id and unit.title and unit.title != unit.doc_id and not unit.title_keys <= unit.keys
    return f"{unit.title}: {unit.text}" if titled else unit.text


def _repeats(first: Unit, second: Unit) -> bool:
    return len(first.keys & second.keys) >= _REPEATS * len(first.keys | second.keys)
