"""A scored unit, and the evidence of a question: all units of its context with the weights of its terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from graphtide.infra.models.local.answers.questions.types import QuestionPlan
from graphtide.infra.models.local.answers.units import Unit


@dataclass(slots=True)
class Scored:
    """A unit, the share of each term that it covers, and its score."""

    unit: Unit
    covers: tuple[float, ...]
    coverage: float
    fits: bool
    """True if it has a value of the type asked for."""
    similarity: float = 0.0
    score: float = 0.0
    on_day: bool = True
    heading: str = ""
    """The heading or title that holds the value asked for, if the unit itself does not."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """Probabilities of the units that were read, by their places.

    `units`: that it is the best answer; these and `none`, that nothing answers, add up to 1. `parts`: that it is a part
    of the answer, if there is one: each item of a list is a part, and each side of a comparison.
    """

    units: dict[int, float]
    none: float
    parts: dict[int, float]


@dataclass(slots=True)
class AnswerEvidence:
    """The units of a context, and the weights of the question's terms among them."""

    plan: QuestionPlan
    units: Sequence[Unit]
    weights: tuple[float, ...] = ()
    names: frozenset[str] = frozenset()
    frequency: Counter[str] = field(default_factory=Counter)
    documents: dict[str, frozenset[str]] = field(default_factory=dict)
    scored: list[Scored] = field(default_factory=list)

    @property
    def total(self) -> float:
        return sum(self.weights)
