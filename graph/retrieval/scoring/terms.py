"""Shared terms: the words that a question and a passage have in common.

Only the candidates of one question are scanned, and a word's weight is its rarity among them; there is no inverted
index. So no index is maintained, and a growing graph does not make a question more expensive.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from graphtide.graph._words import occurrences as word_occurrences

_WORD = re.compile(r"\w+")
_MARK = re.compile(r"[^\w\x00-\x7f]")
_PLAIN = bytes(ord(chr(code).lower()) if _WORD.match(chr(code)) else ord(" ") for code in range(128))
_TABLE = _PLAIN + bytes(range(128, 256))
"""The table of `bytes.translate` that lowers ASCII letters and makes a blank of each ASCII character outside words, in
one pass of C. Bytes of other characters, in UTF-8, stay.
"""

_UNKNOWN = 0xFFFF
_LETTERS = (range(0x80, 0x600), range(0x2000, 0x2070))
"""The characters that the kernel folds: Latin, Greek, Cyrillic, Armenian and Hebrew letters, and punctuation."""

Occurrences = NDArray[np.bool_]
Weights = NDArray[np.float64]


def words(text: str) -> list[str]:
    """Return the words of a text in order, case-folded, after Unicode NFKC."""
    return _WORD.findall(_folded(text))


def occurrences(question: str, texts: Sequence[str]) -> tuple[list[str], Occurrences]:
    """Return the question's distinct words, sorted, that occur in any text, and (texts, words) which text has which.

    Cost: linear in the length of the texts.
    """
    asked = sorted(set(words(question)))
    if not asked or not texts:
        return [], np.zeros((len(texts), 0), dtype=bool)
    contained = word_occurrences(asked, list(texts), _letters(), _folded)
    seen = np.flatnonzero(contained.any(axis=0))
    return [asked[column] for column in seen], contained[:, seen]


def weights(contained: Occurrences) -> Weights:
    """Return each word's share of the question, (words,) summing to 1: its squared inverse document frequency.

    The frequency is counted among the candidates. Squared, because in a tf-idf product the word's weight occurs once in
    the question and once in the passage. IDF as in Robertson & Zaragoza 2009, section 3.3, plus one to stay positive.
    """
    texts = contained.shape[0]
    having = contained.sum(axis=0, dtype=np.float64)
    squared = np.log1p((texts - having + 0.5) / (having + 0.5)) ** 2
    total = squared.sum()
    shares: Weights = squared / total if total else squared
    return shares


def spaced(text: str) -> str:
    """Return the words of a text with blanks around each: a substring search for a few words is faster than a set of
    all.
    """
    plain = text.encode() if text.isascii() else _MARK.sub(" ", _folded(text)).encode()
    return f" {plain.translate(_TABLE).decode()} "


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


@cache
def _letters() -> NDArray[np.uint16]:
    """Return the folded letter of each character by its code: 0 for one between words, _UNKNOWN where the characters
    beside it matter, or it is folded to several letters.
    """
    letters = np.full(_LETTERS[-1].stop, _UNKNOWN, np.uint16)
    for code in (code for part in _LETTERS for code in part):
        character, folded = chr(code), _folded(chr(code))
        if unicodedata.combining(character) or any(map(unicodedata.combining, folded)):
            continue
        if not _WORD.search(folded):
            letters[code] = 0
        elif len(folded) == 1 and ord(folded) < _UNKNOWN and _folded(folded) == folded:
            letters[code] = ord(folded)
    return letters
