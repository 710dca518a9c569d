"""Judgement of chosen units: right, wrong, or a refusal, by the places that a question names."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tests.training.contexts import JOINED_KINDS, Labels

WITH_OTHERS = 0.5
"""The worth of an answer that has units beside those that answer."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The worth of a choice: 1 if it is right, WITH_OTHERS if it has other units, too, 0 if it is wrong; whether the
    question has an answer, and whether the choice is none.
    """

    worth: float
    answerable: bool
    refused: bool


def judged(labels: Labels, chosen: Collection[int]) -> Judgement:
    """Return the judgement of the units at the places `chosen`. Of a list or a comparison each part that some unit
    states has to be among them; of any other question one unit that answers.
    """
    if not labels.gold:
        return Judgement(float(not chosen), answerable=False, refused=not chosen)
    if not chosen:
        return Judgement(0.0, answerable=True, refused=True)
    accepted = {*labels.positives, *labels.neutral}
    whole = 1.0 if accepted.issuperset(chosen) else WITH_OTHERS
    return Judgement(whole * _answers(labels, chosen), answerable=True, refused=False)


def _answers(labels: Labels, chosen: Collection[int]) -> bool:
    if labels.kind not in JOINED_KINDS:
        return not set(labels.positives).isdisjoint(chosen)
    return all(not set(places).isdisjoint(chosen) for places in labels.gold if places)


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of questions, from 0 to 1: `right` or rightly refused of all, right of the `answered` ones (those with an
    answer), refused falsely of these, and refused rightly of the others. 0 of none.
    """

    right: float
    answered: float
    false_refusals: float
    refusals: float


def shares(judgements: Iterable[Judgement]) -> Shares:
    """Return the shares of some questions."""
    every = list(judgements)
    answerable = [one for one in every if one.answerable]
    others = [one for one in every if not one.answerable]
    return Shares(
        _mean([one.worth for one in every]),
        _mean([one.worth for one in answerable]),
        _mean([float(one.refused) for one in answerable]),
        _mean([one.worth for one in others]),
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
