"""Features of a shortlist for the listwise ranker: of its units, of each pair of them, and of the question.

They come from the rules' scores, the cross-encoder's logits, and what units have in common: words, a document, names
that the question lacks, and which of two is later. Scores are compared with those of all units of the context.
Invariant: in another order of the shortlist each unit has the same features, unless logits or scores are equal: then
the first one has the better rank. Cost: units times terms, and pairs of units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.models.local.answers.choosing.two_hops import rare_names, siblings
from graphtide.infra.models.local.answers.matching.answer_types import denies
from graphtide.infra.models.local.answers.matching.scoring import STALE
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, TermKind
from graphtide.infra.models.local.answers.relevance import ranks_of, relevance_of
from graphtide.infra.models.local.answers.succession import corrects, is_past
from graphtide.infra.models.local.answers.units import Unit, UnitKind
from graphtide.infra.models.local.answers.values.phrases import has_phrase

Array = NDArray[np.float32]
LOGIT_SCALE, NEAREST_DATED, LONG_WORDS = 5.0, 5, 20
"""Divisor of a logit; the dated units with the best logits, whose first and last date count; words of a long unit."""
TERM_COVERED, TERM_MISSED = 0.7, 0.4
"""Share of a term from which on a unit has it, and below which it lacks it."""
_MAX_SHARED = 2


@dataclass(frozen=True, slots=True)
class ListReading:
    """The units of a shortlist, in its order: the place of each among all units, the cross-encoder's logit and the
    state of its last hidden layer, as (units, hidden), and the similarity of the static embeddings.
    """

    places: Sequence[int]
    logits: Array
    states: Array
    similarities: Sequence[float]


@dataclass(frozen=True, slots=True)
class ListFeatures:
    """Features: (units, unit features), (units, units, pair features) and (question features,)."""

    units: Array
    pairs: Array
    question: Array


def features_of(evidence: AnswerEvidence, reading: ListReading) -> ListFeatures:
    """Return the features of a shortlist of one or more units."""
    listed = [evidence.scored[place] for place in reading.places]
    return ListFeatures(
        _unit_features(evidence, reading, listed),
        _pair_features(evidence, [scored.unit for scored in listed]),
        question_features(evidence.plan),
    )


def question_features(plan: QuestionPlan) -> Array:
    """Return the features of a question: the kind of its answer, its form, and its number of terms and names."""
    names = sum(term.hard for term in plan.terms)
    forms = (
        plan.latest, plan.past, plan.present, plan.negated, plan.exists, bool(plan.options), bool(plan.measures),
        bool(plan.attribute), len(plan.terms) / 10, names / 3, not names,
    )  # fmt: skip
    return np.array([*(plan.kind is kind for kind in Kind), *forms], np.float32)


def _unit_features(evidence: AnswerEvidence, reading: ListReading, listed: Sequence[Scored]) -> Array:
    best = max(scored.score for scored in evidence.scored)
    above = _reciprocal_ranks([scored.score for scored in evidence.scored])
    most_similar = max(reading.similarities)
    relevance = relevance_of(reading.places, reading.logits.tolist())
    near = _reciprocal_ranks(reading.logits.tolist())
    dates = _DateFeatures.of([scored.unit for scored in listed], reading.logits)
    terms = _TermFeatures.of(evidence.plan)
    rows = [
        (
            reading.logits[at] / LOGIT_SCALE, relevance.units[place], relevance.none, near[at],
            scored.score, scored.score - best, above[place], scored.coverage, scored.fits, scored.on_day,
            reading.similarities[at], reading.similarities[at] - most_similar,
            *terms.covered(scored), *(scored.unit.kind is kind for kind in UnitKind), scored.unit.quoted,
            *dates.features(scored.unit), *_form_features(scored.unit), bool(scored.heading), scored.similarity,
        )
        for at, (place, scored) in enumerate(zip(reading.places, listed, strict=True))
    ]  # fmt: skip
    return np.array(rows, np.float32)


def _reciprocal_ranks(values: Sequence[float]) -> list[float]:
    """Return 1 for the greatest value, 1/2 for the next one, and so on."""
    found: list[float] = (1 / (1 + ranks_of(values))).tolist()
    return found


def _form_features(unit: Unit) -> tuple[float, ...]:
    text = unit.text
    length = min(2.0, len(text.split()) / LONG_WORDS)
    return corrects(text), is_past(text), has_phrase(text, STALE), denies(text), text.endswith("?"), length


@dataclass(frozen=True, slots=True)
class _TermFeatures:
    """Places of the names and of the words among a question's terms."""

    names: NDArray[np.int64]
    words: NDArray[np.int64]

    @classmethod
    def of(cls, plan: QuestionPlan) -> _TermFeatures:
        names = [place for place, term in enumerate(plan.terms) if term.hard]
        words = [place for place, term in enumerate(plan.terms) if term.kind in (TermKind.WORD, TermKind.FOCUS)]
        return cls(np.array(names, np.int64), np.array(words, np.int64))

    def covered(self, scored: Scored) -> tuple[float, ...]:
        """Return the least and the mean share of names, the mean of words, and the shares of words had and lacked."""
        shares = np.array(scored.covers)
        names = shares[self.names] if len(self.names) else np.ones(1)
        words = shares[self.words] if len(self.words) else np.ones(1)
        return names.min(), names.mean(), words.mean(), (words >= TERM_COVERED).mean(), (words < TERM_MISSED).mean()


@dataclass(frozen=True, slots=True)
class _DateFeatures:
    """The dates of a shortlist in their order, and the first and the last one of the units with the best logits."""

    order: dict[tuple[int, int, int], float]
    oldest: tuple[int, int, int]
    newest: tuple[int, int, int]

    @classmethod
    def of(cls, units: Sequence[Unit], logits: Array) -> _DateFeatures:
        dates = sorted({unit.date for unit in units if unit.date[0]})
        best = [units[at].date for at in np.argsort(-logits, kind="stable") if units[at].date[0]][:NEAREST_DATED]
        order = {date: place / len(dates) for place, date in enumerate(dates, 1)}
        return cls(order, min(best, default=(0, 0, 0)), max(best, default=(0, 0, 0)))

    def features(self, unit: Unit) -> tuple[float, ...]:
        if not unit.date[0]:
            return 0.0, 0.0, 0.0, 0.0
        return 1.0, self.order[unit.date], unit.date == self.newest, unit.date == self.oldest


def _pair_features(evidence: AnswerEvidence, units: Sequence[Unit]) -> Array:
    """Return for each two units: the share of their words that both have; 1, -1 or 0 if the second one is later,
    earlier or neither, and the product of these; if they are of one document, neighbours, and rows of one table; and
    names that both have and the question has not, by their number and by their rarity.
    """
    count = len(units)
    later = _each_pair(units, _later)
    alike = _shared_share([unit.keys for unit in units])
    bridges = [rare_names(evidence, unit) for unit in units]
    names = _shared_weight(bridges)
    rarity = _shared_weight(bridges, lambda key: 1 / max(1, evidence.frequency[key]))
    found = np.stack(
        [
            alike, later, later * alike, _each_pair(units, _of_one_document), _each_pair(units, _adjacent),
            _each_pair(units, siblings), np.minimum(names, _MAX_SHARED) / _MAX_SHARED, np.minimum(rarity, 1),
        ],
        axis=2,
    ).astype(np.float32)  # fmt: skip
    found[np.arange(count), np.arange(count)] = 0
    return found


def _each_pair(units: Sequence[Unit], value: Callable[[Unit, Unit], float]) -> Array:
    return np.array([[value(first, second) for second in units] for first in units], np.float32)


def _later(first: Unit, second: Unit) -> float:
    """Return 1 if the second unit is later, -1 if it is earlier: by their dates, if both have a year and they differ,
    else by their places in one passage; 0 if neither tells.
    """
    if first.date[0] and second.date[0] and first.date != second.date:
        return 1.0 if second.date > first.date else -1.0
    if first.origin == second.origin and first.place != second.place:
        return 1.0 if second.place > first.place else -1.0
    return 0.0


def _of_one_document(first: Unit, second: Unit) -> bool:
    return first.origin == second.origin or bool(first.doc_id and first.doc_id == second.doc_id)


def _adjacent(first: Unit, second: Unit) -> bool:
    return first.origin == second.origin and abs(first.place - second.place) == 1


def _shared_share(keys: Sequence[frozenset[str]]) -> Array:
    """Return for each two sets the share of the keys of either that both have (Jaccard); 0 for empty sets."""
    both, sizes = _shared_weight(keys), np.array([len(own) for own in keys], np.float32)
    found: Array = both / np.maximum(sizes[:, None] + sizes - both, 1)
    return found


def _shared_weight(keys: Sequence[frozenset[str]], weight: Callable[[str], float] = lambda _: 1.0) -> Array:
    """Return for each two sets the sum of the weights of the keys that both have."""
    counts = Counter(key for own in keys for key in own)
    places = {key: place for place, key in enumerate(sorted(key for key, count in counts.items() if count > 1))}
    present = np.zeros((len(keys), len(places)), np.float32)
    for row, own in enumerate(keys):
        present[row, [places[key] for key in own if key in places]] = 1
    weighted: Array = present * np.array([weight(key) for key in places], np.float32)
    found: Array = weighted @ present.T
    return found
