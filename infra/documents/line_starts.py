"""Lines of plain text that are units of their own: entries of a log, fields of a record, items without bullets.

Several lines of one run must have the form: a single line of prose that happens to begin with a date stays in its
paragraph. Cost: linear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}[.,]?"
_DAY = rf"""
    \d{{4}}[-/.]\d{{2}}[-/.]\d{{2}}
    | \d{{1,2}}[./-]\d{{1,2}}(?:[./-](?:\d{{4}}|\d{{2}}))?\.?
    | \d{{1,2}}(?:st|nd|rd|th|\.)?[ ]{_MONTH}(?:[ ]\d{{4}})?
    | {_MONTH}[ ]\d{{1,2}}(?:st|nd|rd|th)?(?:,?[ ]\d{{4}})?
"""
_CLOCK = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2}(?:[.,]\d{1,9})?)?(?:[ ]?[aApP]\.?[mM]\b\.?)?(?:Z|[+-]\d{2}:?\d{2})?"
STAMP = re.compile(
    rf"[ \t]{{0,8}}[\[(]?(?:(?:{_WEEKDAY}[ ]+)?(?:{_DAY})(?:(?:,?[ ]+|T){_CLOCK})?|{_CLOCK}|{_WEEKDAY}[ ]+{_CLOCK})"
    r"[\])]?(?=[ \t:,;|\u2013\u2014-]|\.(?:[ \t]|\Z))",
    re.VERBOSE,
)
"""A date or a time at the beginning of a line, with what belongs to it."""
_FIELD = re.compile(r"[ \t]{0,8}[^\s:=][^:=\r\n]{0,40}(?::[ \t]+|[ \t]*=[ \t]*)\S")
_MIN_STAMPED, _MIN_FIELDS, _MIN_ITEMS = 2, 2, 3
_MAX_FIELD_WORDS = 6
_LINKING = "a an the and or but of in on at to for from with by as is are was were be that which who our his her its"
BEFORE_WRAP = frozenset(_LINKING.split())


def entry_starts(lines: Sequence[str]) -> frozenset[int]:
    """Return the indexes of the lines of a run without empty lines that begin a unit, besides the first line."""
    stamped = frozenset(at for at, line in enumerate(lines) if STAMP.match(line))
    if len(stamped) >= _MIN_STAMPED and min(stamped) <= 1:
        return stamped
    if len(lines) >= _MIN_FIELDS and all(map(is_field, lines)):
        return frozenset(range(len(lines)))
    return frozenset(range(len(lines))) if _are_items(lines) else frozenset()


def stamp_of(text: str) -> str:
    """Return the date or time that an entry of a log begins with; "" without one."""
    found = STAMP.match(text)
    return found[0].strip(" \t[]()") if found else ""


def is_field(line: str) -> bool:
    """Return whether a line is a label of a few words and its value: "Present: Ada, Bob"."""
    found = _FIELD.match(line)
    return found is not None and len(re.split(r"[:=]", line, maxsplit=1)[0].split()) <= _MAX_FIELD_WORDS


def _are_items(lines: Sequence[str]) -> bool:
    """Return whether every line begins with a capital or a number, and none ends within a sentence."""
    if len(lines) < _MIN_ITEMS or not all(line.lstrip()[:1].isupper() or line.lstrip()[:1].isdigit() for line in lines):
        return False
    return not any(ends_within(line) for line in lines[:-1])


def ends_within(line: str) -> bool:
    """Return whether a line ends within a sentence: at a comma, a hyphen or a word that another one follows."""
    last = line.rstrip().rsplit(maxsplit=1)[-1]
    return last.endswith((",", "-", "\u2013", "(")) or last.lower() in BEFORE_WRAP
