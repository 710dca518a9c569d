"""Relevance: the probabilities of units, by a cross-encoder and a ranker, beside the rules' scores.

A cross-encoder reads the question together with a unit, so it finds answers in other words than the question's. It is
much slower than the rules, so it reads only where what they choose does not cover the question, and then a shortlist:
the units that rules and embeddings rank first. The ranker makes probabilities of its logits. Where these are clear,
they decide which unit answers, or that none does; elsewhere they add to the scores. Cost: SHORTLIST units at most, in
steps; the later steps only where the first ones find nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance
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
UNANSWERED = 0.6
"""The probability of no answer from which on there is none."""
ANSWERED, BEST = (0.3, 0.2), (0.35, 0.25)
"""Greatest probabilities of no answer, and the least one of the best unit that each needs, to decide the answer."""
CERTAIN, CERTAIN_BEST = 0.05, 0.4
"""The same, if the rules find no answer."""
ALIKE, MAX_ALIKE, RIVAL = 0.35, 8, 0.4
"""The share of the best unit's probability that others of a list need, and the number of units in a list; the share
from which the second unit may state a later value."""
WEIGHT, WEIGHT_UNSURE = 1.5, 0.3
"""Weights of a probability in a score: if the probabilities decide, and if not.

All of these were chosen over five worlds that were held out of both trainings, three folders of notes that were read,
and those from which the rules were made (docs/answers.md).
"""
_CONTEXT_CHARS, _PREVIOUS_CHARS, _TEXT_CHARS = 160, 160, 400
_RANK_OFFSET = 10
_MAX_DISTANCE = 60.0


@dataclass(frozen=True, slots=True)
class UnitText:
    """A unit as a cross-encoder reads it: where it is, the sentence before it in its paragraph, and its own text."""

    context: str
    previous: str
    text: str


@dataclass(frozen=True, slots=True)
class PairReading:
    """The output of a cross-encoder for a question with each of some units: a logit, as (units,), and the state of its
    last hidden layer, as (units, width).
    """

    logits: NDArray[np.float32]
    states: NDArray[np.float32]


class CrossEncoder(Protocol):
    """Reads a question together with units."""

    @property
    def name(self) -> str:
        """Return the name of model and training."""
        ...

    async def read(self, question: str, units: Sequence[UnitText]) -> PairReading:
        """Return the reading of the units, in their order. Raises Broken if the model cannot be loaded."""
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
    by_score, by_similarity = ranks_of(scores), ranks_of(similarities)
    joined = 1.0 / (_RANK_OFFSET + by_score) + 1.0 / (_RANK_OFFSET + by_similarity)
    return [int(place) for place in np.argsort(-joined, kind="stable")[:SHORTLIST]]


def ranks_of(values: Sequence[float]) -> NDArray[np.int64]:
    """Return 0 for the greatest value, 1 for the next one, and so on; equal values in their order."""
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(-np.asarray(values), kind="stable")] = np.arange(len(values))
    return ranks


def none_logit(units: int) -> float:
    """Return the logit of "nothing answers" beside a number of units; see TRAINED_UNITS."""
    return math.log(max(1, units) / TRAINED_UNITS)


def relevance_of(places: Sequence[int], logits: Sequence[float], none: float | None = None) -> Relevance:
    """Return the softmax over the logits and that of "nothing answers", by default none_logit of their number."""
    everything = np.array([*logits, none_logit(len(places)) if none is None else none], np.float64)
    exponentials = np.exp(np.maximum(everything - everything.max(), -_MAX_DISTANCE))
    *shares, rest = (exponentials / exponentials.sum()).tolist()
    return Relevance(dict(zip(places, shares, strict=True)), rest)


def read_count(logits: Sequence[float]) -> int:
    """Return how many units of a shortlist are read, by the logits of those read so far: AT_ONCE, or all if these seem
    to answer nothing.
    """
    first = logits[:AT_ONCE]
    return len(first) if relevance_of(range(len(first)), first).none < CLEAR else SHORTLIST


def weigh(evidence: AnswerEvidence, relevance: Relevance) -> None:
    """Add to the score of each unit read a weight times the probability that it answers."""
    weight = WEIGHT if finds_answer(relevance) else WEIGHT_UNSURE
    for place, probability in relevance.units.items():
        evidence.scored[place].score += weight * probability


def finds_answer(relevance: Relevance) -> bool:
    """Return whether the probabilities of the units decide which one answers."""
    best = max(relevance.units.values(), default=0.0)
    return any(
        relevance.none <= max_none and best >= min_best for max_none, min_best in zip(ANSWERED, BEST, strict=True)
    )


def is_certain(relevance: Relevance) -> bool:
    """Return whether a unit answers even where the rules find no answer."""
    return relevance.none <= CERTAIN and max(relevance.units.values(), default=0.0) >= CERTAIN_BEST


def finds_nothing(relevance: Relevance) -> bool:
    """Return whether the probabilities of the units decide that none answers."""
    return relevance.none >= UNANSWERED


def by_probability(relevance: Relevance) -> list[int]:
    """Return the places of the units read, the most probable first."""
    return sorted(relevance.units, key=lambda place: -relevance.units[place])


def rivals(relevance: Relevance) -> list[int]:
    """Return the places of the most probable unit and of the next one, if that is nearly as probable."""
    first, *others = by_probability(relevance)[:2]
    return [first, *(place for place in others if relevance.units[place] >= RIVAL * relevance.units[first])]


def alike(relevance: Relevance) -> list[int]:
    """Return the places of the most probable unit and those nearly as probable, the most probable first."""
    best = max(relevance.units.values(), default=0.0)
    return [place for place in by_probability(relevance) if relevance.units[place] >= ALIKE * best][:MAX_ALIKE]
