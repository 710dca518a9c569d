"""Normalisation of names: from a mention to a label, the one spelling under which a name is stored.

Unicode, case, punctuation and spacing are unified, so that names without a visible difference are one label. Meaning is
not considered here: everything that could distinguish two things (digits, accents, "!" in a title, "+" in "C++",
brackets) is kept for the resolver.

Invariant: `normalise(normalise(x)) == normalise(x)`, and only a blank name gives the empty string.
"""

from __future__ import annotations

import re
import unicodedata

# Arabic and Indic number and end marks are "format" characters by category, but they are printed.
_PRINTED_FORMAT = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_APOSTROPHES = dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u02bc\u02b9\u00b4`\uff07"), "'")
_QUOTES = dict.fromkeys(map(ord, '"\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\u301d\u301e\u301f'), " ")
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d"), "-")
_PUNCTUATION = {**_APOSTROPHES, **_QUOTES, **_DASHES, ord("_"): " "}

_PLAIN = re.compile(r"[A-Za-z0-9]+(?: [A-Za-z0-9]+)*")
"""Names of which only the case changes."""
_DOUBLED_APOSTROPHE = re.compile(r"''+")
_SPACES = re.compile(r"\s+")
# The following three are applied after _SPACES, so a run of blanks is one space.
_SPACE_AROUND_DASH = re.compile(r" ?-(?: ?-)*+ ?")
_SPACE_BEFORE = re.compile(r" ([,;:.!?)\]])")
_SPACE_AFTER = re.compile(r"([(\[]) ")
_MAX_PASSES = 8  # one pass suffices for ordinary names, two for all that tests have found


def normalise(name: str) -> str:
    """Return the label of a name: NFKC, case-folded, with quotes, dashes, apostrophes and spaces unified.

    Zero-width and bidirectional marks are dropped, as is a sentence's punctuation around a name. A name of nothing else
    (for instance "...") keeps its stripped original spelling; a blank one gives "". Idempotent. Cost: linear in the
    length.
    """
    if _PLAIN.fullmatch(name):
        return name.lower()
    current = name
    for _ in range(_MAX_PASSES):
        following = _one_pass(current)
        if following == current:
            break
        current = following
    return current or name.strip()


def _one_pass(name: str) -> str:
    if name.isascii():
        folded = name.lower()
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        folded = "".join(c for c in folded if _is_visible(c))
    folded = _DOUBLED_APOSTROPHE.sub(" ", folded.translate(_PUNCTUATION))
    folded = _SPACE_AROUND_DASH.sub("-", _SPACES.sub(" ", folded))
    folded = _SPACE_AFTER.sub(r"\1", _SPACE_BEFORE.sub(r"\1", folded))
    # A leading dash or dot can be part of a name or a number (".NET", "-5"); a trailing one belongs to the sentence.
    return folded.strip().lstrip(",;:").rstrip(",;:.-").strip()


def _is_visible(character: str) -> bool:
    category = unicodedata.category(character)
    if category == "Cf":
        return character in _PRINTED_FORMAT
    return not (category == "Mn" and "\ufe00" <= character <= "\ufe0f")
