"""Relevance: the probabilities of units, by a cross-encoder and a ranker.

A cross-encoder reads the question together with a unit, so it finds answers in other words than the question's. It is
much slower than the rules, so it reads a shortlist: the units that rules and embeddings rank first. The ranker makes
probabilities of what it read, and these decide: whether a unit answers, which one, and which others are parts of the
answer. Cost: SHORTLIST units at most, in steps; the later steps only where the first ones find nothing; FEW where the
rules cover the question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance
from graphtide.infra.models.local.answers.units import Unit, UnitKind

SHORTLIST, AT_ONCE, FEW = 48, 24, 12
"""Units that are read, how many of them at first, and how many if the rules cover the question."""
CLEAR = 0.2
"""The probability of no answer below which the rest of the shortlist is not read."""
TRAINED_UNITS = 11
"""Units of a question in the training, where the logit of "nothing answers" is 0. More units have more logits that are
great by chance, so it is the logarithm of their number over this one.
"""
COVERED = 0.85
"""The share of a question from which on the rules cover it, so that FEW units are read."""
UNANSWERED, UNANSWERED_BY_RULES, UNANSWERED_PARTLY = 0.45, 0.25, 0.1
"""The probability of no answer from which on there is none; the same if the rules find none, either; and if in addition
the most probable unit is no part of the answer with the probability PART, unless several are asked for.
"""
UNANSWERED_AGREED, AGREED_SCORE = 0.8, 1.1
"""The same where the most probable unit is one that the rules chose, they cover the question, and the unit has the type
asked for and this score.
"""
UNANSWERED_STATED = 0.95
"""The same where the most probable unit itself has every word of the question, and a person, a date or a quantity that
is asked for.
"""
AGREED, AGREED_COVERING = 2.0, 6.0
"""The factor by which the best unit may be more probable than those of the rules, which then answer; the same if these
cover the question.
"""
PART, PART_OF_SEVERAL, MAX_PARTS = 0.65, 0.4, 8
"""The probability that a unit beside the best one needs as a part of the answer; the same for a question that asks for
several things; and the number of units of an answer.
"""
NO_PART = 0.05
"""The probability of being a part of the answer below which a sentence that the rules chose is left out."""
ALIKE = 0.8
"""The share of the best unit's probability from which on another one answers alike, if several things are asked for."""
WEIGHT = 1.5
"""Weight of a probability in a score, where the rules choose among units with scores."""
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
    above = (unit.title, *unit.headings[-2:], unit.lead_in, unit.label, unit.speaker)
    context = " > ".join(dict.fromkeys(filter(None, above)))
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


def relevance_of(
    places: Sequence[int], logits: Sequence[float], none: float | None = None, parts: Sequence[float] = ()
) -> Relevance:
    """Return the softmax over the logits and that of "nothing answers", by default none_logit of their number; and the
    logistic function of the logits of parts.
    """
    everything = np.array([*logits, none_logit(len(places)) if none is None else none], np.float64)
    exponentials = np.exp(np.maximum(everything - everything.max(), -_MAX_DISTANCE))
    *shares, rest = (exponentials / exponentials.sum()).tolist()
    of_parts = 1 / (1 + np.exp(-np.clip(np.asarray(parts, np.float64), -_MAX_DISTANCE, _MAX_DISTANCE)))
    return Relevance(dict(zip(places, shares, strict=True)), rest, dict(zip(places, of_parts.tolist(), strict=False)))


def read_count(logits: Sequence[float]) -> int:
    """Return how many units of a shortlist are read, by the logits of those read so far: AT_ONCE, or all if these seem
    to answer nothing.
    """
    first = logits[:AT_ONCE]
    return len(first) if relevance_of(range(len(first)), first).none < CLEAR else SHORTLIST


def weigh(evidence: AnswerEvidence, relevance: Relevance) -> None:
    """Add to the score of each unit read a weight times the probability that it answers."""
    for place, probability in relevance.units.items():
        evidence.scored[place].score += WEIGHT * probability


class Support(Enum):
    """Statement of the rules about the most probable unit: none, as they find no answer; that there is one; that
    this unit is one, which covers the question; that it states each word of the question.
    """

    NONE = "none"
    ANSWER = "answer"
    AGREED = "agreed"
    STATED = "stated"


def finds_nothing(relevance: Relevance, support: Support, several: bool = False) -> bool:
    """Return whether no unit answers: the more the rules support the most probable one, the more certain it has to be
    that none does. Where `several` things are asked for, alike units share the probability, so each may be small.
    """
    best = most_probable(relevance)
    is_part = several or (best is not None and relevance.parts.get(best, 0.0) >= PART)
    limits = {
        Support.NONE: UNANSWERED_BY_RULES if is_part else UNANSWERED_PARTLY,
        Support.ANSWER: UNANSWERED,
        Support.AGREED: UNANSWERED_AGREED,
        Support.STATED: UNANSWERED_STATED,
    }
    return relevance.none >= limits[support]


def most_probable(relevance: Relevance) -> int | None:
    """Return the place of the most probable unit, None without units."""
    return max(relevance.units, key=relevance.units.__getitem__, default=None)


def answer_parts(relevance: Relevance, several: bool) -> list[int]:
    """Return the places of the most probable unit and of those that are parts of the answer, the most probable first;
    none without units. Where `several` things are asked for, those that answer about as probably are parts, too.
    """
    ranked = sorted(relevance.units, key=lambda place: -relevance.units[place])
    min_share = PART_OF_SEVERAL if several else PART
    alike = ALIKE * relevance.units[ranked[0]] if several and ranked else math.inf

    def is_part(place: int) -> bool:
        return relevance.parts[place] >= min_share or relevance.units[place] >= alike

    return [place for place in ranked if place == ranked[0] or is_part(place)][:MAX_PARTS]
