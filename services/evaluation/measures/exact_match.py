"""Exact match and F1 of short answers, as SQuAD and HotpotQA define them.

Normalisation: lower case, without ASCII punctuation, without the articles a, an, the, white space as one space. Checked
against the published scripts' definitions in `tests/unit/evaluation/test_exact_match.py`.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSED = frozenset({"yes", "no", "noanswer"})


def normalise_answer(text: str) -> str:
    """Return the text in the form that is compared."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """Return 1 if the answer equals one of the gold answers, else 0."""
    return _best(lambda gold: float(normalise_answer(answer) == normalise_answer(gold)), golds)


def f1_score(answer: str, golds: Sequence[str], *, closed_answers: bool = True) -> float:
    """Return the best F1 of common words over the gold answers.

    With `closed_answers` the rule of HotpotQA and 2WikiMultiHopQA applies: yes, no and noanswer match only themselves.
    Without it the rule of SQuAD 2.0 and MuSiQue applies: an empty text matches only an empty one.
    """
    return _best(lambda gold: _f1(normalise_answer(answer), normalise_answer(gold), closed_answers), golds)


def _best(score: Callable[[str], float], golds: Sequence[str]) -> float:
    return max(map(score, golds), default=0.0)


def _f1(answer: str, gold: str, closed_answers: bool) -> float:
    if closed_answers and answer != gold and (answer in _CLOSED or gold in _CLOSED):
        return 0.0
    words, expected = answer.split(), gold.split()
    if not closed_answers and not (words and expected):
        return float(words == expected)
    common = (Counter(words) & Counter(expected)).total()
    if not common:
        return 0.0
    precision, recall = common / len(words), common / len(expected)
    return 2 * precision * recall / (precision + recall)
