"""Short forms of one label: the given name of a person, and the code of a numbered thing.

A short form is tied to its full form by the rules in `similarity.py`; the blocks in `blocking.py` are keyed by it. A
short form with several full forms in the live graph is ambiguous and is tied to none (`clusters.py`).

Invariant: everything here is a function of one label alone.
"""

from __future__ import annotations

import re

from graphtide.graph.resolution import lexicon as lx
from graphtide.graph.resolution.given_names import AMBIGUOUS, GIVEN_NAMES
from graphtide.graph.resolution.label_features import Signature

PROPER_NAME = "name"
"""The type of a proper name of which no more is known: it may be a person's given name."""

_GIVEN = frozenset(map(lx.singular, GIVEN_NAMES))
_ALONE = _GIVEN - frozenset(map(lx.singular, AMBIGUOUS))
_CODE = re.compile(r"[a-z]{1,8}-?[0-9]{1,10}")
_MIN_CODE_LETTERS = 2
_MIN_CODE_DIGITS = 2


def given_name(label: Signature) -> str:
    """Return the given name that this label consists of, in its long form, or "".

    A label without a type counts when its word is a given name and nothing else.
    """
    if len(label.words) != 1 or label.tail or label.title or not label.words[0].isalpha() or len(label.words[0]) < 2:
        return ""
    word = label.words[0]
    is_name = label.kind == "person" or (label.kind == "" and (label.type == PROPER_NAME or word in _ALONE))
    return lx.NICKNAMES.get(word, word) if is_name else ""


def leading_name(label: Signature) -> str:
    """Return the given name with which a person's full name begins, in its long form, or ""."""
    if not label.is_person or len(label.words) < 2 or label.tail or "'s " in label.name:
        return ""
    word = label.words[0]
    if len(word) < 2 or not word.isalpha() or not all(w.isalpha() for w in label.words):
        return ""
    return lx.NICKNAMES.get(word, word) if label.kind == "person" or word in _GIVEN else ""


def is_code(label: Signature) -> bool:
    """Return whether the label is nothing but a code such as "inc-482", which names one thing by itself."""
    found = _CODE.fullmatch(label.name)
    if found is None or label.is_dated:
        return False
    digits = sum(character.isdigit() for character in label.name)
    return digits >= _MIN_CODE_DIGITS and len(label.name.replace("-", "")) - digits >= _MIN_CODE_LETTERS


def names_code(label: Signature, code: Signature) -> bool:
    """Return whether the label is a common noun or two before the code: "incident inc-482"."""
    noun, _, last = label.name.rpartition(" ")
    words = noun.split()
    if last.replace("-", "") != code.name.replace("-", "") or not 1 <= len(words) <= 2 or label.tail:
        return False
    barred = (lx.QUALIFIERS, lx.REGIONS, lx.MONTHS, lx.DATE_WORDS, lx.STOP, lx.NUMBER_WORDS)
    return all(w.isalpha() and not any(lx.singular(w) in table for table in barred) for w in words)
