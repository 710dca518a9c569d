"""Pair scoring: the decision on one pair of labels, which is to link, not to link, or to ask a judge.

It combines the similarity of words and of vectors, and a judge's verdict if there is one. The judge itself is outside:
the caller asks it and passes its verdicts. Clustering is in `clusters.py`.

Invariant: `score_pair` is symmetric and depends on the two labels and the verdict on this pair alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.resolution.label_features import Signature, parse_label
from graphtide.graph.resolution.similarity import Quantised, cosine_milli, match_rule, quantise
from graphtide.graph.vector_store import VECTOR_BYTES, VectorBytes, stored
from graphtide.graph.vector_sum import unit_of, vector_of

_QUANTISED = np.dtype(np.int16)


@dataclass(frozen=True, slots=True, eq=False)
class LabelView:
    """One live label as the caller passes it to the resolver.

    `name` and `type` are normalised ("" for an unknown type); `vector` is the mean of its mentions, `(d,)` float32 of
    unit length, or None. `same` has the bytes of the float16 vector that all mentions have, if they have one: the
    resolver then refers to these, and holds no vector of its own.
    """

    name: str
    type: str
    vector: NDArray[np.float32] | None
    same: VectorBytes | None = None


LabelKey = tuple[str, str]
PairKey = tuple[LabelKey, LabelKey]
Verdict = int
"""A judge's verdict as it is stored (`synonyms/questions.py`): odd when the two labels denote one entity."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelFeatures(Signature):
    """A label prepared for comparison: its signature, and its vector or the bytes of that from which it is computed."""

    vector_source: Quantised | VectorBytes | None

    @property
    def vector(self) -> Quantised | None:
        """Return the mean in the form in which cosines are exact. Cost: operations on a vector where it is shared."""
        if not isinstance(self.vector_source, VECTOR_BYTES):
            return self.vector_source
        mean = unit_of(vector_of(self.vector_source))
        return None if mean is None else quantise(mean)

    @property
    def key(self) -> LabelKey:
        """Return (name, type), the key that breaks ties."""
        return self.name, self.type


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


def label_features(view: LabelView, known: Signature | None = None) -> LabelFeatures:
    """Return a label's features; `known` is its signature if name and type are unchanged. Cost: linear in name and
    vector.
    """
    of = known if known is not None else parse_label(view.name, view.type)
    vector: Quantised | VectorBytes | None = view.same
    if view.vector is None:
        vector = None
    elif vector is None:
        vector = vector_of(stored(quantise(view.vector).tobytes()), _QUANTISED)
    return LabelFeatures(of.name, of.type, of.words, of.tail, of.numbers, of.letters, of.traits, vector)


def pair_key(a: LabelFeatures, b: LabelFeatures) -> PairKey:
    """Return the key of a pair's verdict, equal in both orders."""
    return (a.key, b.key) if a.key <= b.key else (b.key, a.key)


def score_pair(a: LabelFeatures, b: LabelFeatures, verdicts: Mapping[PairKey, Verdict]) -> Proposal | Borderline | None:
    """Score one pair by rules and verdicts; `Borderline` while a verdict is missing."""
    found = assess_pair(a, b)
    if not isinstance(found, Borderline):
        return found
    verdict = verdicts.get(pair_key(a, b))
    if verdict is None:
        return found
    return found.link if verdict & 1 else None


def assess_pair(a: LabelFeatures, b: LabelFeatures) -> Proposal | Borderline | None:
    """Assess one pair by rules. The score is the mean of the lexical and the vector similarity, in thousandths."""
    relation = match_rule(a, b)
    if relation is None:
        return None
    rule = relation.rule
    first, second = a.vector, b.vector
    if first is None or second is None:
        return Proposal(rule.name, relation.lexical_milli, relation.general) if rule.blind else None
    cosine = cosine_milli(first, second)
    score = (relation.lexical_milli + max(cosine, 0)) // 2
    if cosine >= rule.floor:
        return Proposal(rule.name, score, relation.general)
    if cosine < rule.ask:
        return None
    return Borderline(Proposal("judge", score - JUDGED_PENALTY, relation.general))
