"""Pairs of predicates in the form of pairs of labels, in which verdicts on them are asked for and stored.

A predicate takes the place of a label's name, and `PREDICATE_TYPE`, which no document can give a label, that of its
type. Databases keep no other row for a link. Invariant: a stored verdict is negative, the complement, while its link
does not hold; so the links of a graph are the pairs of predicates whose stored verdict is positive and odd.
"""

from __future__ import annotations

from graphtide.graph.resolution.pair_scoring import PairKey, Verdict

PREDICATE_TYPE = "\x1fpredicate"
"""The normal form of a type has no control characters."""
PredicatePair = tuple[str, str]
"""Two predicates in ascending order."""
_PAST = frozenset({"was", "were", "had", "did", "been", "former", "formerly", "previously", "ex", "until", "once"})
_NEGATIVE = frozenset({"not", "no", "never", "without", "non", "cannot", "isn't", "wasn't", "doesn't", "didn't"})


def pair_of(a: str, b: str) -> PairKey:
    """Return the key under which a verdict on two predicates is stored."""
    first, second = sorted((a, b))
    return (first, PREDICATE_TYPE), (second, PREDICATE_TYPE)


def is_predicate_pair(pair: PairKey) -> bool:
    """Return whether a verdict is on two predicates."""
    return pair[0][1] == PREDICATE_TYPE


def predicates_of(pair: PairKey) -> PredicatePair:
    """Return the predicates of a pair, in ascending order."""
    return pair[0][0], pair[1][0]


def decoded(stored: Verdict) -> Verdict:
    """Return the judge's verdict of a stored one, whether its link holds or not."""
    return stored if stored >= 0 else ~stored


def meaning_class(predicate: str) -> tuple[bool, bool, tuple[str, ...]]:
    """Return (past tense, negated, numbers) of a predicate. Predicates of different classes are never merged.

    A past tense counts because it claims nothing about the present: "was mayor of" does not contradict "mayor of".
    It is recognised by its auxiliary in an active sentence; the passive "was founded by" is not past in this sense.
    """
    words = predicate.casefold().replace("_", " ").split()
    passive = len(words) > 1 and words[0] in ("was", "were") and words[1].endswith(("ed", "en", "wn", "lt", "nt"))
    past = any(word in _PAST for word in (words[1:] if passive else words))
    numbers = tuple(sorted(word for word in words if any(letter.isdigit() for letter in word)))
    return past, any(word in _NEGATIVE for word in words), numbers
