"""Forms of a question beyond its kind: a definition, a permission, the setting of a yes-or-no question, the comparison
of two columns.

Invariant: a form depends on the words of the question alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphtide.infra.models.local.answers.questions.lexicon import (
    ATTRIBUTES,
    BEFORE_OBJECTS,
    BOUNDS,
    CONDITIONS,
    COPULAS,
    MODALS,
    NEGATIONS,
    PERMISSIONS,
    SETTINGS,
    STATES,
)
from graphtide.infra.models.local.answers.questions.types import Kind, Versus
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.words import ARTICLES, STOP_WORDS, key_of, word_set

_MAX_DEFINED = 3
_MEANT, _MAX_MEANT = (("meant", "by"), ("the", "meaning", "of")), 8
_MEANING = frozenset({("mean",), ("means",), ("meant",), ("stand", "for"), ("stands", "for")})


def asks_for_definition(tokens: Sequence[str]) -> bool:
    """Return whether it is "what is a huddle", "what does SBAR mean", "what is meant by SBAR" or "what does the scribe
    do".
    """
    if len(tokens) < 3 or tokens[0] != "what":
        return False
    if any(tuple(tokens[2 : 2 + len(form)]) == form for form in _MEANT) and tokens[1] in COPULAS:
        return len(tokens) <= _MAX_MEANT
    rest = [token for token in tokens[2:] if token not in ARTICLES]
    if tokens[1] in ("does", "do") and (tuple(rest[-2:]) in _MEANING or tuple(rest[-1:]) in _MEANING):
        return True
    if asks_for_function(tokens):
        rest = rest[:-1]
    elif tokens[1] not in ("is", "are"):
        return False
    plain = STOP_WORDS.isdisjoint(rest) and not ATTRIBUTES & set(rest)
    return plain and 0 < len(rest) <= _MAX_DEFINED


def asks_for_function(tokens: Sequence[str]) -> bool:
    """Return whether it is "what does X do"."""
    return tokens[:2] == ["what", "does"] and tokens[-1] == "do" and len(tokens) > 3


def asks_how(tokens: Sequence[str]) -> bool:
    """Return whether it is "how do I upload a file", "how to upload a file" or "what do I do if it fails"."""
    if tokens[:1] == ["what"]:
        return _asks_what_to_do(tokens)
    if tokens[:1] != ["how"] or len(tokens) < 3:
        return False
    return tokens[1] == "to" or (tokens[1] in MODALS | {"do", "does"} and tokens[2] in _DOING)


def _asks_what_to_do(tokens: Sequence[str]) -> bool:
    if len(tokens) < 5 or _OCCASIONS.isdisjoint(tokens[3:5]):
        return False
    asker = tokens[1] in MODALS | {"do", "does"} and tokens[2] in _DOING and tokens[3] == "do"
    return asker or list(tokens[1:3]) == ["to", "do"]


_OCCASIONS = frozenset({"if", "when", "in"})
_DOING = frozenset({"i", "you", "we", "one", "they"})


def asks_for_changes(tokens: Sequence[str], kind: Kind) -> bool:
    """Return whether it asks for what changed, or when: "when was X added", "which release fixed Y"."""
    return kind in (Kind.DATE, Kind.VERSION) or not _CHANGING.isdisjoint(tokens)


_CHANGING = word_set(
    """change changes changed changelog release releases released new added removed fixed introduced deprecated dropped
    renamed since bug bugs fix fixes history upgrade upgraded upgrading breaking previously earlier formerly old
    was were did"""
)
VERSION = re.compile(r"(?<![\w.])v?(\d{1,5}(?:\.\d{1,5}){1,3})(?!\w)")


def asks_for_permission(tokens: Sequence[str]) -> bool:
    """Return whether it asks if something may be done: "may visitors stay", "are flames allowed"."""
    return tokens[0] in MODALS or (tokens[0] in COPULAS and not PERMISSIONS.isdisjoint(tokens))


def condition_keys(tokens: Sequence[str]) -> frozenset[str]:
    """Return the keys of a subordinate clause at the end: "when the alarm rings"."""
    at = next((at for at, token in enumerate(tokens) if at > 2 and token in CONDITIONS), len(tokens))
    return frozenset(key_of(token) for token in tokens[at + 1 :])


def setting_keys(tokens: Sequence[str]) -> frozenset[str]:
    """Return the keys of the place at the end of a question: "on the stage"."""
    places = [at for at, token in enumerate(tokens) if at > 2 and token in SETTINGS]
    if not places or tokens[places[-1] + 1 : places[-1] + 2] != ["the"] or len(tokens) - places[-1] > _MAX_DEFINED + 2:
        return frozenset()
    return frozenset(key_of(token) for token in tokens[places[-1] + 2 :])


def trouble_keys(asking: str) -> frozenset[str]:
    """Return the keys of "wrong" or "matter" in "what is wrong with", which an answer does not repeat."""
    asked = has_phrase(asking, ("wrong with", "the matter with"))
    return _TROUBLE if asked else frozenset()


_TROUBLE = frozenset(map(key_of, ("wrong", "matter")))


def state_asked(tokens: Sequence[str]) -> bool | None:
    """Return True if it asks for what is done, False for what is "open" or "not done", None for neither."""
    at = next((at for at, token in enumerate(tokens) if token in STATES), None)
    if at is None:
        return None
    return STATES[tokens[at]] == NEGATIONS.isdisjoint(tokens[:at])


def versus_of(tokens: Sequence[str]) -> Versus | None:
    """Return the two columns of "which items cost more than planned", None unless it compares with a word."""
    for at, token in enumerate(tokens[:-1]):
        sign = BOUNDS.get(token, 0)
        end = next((end for end in (at + 1, at + 2) if tokens[end : end + 1] == ["than"]), 0)
        if not sign or not end:
            continue
        rest = [word for word in tokens[end + 1 :] if word not in STOP_WORDS and word not in BEFORE_OBJECTS]
        if len(rest) == 1 and rest[0].isalpha():
            return Versus(sign, key_of(rest[0]))
    return None


def asks_for_left(tokens: Sequence[str]) -> bool:
    """Return whether it is "what is left to do", "what is left for the move", "which tasks are left" or "what is left
    on the list", or "what do we still have to pack", not "what is left in the fridge" or "what is left to eat".
    """
    if tokens[:1] == ["what"] and any(tokens[at : at + 3] in _STILL_TO for at in range(1, len(tokens) - 3)):
        return True
    at = next((at for at, token in enumerate(tokens) if token == _LEFT), 0)
    if tokens[:1] not in (["what"], ["which"]) or not at or tokens[at - 1] not in _BEING:
        return False
    follows, of_list = tokens[at + 1 : at + 2], tokens[-1] in _LISTS
    asked = follows in ([], ["for"]) or (follows in (["in"], ["on"]) and of_list) or tokens[at + 1 : at + 3] in _TO_DO
    return asked and (tokens[0] == "what" or tokens[1] in TASKS)


_STILL_TO = tuple(["still", verb, "to"] for verb in ("have", "has", "need", "needs"))
_LEFT, _BEING = "left", frozenset({"is", "are", "still"})
_TO_DO, _LISTS = (["to", "do"], ["to", "be"]), word_set("list checklist agenda plan project backlog board")
TASKS = word_set("task tasks thing things item items job jobs point points step steps todo todos")
"""Nouns for what is to do."""


def order_asked(tokens: Sequence[str]) -> int:
    """Return 1 if it ends by asking for the first in time, "which ship was built first", -1 for the last, else 0."""
    if is_long_ago(tokens):
        return 1
    is_deed = tokens[:1] == ["who"] and len(tokens) > 1 and tokens[1] not in STOP_WORDS - {"has"}  # "who joined last"
    if not is_deed and (tokens[:1] not in (["which"], ["what"], ["who"]) or {"was", "were"}.isdisjoint(tokens[1:5])):
        return 0
    if tokens[-2:] == ["most", "recently"]:
        return -1
    if tokens[:1] == ["who"] and tokens[-2:-1] == ["to"] and tokens[-3] in _BEFORE_DEED:  # "who was the last to join"
        return _BEFORE_DEED[tokens[-3]]
    is_order = len(tokens) > _MIN_ORDERED - is_deed and tokens[-2] not in _BEFORE_NOUNS
    return _ORDERS.get(tokens[-1], 0) if is_order else 0


_ORDERS = {"first": 1, "earliest": 1, "last": -1, "latest": -1}
_BESIDE_ORDERS = frozenset({"recently", "longest", "time"})
_BEFORE_DEED = {"first": 1, "last": -1}
_MIN_ORDERED = 3
_BEFORE_NOUNS = word_set("at for the a an from until your our my")


def is_long_ago(tokens: Sequence[str]) -> bool:
    """Return whether it asks what has not been done for the longest time, which was done first of all."""
    text = " ".join(tokens)
    return not NEGATIONS.isdisjoint(tokens) and text.endswith(
        ("for longest", "for the longest", "for the longest time")
    )


def order_words(tokens: Sequence[str]) -> list[str]:
    """Return the words by which `order_asked` finds that it asks for the first or the last."""
    return [word for word in tokens[-4:] if word in _ORDERS or word in _BESIDE_ORDERS]


def attribute_asked(tokens: Sequence[str]) -> str:
    """Return the key of a property in "what colour is", "" without one."""
    return key_of(tokens[1]) if len(tokens) > 1 and tokens[0] in ("what", "which") and tokens[1] in ATTRIBUTES else ""


def verb_of_who(tokens: Sequence[str]) -> str:
    """Return the key of the verb after "who", "who will" or "who is going to", "" in other questions."""
    if tokens[:1] != ["who"] and tokens[:1] != ["who's"]:
        return ""
    verb = next((at for at, token in enumerate(tokens) if at and token not in _FUTURE), len(tokens))
    return key_of(tokens[verb]) if verb + 1 < len(tokens) and tokens[verb] not in STOP_WORDS else ""


_FUTURE = frozenset({"'s", "is", "are", "going", "to", "will"})
