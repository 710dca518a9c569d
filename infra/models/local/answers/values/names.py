"""Full names of persons, and numbers of versions, in a text."""

from __future__ import annotations

from itertools import pairwise

from graphtide.infra.models.local.answers.values.dates import MONTH_NUMBERS
from graphtide.infra.models.local.answers.words import STOP_WORDS, words_of


def has_full_name(text: str) -> bool:
    """Return whether the text has two capitalised words in a row, as a first name and a surname are."""
    pairs = pairwise(words_of(text))
    return any(
        first.capital and second.capital and text[first.start + len(first.text) : second.start] == " "
        and first.text.lower() not in STOP_WORDS and second.text.lower() not in MONTH_NUMBERS
        for first, second in pairs
    )  # fmt: skip


def has_version(text: str) -> bool:
    return any("." in word.text and word.text.replace(".", "").isdigit() for word in words_of(text))
