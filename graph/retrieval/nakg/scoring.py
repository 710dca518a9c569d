"""Relevance of a passage: its words, their order, its meaning (section 7).

Invariant: a score depends on one passage, the question, and the weights of the question's words among the candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from graphtide.graph.retrieval.scoring import terms
from graphtide.graph.retrieval.scoring.pair_scoring import Scores

Places = Mapping[str, Sequence[int]]

PARTIAL = 0.5
STEM = 4  # minimum of common first letters for a partial match of two words


@dataclass(frozen=True, slots=True)
class Lexical:
    """The shares of the question's words (n,), and of their order (n,), in each of n texts, from 0 to 1."""

    words: Scores
    order: Scores


@dataclass(frozen=True, slots=True)
class Scoring:
    """The score of each candidate passage, (n,), by term and in total; `linked` is passed on by linked passages."""

    lexical: Lexical
    meaning: Scores
    linked: Scores
    total: Scores


def lexical(question: str, texts: Sequence[str]) -> Lexical:
    """Return both scores of every text. Cost: linear in the length of the texts."""
    sequence = terms.words(question)
    asked = sorted(set(sequence))
    spaced = [terms.spaced(text) for text in texts]
    places = [positions(text.split(), frozenset(asked)) for text in spaced]
    known = [word for word in asked if any(word in found for found in places)]
    contained = np.array([[word in found for word in known] for found in places], bool).reshape(len(texts), len(known))
    weight = dict(zip(known, terms.weights(contained).tolist(), strict=True))
    sequence = [word for word in sequence if word in weight]
    rows = zip(spaced, places, strict=True)
    whole = contained @ np.array([weight[word] for word in known])
    in_part = np.array([partial(text, found, weight) for text, found in rows])
    return Lexical(whole + in_part, np.array([ordered(sequence, found, weight) for found in places]))


def partial(text: str, places: Places, weight: Mapping[str, float]) -> float:
    """Return the weight of missing words with a partial match: all but two letters, at least STEM, begin alike."""
    missing = (word for word in weight if len(word) > STEM and word not in places)
    return PARTIAL * sum(weight[word] for word in missing if f" {word[: max(STEM, len(word) - 2)]}" in text)


def positions(tokens: Sequence[str], asked: frozenset[str]) -> dict[str, list[int]]:
    """Return the positions of each of the question's words in a text, ascending."""
    found: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        if token in asked:
            found.setdefault(token, []).append(place)
    return found


def ordered(sequence: Sequence[str], places: Places, weight: Mapping[str, float]) -> float:
    """Return how closely the question's words follow each other in the text as in the question, from 0 to 1.

    For two neighbours in the question: one over the smallest distance at which the second follows the first, 0 if it
    never does; the mean over the neighbours, weighted by their words. The paper says "proximity-based scoring" and
    gives no formula.
    """
    near = total = 0.0
    for one, other in pairwise(sequence):
        share = weight[one] + weight[other]
        total += share
        if one in places and other in places:
            near += share / gap if (gap := _gap(places[one], places[other])) else 0.0
    return near / total if total else 0.0


def _gap(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the smallest distance from a position of `one` to a later position of `other`; 0 for none."""
    return min((b - a for a in one for b in other if b > a), default=0)


def separated(scores: Scores, temperature: float, decay: float) -> Scores:
    """Return sorted scores, best first, separated: sigmoid(T (s - mean)) times decay to the power of the rank (section
    7).

    The order stays: the first factor grows with the score, the second falls with the rank.
    """
    found: Scores = 1 / (1 + np.exp(-temperature * (scores - scores.mean()))) * decay ** np.arange(len(scores))
    return found
