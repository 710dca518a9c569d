"""ROUGE-L of an answer: the F-measure of the longest common subsequence of stemmed words (Lin 2004).

Equal to the package rouge-score with its stemmer, which GraphRAG-Bench uses. The stemmer is NLTK's variant of Porter's.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Protocol

from graphtide.streams.errors import Broken

_GAPS = re.compile(r"[^a-z0-9]+")
_SHORTEST_STEMMED = 4


class _Stemmer(Protocol):
    def stem(self, word: str) -> str: ...


def rouge_l(answer: str, gold: str) -> float:
    """Return the F-measure, 0 to 1. Raises Broken without the optional package of the stemmer."""
    words, expected = _words(answer), _words(gold)
    common = _common_length(words, expected)
    if not common:
        return 0.0
    precision, recall = common / len(words), common / len(expected)
    return 2 * precision * recall / (precision + recall)


def _words(text: str) -> list[str]:
    stem = _stemmer().stem
    return [stem(word) if len(word) >= _SHORTEST_STEMMED else word for word in _GAPS.split(text.lower()) if word]


def _common_length(left: list[str], right: list[str]) -> int:
    lengths = [0] * (len(right) + 1)
    for word in left:
        diagonal = 0
        for at, other in enumerate(right, 1):
            above = lengths[at]
            lengths[at] = diagonal + 1 if word == other else max(above, lengths[at - 1])
            diagonal = above
    return lengths[-1]


@cache
def _stemmer() -> _Stemmer:
    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError:
        raise Broken("ROUGE-L needs the package nltk: pip install 'graphtide[eval]'") from None
    stemmer: _Stemmer = PorterStemmer()
    return stemmer
