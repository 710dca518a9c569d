"""Pair scoring: the decision on one pair of labels, which is to link, not to link, or to ask a judge.

It combines the similarity of words and of vectors, and a judge's verdict if there is one. The judge itself is outside:
the caller asks it and passes its verdicts. Clustering is in `clusters.py`.

Invariant: `score_pair` is symmetric and depends on the two labels and the verdict on this pair alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.resolution.label_features import Signature, parse_label
from graphtide.graph.resolution.similarity import Quantised, cosine_milli, match_rule, quantise

LabelKey = tuple[str, str]
"""Normalised name and type, "" for an unknown type."""
PairKey = tuple[LabelKey, LabelKey]
Verdict = int
"""A judge's verdict as it is stored (`synonyms/questions.py`): odd when the two labels denote one entity."""


class ResolvableLabel(Protocol):
    """One live label: an object of the caller, to which the resolver refers and of which it holds no copy."""

    @property
    def key(self) -> LabelKey:
        """Return name and type, which identify the label and break ties."""

    def mean(self) -> NDArray[np.float32] | None:
        """Return the mean of its mentions' vectors, `(d,)` of unit length, or None."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelView:
    """A label that never changes; `name` and `type` are normalised, `vector` is its mean."""

    name: str
    type: str
    vector: NDArray[np.float32] | None

    @property
    def key(self) -> LabelKey:
        """Return name and type."""
        return self.name, self.type

    def mean(self) -> NDArray[np.float32] | None:
        """Return the vector."""
        return self.vector


@dataclass(frozen=True, slots=True)
class Proposal:
    """A link that the pair itself justifies. `general` is the less specific side (0 or 1), or -1."""

    rule: str
    score_milli: int
    general: int


@dataclass(frozen=True, slots=True)
class Borderline:
    """The pair needs a verdict; `link` is what a positive one justifies. `by_context`: the judge sees statements."""

    link: Proposal
    by_context: bool = False


JUDGED_PENALTY = 50  # a judge's positive verdict scores slightly less than a decision by words and vectors

KEPT_SIGNATURES = 8_192
"""Signatures that the process remembers, of all graphs: some 400 bytes each; another one is parsed in some 20 us."""

_signature = lru_cache(maxsize=KEPT_SIGNATURES)(parse_label)


def signature_of(label: ResolvableLabel) -> Signature:
    """Return the words of a label, which are parsed unless they are among the last used ones."""
    return _signature(*label.key)


def rounded(mean: NDArray[np.float32] | None) -> Quantised | None:
    """Return a mean in the form in which cosines are exact: all of it on which resolution depends."""
    return None if mean is None else quantise(mean)


def rounded_mean(label: ResolvableLabel) -> Quantised | None:
    """Return the rounded mean of a label. Cost: some operations on a vector."""
    return rounded(label.mean())


def pair_key(a: ResolvableLabel, b: ResolvableLabel) -> PairKey:
    """Return the key of a pair's verdict, equal in both orders."""
    first, second = a.key, b.key
    return (first, second) if first <= second else (second, first)


def score_pair(
    a: ResolvableLabel, b: ResolvableLabel, verdicts: Mapping[PairKey, Verdict]
) -> Proposal | Borderline | None:
    """Score one pair by rules and verdicts; `Borderline` while a verdict is missing."""
    found = assess_pair(a, b)
    if not isinstance(found, Borderline):
        return found
    verdict = verdicts.get(pair_key(a, b))
    if verdict is None:
        return found
    return found.link if verdict & 1 else None


def assess_pair(a: ResolvableLabel, b: ResolvableLabel) -> Proposal | Borderline | None:
    """Assess one pair by rules. The score is the mean of the lexical and the vector similarity, in thousandths."""
    relation = match_rule(signature_of(a), signature_of(b))
    if relation is None:
        return None
    rule = relation.rule
    first, second = rounded_mean(a), rounded_mean(b)
    if first is None or second is None:
        return Proposal(rule.name, relation.lexical_milli, relation.general) if rule.blind else None
    cosine = cosine_milli(first, second)
    score = (relation.lexical_milli + max(cosine, 0)) // 2
    if cosine >= rule.floor:
        return Proposal(rule.name, score, relation.general)
    if cosine < rule.ask:
        return None
    return Borderline(Proposal("judge", score - JUDGED_PENALTY, relation.general))
