"""Keys of words: the same in every thread, and of passages without keeping their words."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import snowballstemmer

from graphtide.infra.models.local.answers.words import key_of, keys_of, passage_keys, words_of
from graphtide.services.query.background import _text_keys

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


def test_passage_keys_equal_keys_of() -> None:
    """A passage has the keys of its words, phrasal verbs included."""
    for text in ("", "They put off the well-known meeting of 4 May.", "Send back the SPR-2214; it's one of 1,250."):
        assert passage_keys(text) == keys_of(text)


def test_words_of_passages_are_not_kept_when_a_question_reads_them() -> None:
    """The words of a passage take 10 KB, and only its keys are compared with a question."""
    words_of("Heading")
    kept = words_of.cache_info().currsize
    found = _text_keys("Heading", "The team postponed a release to the following week, no. 98-17.")
    assert "releas" in found and words_of.cache_info().currsize == kept
