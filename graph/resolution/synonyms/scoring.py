"""Synonym scoring: the decision if a pair of labels with different words is worth a question to a judge.

Invariant: `assess_synonym` is symmetric, depends on the two labels alone, and never links a pair by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.resolution.cannot_link import cannot_link_reason
from graphtide.graph.resolution.label_features import Signature
from graphtide.graph.resolution.pair_scoring import (
    JUDGED_PENALTY,
    Borderline,
    Proposal,
    ResolvableLabel,
    rounded_mean,
    signature_of,
)
from graphtide.graph.resolution.similarity import LONGEST, STEP, cosine_milli

RULE = "synonym"
MIN_COSINE_MILLI = 600
"""Below it the static model and MiniLM find few synonyms: "car" and "automobile" have .67, "Apple" and "orange" .1."""


def is_eligible(label: Signature) -> bool:
    """Return whether a label may have synonyms: it is no pronoun, date or sentence."""
    return not label.is_generic and not label.is_dated and 0 < len(label.words) <= LONGEST


def is_similar(a: NDArray[np.float32], b: NDArray[np.float32]) -> bool:
    """Return whether the cosine of two quantised vectors, as float32, suffices for a question; exact as there."""
    return int(np.dot(a, b)) * 1000 // (STEP * STEP) >= MIN_COSINE_MILLI


def assess_synonym(a: ResolvableLabel, b: ResolvableLabel) -> Borderline | None:
    """Return the link that a judge's positive verdict justifies; None for a pair that is not worth a question.

    Both must be of one type, or one type unknown, and have vectors with a cosine of `MIN_COSINE_MILLI` or more. A pair
    that a cannot-link constraint separates is never asked about. The score is below that of any decision by words.
    """
    type_, other = a.key[1], b.key[1]
    if type_ and other and type_ != other:
        return None
    first, second = rounded_mean(a), rounded_mean(b)
    if first is None or second is None:
        return None
    cosine = cosine_milli(first, second)
    if cosine < MIN_COSINE_MILLI or cannot_link_reason(signature_of(a), signature_of(b)) is not None:
        return None
    return Borderline(Proposal(RULE, cosine // 2 - JUDGED_PENALTY, -1), by_context=True)
