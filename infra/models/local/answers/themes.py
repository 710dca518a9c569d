"""Answers about a whole corpus: the beginnings of its texts.

`graph/retrieval/question_words.py` recognises such questions: they have no words to look for, beside those of a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.infra.models.local.answers.choosing import Quotation
from graphtide.infra.models.local.answers.units import Unit, UnitKind

MAX_TEXTS = 6
_REPEATS = 0.8


def beginnings(units: Sequence[Unit]) -> list[Quotation]:
    """Return the first sentence with new content of each of the first texts."""
    chosen: list[Unit] = []
    for unit in units:
        if unit.kind in (UnitKind.ABOUT, UnitKind.CODE) or unit.quoted or unit.text.endswith((":", "?")):
            continue
        known = {(one.doc_id or one.origin) for one in chosen}
        if (unit.doc_id or unit.origin) not in known and not any(_repeats(unit, other) for other in chosen):
            chosen.append(unit)
        if len(chosen) == MAX_TEXTS:
            break
    return [Quotation(unit.text, unit) for unit in chosen]


def _repeats(one: Unit, other: Unit) -> bool:
    return len(one.keys & other.keys) >= _REPEATS * len(one.keys | other.keys)
