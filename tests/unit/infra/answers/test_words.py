"""Keys of words: the same in every thread."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import snowballstemmer

from graphtide.infra.models.local.answers.words import key_of

ENDINGS = ("ing", "ed", "ation", "ness", "fully", "iveness", "izers", "ies", "ously", "ement")
WORDS = [
    f"{first}{vowel}{last}{ending}"
    for first in "bcdfgk"
    for vowel in "aeiou"
    for last in "lmnrst"
    for ending in ENDINGS
]


def test_key_is_the_same_when_several_threads_compute_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stemmer keeps the word it works on in itself, and questions are answered in several threads."""
    monkeypatch.setattr("graphtide.infra.models.local.answers.words.VERBS", {})
    expected = dict(zip(WORDS, snowballstemmer.stemmer("english").stemWords(WORDS), strict=True))
    key_of.cache_clear()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(
                pool.map(lambda start: [(word, key_of(word)) for word in WORDS[start:] + WORDS[:start]], range(8))
            )
    finally:
        sys.setswitchinterval(before)
        key_of.cache_clear()
    assert [(word, key) for keys in found for word, key in keys if key != expected[word]] == []
