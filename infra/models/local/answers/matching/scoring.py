"""Scores of units: how much of the question each covers, and whether it has a value of the type asked for.

Invariant: a score depends on the question and the units alone. Cost: units times terms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from graphtide.infra.models.local.answers.documentation import asks_for_field, describes_flag, introduces, is_old_change
from graphtide.infra.models.local.answers.matching.answer_types import (
    TYPED,
    day_fits,
    denies_asked,
    denies_deed,
    fits_type,
    has_attribute,
    valued_heading,
)
from graphtide.infra.models.local.answers.matching.cell_values import is_person_column, is_place_cell
from graphtide.infra.models.local.answers.matching.coverage import DOCUMENT, cover, implied_coverage, keys_of_denied
from graphtide.infra.models.local.answers.matching.expressed import denies_existence
from graphtide.infra.models.local.answers.matching.names import conflicts, names_holder, person_keys, with_first_names
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, TermKind
from graphtide.infra.models.local.answers.succession import corrects
from graphtide.infra.models.local.answers.units import DONE, TO_DO, Unit, UnitKind
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.values.places import stands_somewhere
from graphtide.infra.models.local.answers.words import IRREGULAR, keys_of, word_set, words_of
from graphtide.infra.models.local.english.lexical.verbs import VERBS

_KIND_WEIGHT = {
    TermKind.NAME: 1.4,
    TermKind.CODE: 1.8,
    TermKind.WORD: 1.0,
    TermKind.FOCUS: 0.7,
    TermKind.IMPLIED: 0.9,
    TermKind.WEAK: 0.2,
}
MAX_RARITY, RARITY_SHARE, VERB_RARITY = 4.0, 0.5, 2.5
TYPE_BONUS, SIMILARITY_SHARE, NO_TYPE = 0.12, 0.2, 0.5


def score_units(plan: QuestionPlan, units: Sequence[Unit], similarities: Sequence[float]) -> AnswerEvidence:
    """Return the evidence with all units scored, in their order."""
    frequency = Counter(name for unit in units for name in unit.names)
    evidence = AnswerEvidence(
        plan, units, _weights(plan, units), person_keys(units), frequency, _documents(plan, units)
    )
    low, high = min(similarities, default=0.0), max(similarities, default=0.0)
    scale = high - low or 1.0
    for unit, similarity in zip(units, similarities, strict=True):
        evidence.scored.append(_scored(evidence, unit, (similarity - low) / scale))
    return evidence


def _weights(plan: QuestionPlan, units: Sequence[Unit]) -> tuple[float, ...]:
    """Return the weight of each term: its kind times its inverse document frequency among the units, bounded."""
    count = len(units) + 1
    weights = []
    for term in plan.terms:
        accepted = {term.key, *term.synonyms}
        having = sum(1 for unit in units if accepted & unit.keys or accepted & unit.columns)
        minimum = VERB_RARITY if term.verb else 0.0
        rarity = min(MAX_RARITY, max(minimum, math.log(count / (having + 0.5))))
        weights.append(_KIND_WEIGHT[term.kind] * (1.0 + RARITY_SHARE * rarity))
    return tuple(weights)


def _documents(plan: QuestionPlan, units: Sequence[Unit]) -> dict[str, frozenset[str]]:
    """Return the question's keys that occur anywhere in each document's units."""
    found: dict[str, set[str]] = {}
    for unit in units:
        found.setdefault(unit.doc_id, set()).update(plan.keys & (unit.keys | unit.head_keys | unit.title_keys))
    return {doc_id: frozenset(keys) for doc_id, keys in found.items()}


def _scored(evidence: AnswerEvidence, unit: Unit, similarity: float) -> Scored:
    found = _matched(evidence, unit, similarity)
    found.score = _adjusted(evidence.plan, unit, found)
    return found


def _matched(evidence: AnswerEvidence, unit: Unit, similarity: float) -> Scored:
    """Return what a unit has of the question, with the score of its words, its similarity and its type alone."""
    plan = evidence.plan
    known = evidence.documents.get(unit.doc_id, frozenset())
    lost = keys_of_denied(plan, unit)
    covers = tuple(
        0.0
        if term.key in lost
        else max(cover(term, unit), DOCUMENT if term.key in known else 0.0, implied_coverage(evidence, term, unit))
        for term in plan.terms
    )
    covers = with_first_names(plan, unit, covers)
    total = evidence.total
    coverage = sum(w * c for w, c in zip(evidence.weights, covers, strict=True)) / total if total else 0.0
    fits, heading = fits_type(evidence, unit), ""
    if not fits:
        heading = valued_heading(plan, unit)
        fits = bool(heading)
    found = Scored(
        unit,
        covers,
        coverage,
        fits,
        similarity,
        on_day=day_fits(plan, unit) or _day_covered(plan, covers),
        heading=heading,
    )
    found.score = (
        coverage
        + SIMILARITY_SHARE * similarity * coverage
        + (TYPE_BONUS * _strength(evidence, unit, heading, _tells_deed(plan, covers)) if fits else 0.0)
    )
    return found


def _adjusted(plan: QuestionPlan, unit: Unit, found: Scored) -> float:
    """Return the score by the forms of unit and question: what is denied, planned, in a row, on another day."""
    score = found.score
    if plan.kind in TYPED and (not found.fits or (found.heading and not _tells_deed(plan, found.covers))):
        score *= NO_TYPE if not found.fits else NOT_TOLD
    if not found.on_day:
        score *= 0.4
    if plan.to_do and not unit.text.startswith(TO_DO):
        score *= NOT_TO_DO
    if unit.kind is UnitKind.ROW and plan.kind is Kind.REASON and not found.fits:
        score *= NO_REASON
    if plan.kind in (Kind.THING, Kind.QUANTITY) and not plan.measures and not has_attribute(plan, unit):
        score *= NO_ATTRIBUTE
    if (plan.exists and denies_existence(plan, unit)) or (plan.kind is Kind.PERSON and denies_deed(plan, unit)):
        score += DENIED
    if plan.latest and found.fits and found.coverage >= MIN_AMENDED and corrects(unit.text):
        score += AMENDED
    if (plan.defines and introduces(plan, unit)) or describes_flag(plan, unit):
        score += DEFINED
    if plan.negated and not denies_asked(plan, unit):
        score *= NOT_DENIED
    if plan.becomes and has_phrase(unit.text, _BECAME) and not unit.cells:
        score += HAPPENED
    score *= _tense(plan, unit)
    if plan.kind is Kind.PERSON and plan.present and has_phrase(unit.text, _LEAVING) and not corrects(unit.text):
        score *= NOT_ANY_MORE
    score *= _form(plan, unit)
    score -= CONFLICT * conflicts(plan, unit) + PAST * (plan.present and has_phrase(unit.text, _WAS))
    return score


def _tense(plan: QuestionPlan, unit: Unit) -> float:
    """Return the factor of a plan, where a value of the past is asked for, and of the past, where one to come is."""
    if plan.kind not in (Kind.DATE, Kind.QUANTITY):
        return 1.0
    if plan.past and has_phrase(unit.text, _PLANNED):
        return NOT_HAPPENED
    return NOT_PLANNED if plan.future and _tells_past(unit) else 1.0


def _tells_past(unit: Unit) -> bool:
    """Return whether a sentence has a verb in the past and no word of what may happen."""
    if unit.cells or has_phrase(unit.text, _PLANNED):
        return False
    words = [word.text for word in words_of(unit.text)]
    return any(_is_past(second) and first not in _PASSIVE for first, second in pairwise(["", *words]))


def _is_past(word: str) -> bool:
    form = VERBS.get(word)
    if form is not None:
        return form.finite and not form.bare and not word.endswith("s")
    return word.endswith("ed") or IRREGULAR.get(word, word) != word


_PASSIVE = word_set("is are be been being")


def _tells_deed(plan: QuestionPlan, covers: Sequence[float]) -> bool:
    """Return whether a unit has a verb of the question that carries meaning, if there is one."""
    verbs = [c for c, t in zip(covers, plan.terms, strict=True) if t.verb and t.kind in (TermKind.WORD, TermKind.FOCUS)]
    return not verbs or max(verbs) >= _NAMED


NOT_TOLD = 0.8


def _day_covered(plan: QuestionPlan, covers: Sequence[float]) -> bool:
    """Return whether a unit or its context names the day of the question, whatever the day of its document."""
    shares = [c for c, t in zip(covers, plan.terms, strict=True) if t.key in plan.date_keys]
    return bool(shares) and min(shares) >= _NAMED


_NAMED = 0.75
CONFLICT, PAST, NOT_DENIED, NO_REASON, NO_ATTRIBUTE, NOT_TO_DO = 0.12, 0.06, 0.6, 0.6, 0.8, 0.5
DENIED, DEFINED = 0.25, 0.25
AMENDED, MIN_AMENDED = 0.2, 0.25
NOT_HAPPENED, HAPPENED = 0.85, 0.2
NOT_ANY_MORE, NOT_PLANNED = 0.85, 0.9
_LEAVING = (
    "resigns", "resigned", "retires", "retired", "steps down", "stepped down", "hands over", "handed over", "gives up",
    "leaves the", "left the",
)  # fmt: skip
"""Words of a sentence about who had a post, for a question who has it."""
_BECAME = (
    "goes to", "go to", "went to", "sold", "sells", "given to", "gave to", "scrapped", "donated", "thrown away",
    "discarded", "becomes", "became", "turned into", "moved to", "moves to", "sent to", "returned to", "recycled",
    "stored", "replaced", "destroyed", "stolen", "broke", "died",
)  # fmt: skip
"""Words of a sentence that tells what happens to something."""
_PLANNED = (
    "will", "shall", "plans", "planned", "expects", "expected", "reckons", "reckoned", "estimates", "estimated",
    "going to", "goes", "is due", "should", "wants", "hopes", "would", "might", "quote", "offer",
)  # fmt: skip
"""Words of a sentence about what may happen, which does not tell what happened."""
_WAS = ("was", "were", "former", "became", "had been")


def _strength(evidence: AnswerEvidence, unit: Unit, heading: str, happened: bool) -> float:
    plan = evidence.plan
    if heading:  # the meeting at which a task was found to be done does not date it
        return 0.0 if unit.text.startswith(DONE) or not happened else 0.5
    if plan.kind is Kind.PLACE:
        return 1.5 if stands_somewhere(unit.text) or any(map(is_place_cell, unit.cells)) else 0.6
    if plan.kind is Kind.PERSON:
        named = any(is_person_column(cell) for cell in unit.cells) or (
            not unit.cells and names_holder(evidence, unit.text)
        )
        return 1.3 if named else 1.0
    return 1.0


STALE = (
    "still is", "still insured", "still listed", "still shows", "still says", "still has", "is still", "was still",
    "so far", "until now", "formerly", "previously", "used to", "originally", "a figure of", "at first", "was to be",
)  # fmt: skip
"""Words of a sentence about an old value."""


_WANTING = keys_of("want ask need request")
_OLD_CHANGE = 0.75
"""The factor of a unit in a list of changes, for a question that does not ask for them."""


def _form(plan: QuestionPlan, unit: Unit) -> float:
    """Return the factor of a unit's form: questions, titles, code and quoted mails are poor answers."""
    factor = 1.0
    if unit.kind is UnitKind.CODE:
        factor *= 0.3
    if unit.kind is UnitKind.ABOUT:
        factor *= 1.0 if asks_for_field(plan, unit) else 0.55
    if unit.quoted:
        factor *= 0.8
    if has_phrase(unit.text, STALE) and not has_phrase(plan.text, STALE):
        factor *= 0.9
    if unit.asks and not (unit.requests and plan.keys & _WANTING):
        factor *= 0.6
    if (unit.text.endswith(":") and not (plan.how and unit.code)) or len(unit.text.split()) < 2:
        factor *= 0.6
    if is_old_change(plan, unit):
        factor *= _OLD_CHANGE
    return factor
