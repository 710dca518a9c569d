"""The limits of a question on its answer: counted nouns, attributes, permissions, options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from graphtide.infra.models.local.answers.questions.lexicon import (
    AUXILIARIES,
    BEFORE_OBJECTS,
    BOUNDS,
    COMPARATIVES,
    MAX_OPTION_WORDS,
    MIN_DEED_WORDS,
    MODALS,
    NOT_COMPARATIVE,
)
from graphtide.infra.models.local.answers.thesaurus import WEAK
from graphtide.infra.models.local.answers.words import (
    ARTICLES,
    STOP_WORDS,
    Word,
    key_of,
    keys_of,
    word_set,
    words_of,
)
from graphtide.infra.models.local.english.lexical.verbs import VERBS


def bound_words(tokens: Sequence[str]) -> Iterator[str]:
    """Yield the words of a limit, which the rows beyond it need not have."""
    yield from (token for token in tokens if token in BOUNDS or token[0].isdigit())


def deed_of(tokens: Sequence[str]) -> str:
    """Return the key of the word before the object of a question with a modal verb, "" without one."""
    if len(tokens) < MIN_DEED_WORDS or tokens[0] not in MODALS:
        return ""
    end = next((at for at, token in enumerate(tokens[2:], 2) if token in BEFORE_OBJECTS), 0)
    return key_of(tokens[end - 1]) if end > 2 else ""


def attribute_of(tokens: Sequence[str]) -> str:
    """Return the key of the noun before "of" or "for" in "what is the …", "" if it says little."""
    if tokens[:1] != ["what"] or tokens[1:3] not in (["is", "the"], ["are", "the"], ["was", "the"], ["were", "the"]):
        return ""
    end = next((at for at, token in enumerate(tokens) if token in ("of", "for")), 0)
    if 3 < end == len(tokens) - 1 and not tokens[end - 1].endswith("ed"):
        end = 0
    key = key_of(tokens[end - 1]) if end > 3 else ""
    return "" if key in WEAK or key in _PARTITIVES else key


_PARTITIVES = keys_of("bit piece lump amount part share rest kind sort type")
"""Nouns whose "of" names the thing asked for: "the biggest bit of sodium"."""
_PERSONS = frozenset({key_of("people")})


def counted_noun(tokens: Sequence[str]) -> str:
    """Return the key of the noun after "how many", "" if it says little."""
    at = next((at for at, pair in enumerate(pairwise(tokens)) if pair == ("how", "many")), -1)
    if at < 0 or at + 2 >= len(tokens):
        return ""
    noun = next((token for token in tokens[at + 2 :] if token not in _QUALIFYING), "")
    key = key_of(noun)
    return "" if not noun or (key in WEAK and key not in _PERSONS) or noun in STOP_WORDS else key


_QUALIFYING = word_set("different new old separate single spare extra free empty full whole additional further")
"""Adjectives between "how many" and what is counted."""


def options_of(text: str) -> tuple[tuple[frozenset[str], ...], bool]:
    """Return the two options of a question, and whether they are alternatives of a yes-or-no question."""
    words = words_of(text)
    places = [at for at, word in enumerate(words) if word.text.lower() == "or" and not _is_between_signs(words, at)]
    if len(places) != 1:
        return _than_options(words), False
    at = places[0]
    right = _named_first(words[at + 1 :])
    left = _left_option(text, words[:at], len(right))
    if not left or not right or len(right) > MAX_OPTION_WORDS:
        return (), False
    named = all(word.capital or word.coded for word in (*left, *right)) and words[0].text.lower() == "which"
    comparing = named or any(is_comparative(word.text.lower()) for word in words)
    return (frozenset(word.key for word in left), frozenset(word.key for word in right)), not comparing


def _is_between_signs(words: Sequence[Word], at: int) -> bool:
    """Return whether "or" joins two comparatives: "more or less than", "older or younger than"."""
    beside = [word.text.lower() for word in (*words[max(0, at - 1) : at], *words[at + 1 : at + 2])]
    return len(beside) == 2 and all(map(is_comparative, beside)) and "than" in (word.text for word in words[at + 2 :])


def _than_options(words: Sequence[Word]) -> tuple[frozenset[str], ...]:
    """Return the two things that a yes-or-no question compares: "did the Elm sell more than the Oak", "is the red kiln
    hotter than the blue kiln".
    """
    at = next((at for at, word in enumerate(words) if word.text == "than"), 0)
    if not at or words[0].text.lower() not in AUXILIARIES:
        return ()
    left, right = words[1:at], words[at + 1 :]
    sides = (_first_name(left), _first_name(right))
    if not all(sides):
        sides = (_thing(left), _thing(right))
        shared = sides[0] & sides[1]
        if not (shared or (_has_article(left) and _has_article(right))):
            return ()
        sides = (sides[0] - shared, sides[1] - shared)
    return sides if all(sides) and sides[0] != sides[1] else ()


def _has_article(words: Sequence[Word]) -> bool:
    return bool(words) and words[0].text.lower() in ARTICLES


def _thing(words: Sequence[Word]) -> frozenset[str]:
    """Return the keys of the nouns that a side begins with; none for a number, a deed or too many words."""
    found = _named_first(words)
    first = found[0].text.lower() if found else ""
    is_deed = first in VERBS or _is_past(first) or is_comparative(first)
    if (is_deed and not _has_article(words)) or len(found) > MAX_OPTION_WORDS or any(word.coded for word in found):
        return frozenset()
    return frozenset(word.key for word in found)


def _first_name(words: Sequence[Word]) -> frozenset[str]:
    """Return the keys of the first run of names or codes; a name may have "and" or "of" within."""
    run: list[Word] = []
    for word in words:
        if word.capital or word.coded or (run and word.text in ("and", "of", "the")):
            run.append(word)
        elif run:
            break
        elif word.text.lower() not in STOP_WORDS:
            return frozenset()
    return frozenset(word.key for word in run if word.text.lower() not in STOP_WORDS)


def _left_option(text: str, words: Sequence[Word], count: int) -> list[Word]:
    """Return the words of the option before "or": after the last comma, else capitalised, else as many as after."""
    comma = text.rfind(",", 0, words[-1].start) if words else -1
    if comma >= 0:
        return [word for word in words if word.start > comma and word.text.lower() not in STOP_WORDS]
    names: list[Word] = []
    for word in reversed(words):
        if not (word.capital or word.coded) or word.text.lower() in AUXILIARIES:
            break
        names.append(word)
    content = [word for word in words if word.text.lower() not in STOP_WORDS]
    return names or content[-max(1, count) :]


def _named_first(words: Sequence[Word]) -> list[Word]:
    """Return the content words up to a comparative or a verb, which both options have: "the loft bigger"."""
    found: list[Word] = []
    for word in words:
        lower = word.text.lower()
        if found and (lower in VERBS or _is_past(lower) or is_comparative(lower)):
            break
        if lower not in STOP_WORDS and lower not in ("one", "ones"):
            found.append(word)
    return found


def _is_past(word: str) -> bool:
    return len(word) > 4 and word.endswith("ed")


def is_comparative(word: str) -> bool:
    """Return whether a word compares, by its form: "older", "more"."""
    if word in COMPARATIVES:
        return True
    return len(word) > 4 and word.endswith(("er", "est")) and word not in NOT_COMPARATIVE
