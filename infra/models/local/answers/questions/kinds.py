"""The kind of a question: the type of the answer that it asks for, from its question word and its noun."""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.infra.models.local.answers.questions.lexicon import (
    AUXILIARIES,
    CALLING,
    CAUSE_FORMS,
    CAUSES,
    CAUSING,
    COPULAS,
    DATE_NOUNS,
    FINDING,
    HOW,
    MODALS,
    MONEY_WORDS,
    PERSON_NOUNS,
    PLACE_NOUNS,
    QUANTITY_NOUNS,
    SUMMARIES,
    TO_DO,
)
from graphtide.infra.models.local.answers.questions.types import Kind
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.words import (
    STOP_WORDS,
    key_of,
    word_set,
)
from graphtide.infra.models.local.english.lexical.verbs import VERBS


def _asks_for_cause(tokens: Sequence[str]) -> bool:
    """Return whether it is "what caused …" or "what is the cause of …"."""
    if has_phrase(" ".join(tokens[:4]), CAUSE_FORMS):
        return True
    if tokens[:1] != ["what"]:
        return False
    return tokens[1] in CAUSING or (tokens[1] in COPULAS and not CAUSES.isdisjoint(tokens[2:5]))


def kind_of(asking: str, tokens: list[str]) -> tuple[Kind, frozenset[str]]:  # noqa: PLR0911 -- one return for each kind
    first = _first_wh(tokens)
    if len(tokens) > 1 and _asks_for_cause(tokens):
        return Kind.REASON, frozenset()
    if _asks_for_summary(asking, tokens) and first not in ("who", "when", "where"):
        return Kind.SUMMARY, frozenset()
    if first in ("who", "whom", "whose"):
        return Kind.PERSON, frozenset()
    if first == "when":
        return Kind.DATE, frozenset()
    if first == "where" or tokens[:1] == ["whereabouts"]:
        return Kind.PLACE, frozenset()
    if first == "why" or (first == "how" and "come" in tokens[1:2]):
        return Kind.REASON, frozenset()
    if first == "how":
        return (Kind.DATE, frozenset()) if _asks_for_hour(tokens) else _how(tokens)
    if first in ("which", "what"):
        return _of_noun(tokens, first)
    if tokens and tokens[0] in AUXILIARIES:
        return Kind.YES_NO, frozenset()
    if tokens and tokens[0] in ("list", "name"):
        return Kind.LIST, frozenset()
    return Kind.THING, frozenset()


def _asks_for_summary(asking: str, tokens: list[str]) -> bool:
    if has_phrase(asking, SUMMARIES):
        return True
    return tokens[:2] == ["what", "did"] and tokens[-1] in FINDING


def _first_wh(tokens: list[str]) -> str:
    if tokens and tokens[0] in AUXILIARIES:
        return ""
    return next(
        (t for t in tokens if t in ("who", "whom", "whose", "when", "where", "why", "how", "which", "what")), ""
    )


def _asks_for_hour(tokens: list[str]) -> bool:
    """Return whether it is "how late can I …"."""
    after = tokens[tokens.index("how") + 1 :][:2]
    return after[:1] in (["late"], ["early"]) and not MODALS.isdisjoint(after[1:])


def _how(tokens: list[str]) -> tuple[Kind, frozenset[str]]:
    """Return the kind of a question with "how", and the measures of each "how far", "how heavy" in it."""
    places = [at for at, word in enumerate(tokens) if word == "how"]
    measures = frozenset[str]()
    for at in places:
        after = tokens[at + 1] if at + 1 < len(tokens) else ""
        if after not in HOW:
            return (Kind.THING if at == places[0] else Kind.QUANTITY), measures
        measures |= frozenset(HOW[after]) if at != places[-1] else _measures_of_how(after, tokens[at + 2 :])
    return Kind.QUANTITY, measures


def _measures_of_how(after: str, rest: list[str]) -> frozenset[str]:
    """Return the measures that "how much", "how many" or "how long" asks for, by the words after it."""
    if after in ("much", "many"):
        noun = rest[0] if rest else ""
        if noun in _DURATIONS:
            return frozenset({"duration"})
        if after == "much" and noun not in AUXILIARIES and noun not in ("money", "compensation", "it"):
            return frozenset()
        return frozenset({"money"} if after == "much" and _CHANGING.isdisjoint(rest) else ())
    return frozenset(HOW[after]) if "count" not in HOW[after] else frozenset()


_DURATIONS = word_set("seconds minutes hours days weeks months years")


_CHANGING = word_set(
    """drift grow shrink rise fall drop increase decrease change vary leak sink settle bend warm cool rain snow move
    weigh swell stretch"""
)
"""Verbs after "how much did" that ask for no sum of money."""


def _of_noun(tokens: list[str], first: str) -> tuple[Kind, frozenset[str]]:  # noqa: PLR0911 -- one return for each kind
    """Return the kind of a question with `which` or `what` by the noun that it asks for."""
    at = tokens.index(first)
    noun = _head_noun(tokens, at)
    before = tokens[at - 1] if at else ""
    if noun in DATE_NOUNS:
        return Kind.DATE, frozenset()
    if noun in QUANTITY_NOUNS:
        measures = QUANTITY_NOUNS[noun]
        if noun == "number" and not CALLING & set(tokens) and not _of_person(tokens):
            measures = ()
        return Kind.QUANTITY, frozenset(measures) - {"count"} if "count" not in measures else frozenset()
    if noun == "address":
        return Kind.ADDRESS, frozenset()
    if noun in ("version", "release"):
        return Kind.VERSION, frozenset()
    if noun in PLACE_NOUNS:
        return Kind.PLACE, frozenset()
    if noun in PERSON_NOUNS:
        return Kind.PERSON, frozenset()
    if (before in ("until", "since") and noun) or _asks_for_limit(tokens, at, _EXTREME_DATES):
        return Kind.DATE, frozenset()
    if _asks_for_limit(tokens, at, _EXTREME_AMOUNTS):
        return Kind.QUANTITY, frozenset({"money"} if not _PAYING.isdisjoint(tokens) else ())
    money = not MONEY_WORDS.isdisjoint(tokens)
    if first == "what" and money and not _content_noun(tokens, at):
        return Kind.QUANTITY, frozenset({"money"})
    return Kind.THING, frozenset()


def _asks_for_limit(tokens: Sequence[str], at: int, extremes: frozenset[str]) -> bool:
    """Return whether it is "what is the latest I can …": a superlative before a pronoun."""
    after = tokens[at + 1 : at + 5]
    return (
        len(after) > 3
        and after[0] in COPULAS and after[1] == "the" and after[2] in extremes and after[3] in _PRONOUNS
    )  # fmt: skip


_EXTREME_DATES = frozenset({"latest", "earliest", "soonest"})
_EXTREME_AMOUNTS = frozenset({"most", "least", "maximum", "minimum", "highest", "lowest", "longest", "shortest"})
_PRONOUNS = frozenset({"i", "we", "you", "they", "he", "she", "one", "anyone", "that", "a", "an"})
_PAYING = MONEY_WORDS | {"spend"}


def _of_person(tokens: Sequence[str]) -> bool:
    """Return whether a number is asked for that belongs to one who does something: "number of the bee keeper"."""
    last = tokens[-1]
    return "of" in tokens and (last in PERSON_NOUNS or (last.endswith(("er", "or", "ist")) and last not in VERBS))


def _content_noun(tokens: list[str], at: int) -> bool:
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    return after not in AUXILIARIES


def _head_noun(tokens: list[str], at: int) -> str:
    """Return the noun after `which` or after `what is the`: the word before "of", a verb or the end."""
    rest = tokens[at + 1 :]
    if rest and rest[0] in AUXILIARIES:
        if rest[0] not in COPULAS:
            return ""
        rest = rest[1:]
        if rest and rest[0] in ("the", "a", "an", "our", "my", "your", "his", "her", "their"):
            rest = rest[1:]
        elif not rest or rest[0] not in QUANTITY_NOUNS:
            return ""
    noun = ""
    if rest[:1] and rest[0] in _PARTITIVES and rest[1:2] == ["of"]:  # "which piece of furniture"
        rest = rest[2:]
    for place, word in enumerate(rest[:4]):
        following = rest[place + 1 : place + 2]
        is_verb = noun and word in VERBS and not any(other in QUANTITY_NOUNS for other in following)  # "phone number"
        if word in STOP_WORDS or word in AUXILIARIES or is_verb:
            break
        noun = word
        is_of_compound = (tokens[at] == "which" and any(map(_is_plural, following))) or (
            word == "time" and any(noun in _TIMES for noun in following)
        )
        if not is_of_compound and (word in DATE_NOUNS or word in QUANTITY_NOUNS or word in PLACE_NOUNS):
            break
    return noun


_TIMES = word_set("signature zone zones sheet sheets limit frame lock scale budget off")
"""Nouns after "time" in compounds that ask for no time of day: "time zone"."""


def _is_plural(word: str) -> bool:
    """Return whether a word can only be the plural of a noun: "items" of "which budget items"."""
    return (
        word.endswith("s")
        and not word.endswith("ss")
        and not (word in VERBS or word in STOP_WORDS or word in AUXILIARIES)
    )


_SEVERAL = word_set(
    """options alternatives schemes kinds types modes formats methods ways features tools steps reasons backends
    arguments parameters flags fields values levels roles platforms languages changes requirements"""
)
"""Nouns after "what" of which there are several."""
_PARTITIVES = frozenset({"piece", "kind", "sort", "type"})
_IRREGULAR_PLURALS = frozenset({"children", "men", "people", "women"})


def focus_keys(tokens: list[str]) -> frozenset[str]:
    """Return the keys of the noun that names the kind of thing asked for: "which hospital", "which tickets"."""
    found = set()
    for at, token in enumerate(tokens):
        if token in ("which", "what") and at + 1 < len(tokens) and tokens[at + 1] not in AUXILIARIES | STOP_WORDS:
            noun = _head_noun(tokens, at)
            if noun:
                found.add(key_of(noun))
    return frozenset(found)


def asks_for_several(tokens: list[str], kind: Kind) -> bool:
    if kind is Kind.LIST or has_phrase(" ".join(tokens), TO_DO):
        return True
    for at, word in enumerate(tokens):
        is_noun = word == "what" and at + 1 < len(tokens) and tokens[at + 1] in _SEVERAL
        if (word == "which" or is_noun) and at + 1 < len(tokens):
            noun = _head_noun(tokens, at)
            return noun in _IRREGULAR_PLURALS or (noun.endswith("s") and not noun.endswith("ss"))
        if word in ("what", "who") and at + 1 < len(tokens):
            return tokens[at + 1] in ("are", "were", "all")
    return False


def asks_for_present(tokens: list[str]) -> bool:
    return not {"was", "were", "did", "had"} & set(tokens) and bool({"is", "are", "does", "do", "has"} & set(tokens))
