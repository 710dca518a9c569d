"""Headings that ask a question, as in lists of frequent questions: "How do I reset the pump?"."""

from __future__ import annotations

from graphtide.infra.models.local.answers.questions.types import QuestionPlan
from graphtide.infra.models.local.answers.words import keys_of, word_set

_QUESTION_WORDS = word_set("how what which why when where who whose whom")
_OPENERS = _QUESTION_WORDS | word_set("can may do does did is are was were will should must could")
_ALIKE = {"which": "what", "whom": "who"}
_MIN_WORDS, _MIN_SHARE = 4, 0.8
"""The number of words from which on a heading may have others than the question, and the share that both have."""


def asks_same(heading: str, plan: QuestionPlan) -> bool:
    """Return whether a heading is the question: one with the same question word, and nearly the same words."""
    if not heading.endswith("?") and heading.split(" ", 1)[0].lower() not in _OPENERS:
        return False
    words = keys_of(heading)
    if not words or _question_word(heading) != _question_word(plan.text):
        return False
    both, either = words & plan.keys, words | plan.keys
    return len(both) == len(either) or (len(words) >= _MIN_WORDS and len(both) >= _MIN_SHARE * len(either))


def _question_word(text: str) -> str:
    words = text.lower().replace("?", " ").replace("'", " ").split()
    found = next((word for word in words if word in _QUESTION_WORDS), "")
    return _ALIKE.get(found, found)
