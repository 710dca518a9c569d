"""Scores of units: how much of the question each covers, and whether it has a value of the type asked for.

A term counts fully in the unit's own text or the name of its column, less in its context: the introduction of its list,
the headings, the title, the sentences around it. Invariant: a score depends on the question and the units alone.
Cost: units times terms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from graphtide.infra.models.local.answers.question import STATES, Kind, QuestionPlan, Term, TermKind
from graphtide.infra.models.local.answers.units import DONE, TO_DO, Cell, Unit, UnitKind, first_person
from graphtide.infra.models.local.answers.values import (
    column_measures,
    days_in,
    has_address,
    has_count,
    has_date,
    has_number,
    has_phrase,
    has_place,
    has_quantity,
    has_reason,
    has_version,
    is_relative_date,
    lasts_until,
    same_day,
    stands_somewhere,
)
from graphtide.infra.models.local.answers.words import (
    NUMBER_WORDS,
    STOP_WORDS,
    Word,
    key_of,
    keys_of,
    word_set,
    words_of,
)
from graphtide.infra.models.local.english.lexical.verbs import VERBS
from graphtide.infra.models.local.english.lexical.words import CALENDAR, ORGANISATION_CUES, PLACE_CUES, PLACES, ROLES

OWN, COLUMN, LEAD, HEADING, TITLE, BEFORE, AFTER, NEAR, DOCUMENT = 1.0, 1.0, 0.9, 0.9, 0.85, 0.6, 0.45, 0.5, 0.3
SYNONYM, EXPRESSED, SHORT_NAME = 0.75, 0.6, 0.75
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


def score_units(plan: QuestionPlan, units: Sequence[Unit], similarities: Sequence[float]) -> AnswerEvidence:
    """Return the evidence with all units scored, in their order."""
    frequency = Counter(name for unit in units for name in unit.names)
    evidence = AnswerEvidence(plan, units, _weights(plan, units), _names(units), frequency, _documents(plan, units))
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
        least = VERB_RARITY if term.verb else 0.0
        rarity = min(MAX_RARITY, max(least, math.log(count / (having + 0.5))))
        weights.append(_KIND_WEIGHT[term.kind] * (1.0 + RARITY_SHARE * rarity))
    return tuple(weights)


def _documents(plan: QuestionPlan, units: Sequence[Unit]) -> dict[str, frozenset[str]]:
    """Return the question's keys that occur anywhere in each document's units."""
    found: dict[str, set[str]] = {}
    for unit in units:
        found.setdefault(unit.doc_id, set()).update(plan.keys & (unit.keys | unit.head_keys | unit.title_keys))
    return {doc_id: frozenset(keys) for doc_id, keys in found.items()}


_ADDRESS_MARKS = frozenset("@/\\")
_NOT_PERSONS = ORGANISATION_CUES | PLACE_CUES | PLACES | CALENDAR


def _names(units: Sequence[Unit]) -> frozenset[str]:
    """Return the keys of words that are names of persons, most likely: in capitalised runs without a word of another
    kind of name, and never in lower case.
    """
    capital: set[str] = set()
    lower: set[str] = set()
    for unit in units:
        for word in words_of(unit.text):
            if not word.capital and not word.coded and not _is_address(unit.text, word):
                lower.add(word.key)
        for run in _capitalised(unit.text):
            if not any(word.text.lower() in _NOT_PERSONS for word in run):
                capital.update(word.key for word in run if not _is_common(word.text.lower()))
    return frozenset(capital - lower)


def _is_address(text: str, word: Word) -> bool:
    """Return whether a word is part of an e-mail address or a path, where names are in lower case."""
    end = word.start + len(word.text)
    return text[end : end + 1] in _ADDRESS_MARKS or text[max(0, word.start - 1) : word.start] in _ADDRESS_MARKS


def _is_common(word: str) -> bool:
    return word in STOP_WORDS or word in NUMBER_WORDS or word in VERBS


def _capitalised(text: str) -> Iterator[list[Word]]:
    """Yield the runs of capitalised words that only a blank separates, or the full stop of an initial."""
    run: list[Word] = []
    for word in words_of(text):
        adjacent = bool(run) and text[run[-1].start + len(run[-1].text) : word.start] in (" ", ". ", "")
        if run and not (adjacent and word.capital):
            yield run
            run = []
        if word.capital:
            run.append(word)
    if run:
        yield run


def _scored(evidence: AnswerEvidence, unit: Unit, similarity: float) -> Scored:
    plan = evidence.plan
    known = evidence.documents.get(unit.doc_id, frozenset())
    covers = tuple(
        max(cover(term, unit), DOCUMENT if term.key in known else 0.0, _implied(evidence, term, unit))
        for term in plan.terms
    )
    covers = with_first_names(plan, unit, covers)
    total = evidence.total
    coverage = sum(w * c for w, c in zip(evidence.weights, covers, strict=True)) / total if total else 0.0
    fits, heading = fits_type(evidence, unit), ""
    if not fits:
        heading = _valued_heading(plan, unit)
        fits = bool(heading)
    found = Scored(unit, covers, coverage, fits, similarity, on_day=day_fits(plan, unit), heading=heading)
    found.score = (
        coverage
        + SIMILARITY_SHARE * similarity * coverage
        + (TYPE_BONUS * _strength(evidence, unit, heading) if fits else 0.0)
    )
    if not fits and plan.kind in TYPED:
        found.score *= NO_TYPE
    if not found.on_day:
        found.score *= 0.4
    if plan.to_do and not unit.text.startswith(TO_DO):
        found.score *= NOT_TO_DO
    if unit.kind is UnitKind.ROW and plan.kind is Kind.REASON and not fits:
        found.score *= NO_REASON
    if plan.kind in (Kind.THING, Kind.QUANTITY) and not plan.measures and not has_attribute(plan, unit):
        found.score *= NO_ATTRIBUTE
    if plan.negated and not denies(unit.text):
        found.score *= NOT_DENIED
    found.score *= _form(plan, unit)
    found.score -= CONFLICT * conflicts(plan, unit) + PAST * (plan.present and has_phrase(unit.text, _WAS))
    return found


IDENTIFIERS = keys_of("code pin password port number extension")
"""Attributes whose values have no unit, so that any number would fit."""


def has_attribute(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit or its context has the attribute asked for, and not just its neighbours."""
    term = next((term for term in plan.terms if term.key == plan.attribute), None)
    if term is None:
        return True
    accepted = {term.key, *term.synonyms, *term.same}
    before = unit.before.keys if unit.dangling and unit.before is not None else frozenset()
    keys = (unit.keys, unit.columns, unit.lead_keys, unit.head_keys, unit.title_keys, before)
    return any(not accepted.isdisjoint(held) for held in keys)


def denies(text: str) -> bool:
    """Return whether a text says that something is not so."""
    return has_phrase(text, _DENYING) or "n't " in text


def with_first_names(plan: QuestionPlan, unit: Unit, covers: tuple[float, ...]) -> tuple[float, ...]:
    """Return the shares with those of surnames that the unit leaves out: it has the first name and no other surname."""
    names = {t.key: i for i, t in enumerate(plan.terms) if t.kind is TermKind.NAME}
    found = list(covers)
    for first, last in plan.pairs:
        both = first in names and last in names
        if both and covers[names[last]] < SHORT_NAME <= covers[names[first]] and _is_single(first, unit.whole):
            found[names[last]] = SHORT_NAME
    return tuple(found)


def _is_single(key: str, text: str) -> bool:
    """Return whether a text has a name without a capitalised word beside it."""
    words = words_of(text)
    places = [at for at, word in enumerate(words) if word.key == key and word.capital]
    ends = [word.start + len(word.text) for word in words]
    return any(
        not (at + 1 < len(words) and words[at + 1].capital and text[ends[at] : words[at + 1].start] == " ")
        for at in places
    )


def _implied(evidence: AnswerEvidence, term: Term, unit: Unit) -> float:
    """Return how far a unit covers a term by its date, or by a value of the type that the term asks for."""
    plan = evidence.plan
    if term.key in plan.date_keys and unit.date[1] and any(same_day(day, unit.date) for day in plan.dates):
        return HEADING
    if term.text.lower() in STATES and unit.text.startswith((DONE, TO_DO)):
        return float(unit.text.startswith(DONE if STATES[term.text.lower()] else TO_DO))
    if plan.kind is Kind.YES_NO and term.verb and _answers_yes_or_no(plan, unit):
        return SYNONYM
    if plan.kind is Kind.YES_NO and term.key in _PERMISSION_KEYS:
        return SYNONYM if has_phrase(unit.text, PERMITTING) else 0.0
    expressed = term.kind is TermKind.IMPLIED and plan.measures and not term.coded
    return EXPRESSED if expressed and unit.kind is not UnitKind.ROW and has_quantity(unit.text, plan.measures) else 0.0


def _answers_yes_or_no(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a column that the question names has "yes" or "no": the verb of the question is implied."""
    return any(cell.value.lower() in _YES_NO and not plan.keys.isdisjoint(cell.column_keys) for cell in unit.cells)


_YES_NO = word_set("yes no y n true false required optional")
CONFLICT, PAST, NOT_DENIED, NO_REASON, NO_ATTRIBUTE, NOT_TO_DO = 0.12, 0.06, 0.6, 0.6, 0.8, 0.5
PERMITTING = (
    "may", "must", "allowed", "permitted", "forbidden", "prohibited", "only", "never", "nobody", "cannot", "not",
)  # fmt: skip
"""Words of a sentence that permits or forbids."""
_DENYING = ("no", "not", "nobody", "none", "never", "neither", "nor", "without", "cannot", "except", "lacks")
_WAS = ("was", "were", "former", "became", "had been")


def conflicts(plan: QuestionPlan, unit: Unit) -> int:
    """Return how many names of the question the unit has with another word: "frost sensor" for "rain sensor"."""
    text = unit.whole
    words = [word for word in words_of(text) if word.text.lower() not in STOP_WORDS]
    held = {word.key for word in words} | unit.columns
    count = 0
    for first, second in plan.pairs:
        if (first in held) == (second in held):
            continue
        for one, other in pairwise(words):
            adjacent = text[one.start + len(one.text) : other.start] == " "
            if adjacent and (
                (other.key == second and one.key != first)
                or (one.key == first and one.capital and other.capital and other.key != second)
            ):
                count += 1
                break
    return count


TYPED = frozenset({Kind.PERSON, Kind.DATE, Kind.QUANTITY, Kind.VERSION})


def _strength(evidence: AnswerEvidence, unit: Unit, heading: str) -> float:
    plan = evidence.plan
    if heading:
        return 0.5
    if plan.kind is Kind.PLACE:
        return 1.5 if stands_somewhere(unit.text) else 0.6
    if plan.kind is Kind.PERSON:
        named = any(_is_person_column(cell) for cell in unit.cells) or (
            not unit.cells and _names_holder(evidence, unit.text)
        )
        return 1.3 if named else 1.0
    return 1.0


def _is_person_column(cell: Cell) -> bool:
    return cell.column.lower() in _PERSON_COLUMNS and cell.value[:1].isupper()


_PERSON_COLUMNS = word_set(
    "who name assignee owner author lead leader responsible contact tenant member person reporter reviewer by"
)


def _names_holder(evidence: AnswerEvidence, text: str) -> bool:
    """Return whether a name is close to a word of the question, without punctuation: "Ana is the new treasurer".

    Linear: each word is compared with the last one of the other kind alone, since any earlier one is less close.
    """
    asked = evidence.plan.keys
    ends: dict[bool, int] = {}
    for word in words_of(text):
        is_term = word.key in asked
        if not is_term and not (word.capital and word.key in evidence.names):
            continue
        if (not is_term) in ends and _is_close(text[ends[not is_term] : word.start]):
            return True
        ends[is_term] = max(ends.get(is_term, 0), word.start + len(word.text))
    return False


def _is_close(between: str) -> bool:
    return len(between.split(maxsplit=_CLOSE)) <= _CLOSE and not any(mark in between for mark in ",;:.")


_CLOSE = 4
STALE = (
    "still is", "still insured", "still listed", "still shows", "still says", "still has", "is still", "was still",
    "so far", "until now", "formerly", "previously", "used to", "originally", "a figure of", "at first", "was to be",
)  # fmt: skip
"""Words of a sentence about an old value."""


def _form(plan: QuestionPlan, unit: Unit) -> float:
    """Return the factor of a unit's form: questions, titles, code and quoted mails are poor answers."""
    factor = 1.0
    if unit.kind is UnitKind.CODE:
        factor *= 0.3
    if unit.kind is UnitKind.ABOUT:
        factor *= 1.0 if _describes(plan, unit) else 0.55
    if unit.quoted:
        factor *= 0.8
    if has_phrase(unit.text, STALE):
        factor *= 0.9
    if unit.text.endswith("?"):
        factor *= 0.6
    if unit.text.endswith(":") or len(unit.text.split()) < 2:
        factor *= 0.6
    return factor


def _describes(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether the question asks for a field of a document's own description: its author, its owner."""
    asked = frozenset().union(*({t.key} | t.synonyms for t in plan.terms if t.kind is not TermKind.WEAK))
    return any(cell.column_keys & asked and cell.column.lower() not in _NAMING for cell in unit.cells)


_NAMING = word_set("title subject mail tags")


def cover(term: Term, unit: Unit) -> float:
    """Return how far a unit covers a term, from 0 to 1."""
    own = _place_of(term.key, unit)
    if own >= 1.0:
        return own
    if any(_place_of(key, unit) >= 1.0 for key in term.same):
        return 1.0
    other = max((_place_of(key, unit) for key in term.synonyms), default=0.0)
    return max(own, SYNONYM * other)


def _place_of(key: str, unit: Unit) -> float:  # noqa: PLR0911 -- one return for each place
    if key in unit.keys:
        return OWN
    if key in unit.columns:
        return COLUMN
    if key in unit.lead_keys:
        return LEAD
    if key in unit.head_keys:
        return HEADING
    before, after = unit.before, unit.after
    if before is not None and before.block == unit.block and key in before.keys:
        return 0.95 if unit.dangling else BEFORE + 0.15
    if key in unit.title_keys:
        return TITLE
    if before is not None and key in before.keys:
        return BEFORE
    if after is not None and key in after.keys:
        return AFTER
    return NEAR if key in unit.near_keys else 0.0


def fits_type(evidence: AnswerEvidence, unit: Unit) -> bool:  # noqa: PLR0911 -- one return for each kind
    """Return whether the unit has a value of the type asked for that the question does not have itself."""
    plan = evidence.plan
    match plan.kind:
        case Kind.PERSON:
            keys = unit.keys | unit.before.keys if unit.dangling and unit.before is not None else unit.keys
            return bool((keys & evidence.names) - plan.keys) or first_person(unit) or _names_role(plan, unit)
        case Kind.DATE:
            return _new_digits(plan, unit.text, dates=True) and (has_date(unit.text) or is_relative_date(unit.text))
        case Kind.QUANTITY:
            return _measured(plan, unit)
        case Kind.VERSION:
            return has_version(unit.text) and _new_digits(plan, unit.text)
        case Kind.ADDRESS:
            return has_address(unit.text)
        case Kind.PLACE:
            return has_place(unit.text) or unit.kind is UnitKind.ROW
        case Kind.REASON:
            return has_reason(unit.text) or not REASON_KEYS.isdisjoint(unit.head_keys)
        case _:
            return True


REASON_KEYS, _PERMISSION_KEYS = keys_of("cause reason"), keys_of("allowed permitted forbidden prohibited")


def _names_role(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether the unit names a person by a role that the question does not have: "a passing pilot"."""
    words = words_of(unit.text)
    return any(word.text.lower() in ROLES and word.key not in plan.keys for word in words)


def _valued_heading(plan: QuestionPlan, unit: Unit) -> str:
    """Return the innermost heading, or the title, that holds the date or version asked for."""
    if plan.kind not in (Kind.DATE, Kind.VERSION):
        return ""
    has = has_date if plan.kind is Kind.DATE else has_version
    texts = (*reversed(unit.headings), unit.title if " " in unit.title else "")
    return next((text for text in texts if has(text) and _new_digits(plan, text) and _is_dated(plan, text)), "")


def _is_dated(plan: QuestionPlan, text: str) -> bool:
    """Return whether a heading names a day or month, and not just a number that may be a year."""
    return plan.kind is not Kind.DATE or bool(days_in(text))


_COST, _SHARE, _FREQUENCY = key_of("cost"), frozenset({"share"}), frozenset({"frequency"})


def _measured(plan: QuestionPlan, unit: Unit) -> bool:
    if _measured_in_words(plan, unit):
        return True
    if not _new_digits(plan, unit.text):
        return False
    if not plan.measures:
        return has_count(unit.text) if plan.counted else has_number(unit.text)
    if has_quantity(unit.text, plan.measures) or ("duration" in plan.measures and lasts_until(unit.text)):
        return True
    implied = [term for term in plan.terms if term.kind is TermKind.IMPLIED]
    if "money" in plan.measures and _COST in unit.keys and has_quantity(unit.text, _SHARE):
        return True
    accepted = frozenset().union(*({term.key} | term.synonyms for term in implied))
    asked = frozenset(term.key for term in plan.terms if term.kind is not TermKind.WEAK)
    charges_share = "money" in plan.measures and _COST in unit.keys and has_quantity(unit.text, _SHARE)
    return charges_share or any(
        has_number(cell.value)
        and (column_measures(cell.column, plan.measures) or cell.column_keys & (accepted | asked))
        for cell in unit.cells
    )


def _measured_in_words(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether the value may lack a number: a code in a column of that name, or how often something happens."""
    if "frequency" in plan.measures and has_quantity(unit.text, _FREQUENCY):
        return True
    coded = plan.attribute in IDENTIFIERS and not plan.measures
    return coded and any(cell.column_keys >= {plan.attribute} for cell in unit.cells)


def _new_digits(plan: QuestionPlan, text: str, dates: bool = False) -> bool:
    """Return whether a number of the text is not the question's."""
    asked = plan.keys
    if dates and not any(char.isdigit() for char in text):
        return True
    return any(has_number(word.text) and word.key not in asked for word in words_of(text))


def day_fits(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether the unit may be about the day that the question names: it names no other day."""
    days = [day for day in plan.dates if day[2]]
    if not days or (unit.kind is UnitKind.ROW and plan.kind is Kind.DATE):
        return True
    stated = days_in(unit.text) or ([unit.date] if unit.date != (0, 0, 0) else [])
    full = [day for day in stated if day[2]]
    if not full:
        return True
    return any(same_day(day, other) for day in days for other in [*full, *([unit.date] if unit.date[2] else [])])
