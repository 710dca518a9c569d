"""Relevance: what a cross-encoder says about the units, beside the rules' scores.

A cross-encoder reads the question together with a unit, so it finds answers in other words than the question's. It is
much slower than the rules, so it reads only where what they choose does not cover the question, and then a shortlist:
the units that rules and embeddings rank first. The probability that a unit answers the question adds to its score; the
probability that none does decides, where it is clear, whether there is an answer. Cost: SHORTLIST units at most, in
steps; the later steps only where the first ones find nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance, Scored
from graphtide.infra.models.local.answers.units import Unit, UnitKind

SHORTLIST, AT_ONCE = 48, 24
"""Units that are read, and how many of them at first."""
CLEAR = 0.2
"""The probability of no answer below which the rest of the shortlist is not read."""
TRAINED_UNITS = 11
"""Units of a question in the training, where the logit of "nothing answers" is 0. More units have more logits that are
great by chance, so it is the logarithm of their number over this one.
"""
COVERED = 0.85
"""The share of a question from which on what the rules choose needs no cross-encoder."""
ANSWERED, UNANSWERED = 0.3, 0.7
"""Probabilities of no answer: up to the first there may be one, from the second on there is none."""
CERTAIN, SHARE = 0.5, 0.1
"""The probability of the best unit from which on the cross-encoder is sure; and what the chosen units need of it."""
WEIGHT, WEIGHT_UNSURE = 1.5, 0.3
"""Weights of a probability in a score: if the cross-encoder is sure, and if not.

All of these were chosen over five collections of notes that were held out of the training and the folders from which
the rules were made (docs/answers.md).
"""
_CONTEXT_CHARS, _PREVIOUS_CHARS, _TEXT_CHARS = 160, 160, 400
_RANK_OFFSET = 10
_MAX_LOGIT = 30.0


@dataclass(frozen=True, slots=True)
class UnitText:
    """A unit as a cross-encoder reads it: where it is, the sentence before it in its paragraph, and its own text."""

    context: str
    previous: str
    text: str


class CrossEncoder(Protocol):
    """Reads a question together with units."""

    @property
    def name(self) -> str:
        """Return the name of model and training."""
        ...

    async def logits(self, question: str, units: Sequence[UnitText]) -> NDArray[np.float32]:
        """Return a logit for each unit. Raises Broken if the model cannot be loaded."""
        ...


def unit_text(unit: Unit) -> UnitText:
    """Return a unit with its headings and the date of its document."""
    parts = dict.fromkeys(part for part in (unit.title, *unit.headings[-2:], unit.lead_in) if part)
    context = " > ".join(parts)
    if unit.date != (0, 0, 0):
        context += " ({}-{:02}-{:02})".format(*unit.date)
    before = unit.before if unit.kind is UnitKind.SENTENCE else None
    previous = before.text if before is not None and before.block == unit.block else ""
    return UnitText(context[:_CONTEXT_CHARS], previous[-_PREVIOUS_CHARS:], unit.text[:_TEXT_CHARS])


def shortlist(scores: Sequence[float], similarities: Sequence[float]) -> list[int]:
    """Return the places of the units to read, the most promising first.

    The two rankings are joined by reciprocal ranks (Cormack et al. 2009). Deviation: 10 instead of 60 is added to a
    rank, so that the first of either counts.
    """
    by_score, by_similarity = _ranks(scores), _ranks(similarities)
    joined = 1.0 / (_RANK_OFFSET + by_score) + 1.0 / (_RANK_OFFSET + by_similarity)
    return [int(place) for place in np.argsort(-joined, kind="stable")[:SHORTLIST]]


def _ranks(values: Sequence[float]) -> NDArray[np.int64]:
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(-np.asarray(values), kind="stable")] = np.arange(len(values))
    return ranks


def relevance_of(places: Sequence[int], logits: Sequence[float]) -> Relevance:
    """Return the softmax over the logits and that of "nothing answers"."""
    exponentials = np.exp(np.clip(np.asarray(logits, np.float64), -_MAX_LOGIT, _MAX_LOGIT))
    none = max(1, len(places)) / TRAINED_UNITS
    total = none + float(exponentials.sum())
    shares = (float(value) / total for value in exponentials)
    return Relevance(dict(zip(places, shares, strict=True)), none / total)


def weigh(evidence: AnswerEvidence, relevance: Relevance) -> None:
    """Add to the score of each unit read a weight times the probability that it answers."""
    evidence.relevance = relevance
    weight = WEIGHT if finds_answer(evidence) else WEIGHT_UNSURE
    for place, probability in relevance.units.items():
        evidence.scored[place].score += weight * probability


def finds_answer(evidence: AnswerEvidence) -> bool:
    """Return whether a cross-encoder is sure of a unit that answers."""
    relevance = evidence.relevance
    if relevance is None or relevance.none > ANSWERED:
        return False
    return max(relevance.units.values(), default=0.0) >= CERTAIN


def finds_nothing(evidence: AnswerEvidence) -> bool:
    """Return whether a cross-encoder is sure that no unit answers."""
    return evidence.relevance is not None and evidence.relevance.none >= UNANSWERED


def has_found(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> bool:
    """Return whether a cross-encoder is sure of an answer, and the chosen units have a share of it."""
    if evidence.relevance is None or not finds_answer(evidence):
        return False
    probabilities = evidence.relevance.units.items()
    among = (value for place, value in probabilities if any(evidence.scored[place] is one for one in chosen))
    return sum(among) >= SHARE
