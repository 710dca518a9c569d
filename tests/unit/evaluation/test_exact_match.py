"""Exact match, F1 and ROUGE-L, with the values of the published scripts."""

from __future__ import annotations

import pytest

from graphtide.services.evaluation.measures.exact_match import exact_match, f1_score
from graphtide.services.evaluation.measures.rouge import rouge_l

PUBLISHED = [
    ("The  U.S.", "us", 1, 1.0, 1.0),
    ("yes", "yes, he was", 0, 0.0, 0.5),
    ("yes", "no", 0, 0.0, 0.0),
    ("Yes.", "yes", 1, 1.0, 1.0),
    ("noanswer", "no answer", 0, 0.0, 0.0),
    ("", "a", 1, 0.0, 1.0),
    ("the", "an", 1, 0.0, 1.0),
    ("2,000", "2000", 1, 1.0, 1.0),
    ("can't", "cant", 1, 1.0, 1.0),
    ("A co-op theatre", "the coop theatre!", 1, 1.0, 1.0),
    ("a b b c", "b b d", 0, 0.666667, 0.666667),
    ("Élan", "elan", 0, 0.0, 0.0),
    ("an\u00a0x", "x", 1, 1.0, 1.0),
]
"""Answer, gold, exact match, F1 by hotpot_evaluate_v1.py and 2wikimultihop_evaluate.py, F1 by MuSiQue's answer.py."""


@pytest.mark.parametrize(("answer", "gold", "equal", "hotpot", "musique"), PUBLISHED)
def test_values_are_those_of_the_published_scripts(
    answer: str, gold: str, equal: int, hotpot: float, musique: float
) -> None:
    """Articles, punctuation, white space, the rule on yes and no, the rule on empty texts."""
    assert exact_match(answer, [gold]) == equal
    assert f1_score(answer, [gold]) == pytest.approx(hotpot, abs=1e-6)
    assert f1_score(answer, [gold], closed_answers=False) == pytest.approx(musique, abs=1e-6)


def test_best_of_several_gold_answers_counts() -> None:
    """Aliases are as good as the main answer; without a gold answer there is nothing to match."""
    assert exact_match("Stanley Hall", ["G. Stanley Hall", "Stanley Hall"]) == 1
    assert f1_score("Hall", ["G. Stanley Hall", "Stanley Hall"]) == pytest.approx(2 / 3)
    assert exact_match("x", []) == f1_score("x", []) == 0


ROUGE = [
    (
        "UV radiation exposure is a primary risk factor for BCC.",
        "The primary risk factors are UV-radiation and fair skin",
        0.3,
    ),
    ("Biology, biologically!", "biological tries", 0.5),
    ("été 5", "5 ete", 0.5),
    ("dying lies", "lying died skies", 0.4),
    ("a b c d", "d c b a", 0.25),
    ("...", "x", 0.0),
]


@pytest.mark.parametrize(("answer", "gold", "value"), ROUGE)
def test_rouge_l_is_that_of_the_package_rouge_score(answer: str, gold: str, value: float) -> None:
    """Stems of NLTK's Porter stemmer for words of four letters and more; words are ASCII letters and digits."""
    assert rouge_l(answer, gold) == pytest.approx(value)
