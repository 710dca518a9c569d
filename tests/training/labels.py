"""Labels of units: which units of a context are at a place that a question names.

A place is verbatim text of a document and a unit is what the service makes of it, so they are compared by their words:
a place may be a part of a unit or several units, and a row has the names of its columns between the values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from graphtide.infra.models.local.answers.units import Unit, UnitKind
from tests.training.corpus import files_with

_WORDS = re.compile(r"\w+")
_MIN_PART_WORDS = 3
"""Words of a unit that is a part of a place: "Yes." is not one."""
_SHARE = 0.9
"""Minimum share of a place's words in a unit whose words are in another order."""
_MIN_ROW_WORDS, _MIN_UNORDERED_WORDS, _MAX_LENGTH_RATIO = 2, 4, 2.5
"""Such a place has this many words, more if the unit is not a row; then the unit is not much longer, too."""


def places_of(place: str, units: Sequence[Unit], documents: Mapping[str, str]) -> list[int]:
    """Return the indexes of the units at a place, which is in one or more of the flat `documents` by name."""
    files = files_with(place, documents)
    wanted = _words(place)
    return [index for index, unit in enumerate(units) if _is_from(unit, files) and _is_at(unit, wanted)]


def _is_from(unit: Unit, files: Sequence[str]) -> bool:
    """Return whether a unit is of one of the files, or of a record of one."""
    return unit.doc_id.partition("#")[0] in files


def _is_at(unit: Unit, wanted: Sequence[str]) -> bool:
    found = _words(unit.text)
    if not found or not wanted:
        return False
    if _contains(found, wanted) or (len(found) >= _MIN_PART_WORDS and _contains(wanted, found)):
        return True
    present = set(found)
    has_most = sum(word in present for word in wanted) >= _SHARE * len(wanted)
    if unit.kind in (UnitKind.ROW, UnitKind.ABOUT):
        return has_most and len(wanted) >= _MIN_ROW_WORDS
    return has_most and len(wanted) >= _MIN_UNORDERED_WORDS and len(found) <= _MAX_LENGTH_RATIO * len(wanted)


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _contains(words: Sequence[str], part: Sequence[str]) -> bool:
    return f" {' '.join(part)} " in f" {' '.join(words)} "
