"""The title that people put on the first line of a plain text: "Biscuit the cat", "Weekly search team, 26 Oct 2026"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphtide.infra.documents.line_starts import STAMP
from graphtide.infra.models.local.english.lexical.dates import measures_in
from graphtide.infra.models.local.english.lexical.verbs import VERBS
from graphtide.infra.models.local.english.lexical.words import AUXILIARIES, word_set

_MAX_CHARS, _MAX_WORDS = 60, 8
_LONGER = 1.5
_CLOSES = re.compile(r"[\w)\"'\u2019\u201d]\Z")
_STATES = re.compile(r"[.!?;][ \t]|: |[@/=%$\u20ac\u00a3]|(?<![\w-])\d[\d.,]*(?![\w-])")
"""Marks of a statement: the end of a sentence, a label, an address, a sum or another number outside a date."""
_GREETS = re.compile(r"(?:hi|hello|hey|thanks|thank|good (?:morning|afternoon|evening))\b", re.IGNORECASE)
_PERSONS = word_set("i we you he she it they me us my our your i'm we're i've we've")


def is_title(lines: Sequence[str], says_more: bool) -> bool:
    """Return whether the first of the lines at the beginning of a text is its title, and states nothing itself.

    It is short, has neither a verb nor a number apart from dates, and is alone above an empty line, or with its date,
    if the text `says_more`; or it is clearly shorter than the line below it, whose first word had room beside it.
    Linear in the lines.
    """
    title = lines[0].strip()
    if (
        len(title) > _MAX_CHARS
        or len(title.split()) > _MAX_WORDS
        or not title[:1].isupper()
        or not _CLOSES.search(title)
    ):
        return False
    if STAMP.match(title) or _GREETS.match(title) or _STATES.search(_undated(title)) or _has_verb(title):
        return False
    below = lines[1].strip() if len(lines) > 1 else ""
    if not below or (len(lines) == 2 and len(below) <= _MAX_CHARS and _is_date(below)):
        return says_more
    word = next(iter(below.split(maxsplit=1)), "")
    has_room = len(title) + 1 + len(word) <= max(map(len, lines[1:]))
    return has_room and len(below) >= _LONGER * len(title)


def _is_date(line: str) -> bool:
    """Return whether a line is a date, alone or after a word: "Updated 12 March 2026"."""
    rest = _undated(line)
    return rest != line and len(rest.split()) <= 1


def _undated(text: str) -> str:
    """Return a text without the dates in it."""
    for date in sorted(measures_in(text, 0, len(text)).values(), key=lambda found: -found.start):
        if date.type == "date":
            text = text[: date.start] + text[date.end :]
    return text


def _has_verb(text: str) -> bool:
    """Return whether a word can only be a finite verb, or is a person's pronoun. The first word may be a participle."""
    words = re.findall(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?", text)
    for at, word in enumerate(words):
        lower = word.lower().replace("\u2019", "'")
        if at and words[at - 1].lower() == "to":
            continue
        form = VERBS.get(lower)
        finite = form is not None and form.finite and not form.ambiguous
        past = len(lower) > 4 and lower.endswith("ed")
        if lower in AUXILIARIES or lower in _PERSONS or (at and word[0].islower() and (finite or past)):
            return True
    return False
