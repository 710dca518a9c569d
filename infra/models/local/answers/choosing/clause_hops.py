"""Two steps for a question with a relative clause: the unit that the clause describes names a thing, and the unit
about this thing answers the rest.

"On which extension can I reach the doctor who noticed the mistake": the sentence about the mistake names the doctor,
and the row of this doctor has the extension. Cost: units times terms, and the units that share a name with one of
`_FIRST_HOPS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from graphtide.infra.models.local.answers.choosing.rendering import counted_before
from graphtide.infra.models.local.answers.choosing.two_hops import bridge_keys
from graphtide.infra.models.local.answers.matching.answer_types import TYPED
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.clauses import Clause, clauses_of
from graphtide.infra.models.local.answers.questions.types import Kind, Term, TermKind
from graphtide.infra.models.local.answers.units import Unit, UnitKind
from graphtide.infra.models.local.answers.words import keys_of, words_of
from graphtide.infra.models.local.english.lexical.verbs import VERBS

_FIRST_HOPS = 6
_MIN_INNER, _MIN_OUTER, _MIN_BOTH = 0.3, 0.45, 1.0
_WHOLE_INNER, _WHOLE_OUTER = 0.5, 0.55
_MIN_NAME = 0.5
_CONTEXT = 0.8
_FITS, _SHARED, _MAX_SHARED = 0.15, 0.1, 2
_MAX_LABEL_CHARS = 3
_MIN_RARE, _RARITY, _NOUN, _ABOUT = 6, 0.1, 0.1, 0.15


Bridges: TypeAlias = dict[int, tuple[Scored, frozenset[str]]]
"""The units that may be a step, by identity, each with the keys that it may share."""


@dataclass(frozen=True, slots=True)
class _Pair:
    value: float
    first: Scored
    second: Scored


def clause_hops(evidence: AnswerEvidence) -> list[Scored]:
    """Return the unit that the clause of the question describes, and the one that answers the rest. Empty if there is
    no clause, if the best unit answers both, or if no two units share a name and cover enough of their parts.
    """
    best = max(evidence.scored, key=lambda scored: scored.score, default=None)
    clauses = [
        clause
        for clause in clauses_of(evidence.plan.text, evidence.plan.terms)
        if best is not None and _asked(clause) and not _answers_both(evidence, clause, best)
    ]
    if not clauses:
        return []
    bridges = _bridges(evidence, clauses[0].noun)
    pairs = [pair for clause in clauses for pair in _pairs(evidence, clause, bridges)]
    if not pairs:
        return []
    found = max(pairs, key=lambda pair: pair.value)
    return [found.first, found.second]


def are_joined(evidence: AnswerEvidence, hops: Sequence[Scored]) -> bool:
    """Return whether two rows have every word of the question between them, and the second one has a value that the
    first has in a column which the question names: the presenter of the programme, and the number of that person.
    """
    if len(hops) != _STEPS or any(one.unit.kind is not UnitKind.ROW for one in hops):
        return False
    first, second = hops
    asked = evidence.plan.keys
    mine = {cell.value.casefold() for cell in first.unit.cells if cell.column_keys & asked and len(cell.value) > 1}
    theirs = {cell.value.casefold() for cell in second.unit.cells}
    covers = zip(evidence.plan.terms, first.covers, second.covers, strict=True)
    lacking = [term for term, *both in covers if not term.weak and max(both) < _WHOLE]
    return not mine.isdisjoint(theirs) and all(term.key in _NAMING for term in lacking)


def subject_found(evidence: AnswerEvidence, hops: Sequence[Scored]) -> frozenset[str]:
    """Return the keys of what the second of two steps is about, by its first cell or its label, as far as the first one
    has them and the question does not; empty if the second has no value of the type asked for.
    """
    if len(hops) != _STEPS or not hops[1].fits:
        return frozenset()
    first, second = (one.unit for one in hops)
    label = second.text.partition(":")[0]
    about = _subject(second) if second.cells else keys_of(label) if len(label) <= _MAX_LABEL else frozenset[str]()
    return frozenset(key for key in about if any(map(str.isalpha, key))) & (first.keys - evidence.plan.keys)


_MAX_LABEL = 40
_STEPS, _WHOLE = 2, 0.95
_NAMING = keys_of("number name code person")
"""Words that a column need not have: `fob` for the fob number."""


def _answers_both(evidence: AnswerEvidence, clause: Clause, best: Scored) -> bool:
    fits = best.fits or evidence.plan.kind not in TYPED
    return (
        fits
        and _share(evidence, best, clause.inner, context=0.0) >= _WHOLE_INNER
        and _share(evidence, best, _asked(clause)) >= _WHOLE_OUTER
    )


def _asked(clause: Clause) -> tuple[int, ...]:
    """Return the places of the terms that ask: those around the clause, without the noun that it describes."""
    return tuple(place for place in clause.outer if place != clause.noun)


def _stated(evidence: AnswerEvidence, clause: Clause, unit: Unit) -> tuple[int, ...]:
    """Return the places of the terms that a unit could have: a row has no verbs."""
    asked = _asked(clause)
    nouns = tuple(place for place in asked if evidence.plan.terms[place].text not in VERBS)
    return nouns or asked if unit.kind is UnitKind.ROW else asked


def _share(evidence: AnswerEvidence, scored: Scored, places: Sequence[int], context: float = _CONTEXT) -> float:
    """Return the share of some terms that a unit covers, by their weights; what only its context has counts less."""
    total = sum(evidence.weights[place] for place in places)
    covered = 0.0
    for place in places:
        factor = 1.0 if _states(evidence.plan.terms[place], scored.unit) else context
        covered += evidence.weights[place] * scored.covers[place] * factor
    return covered / total if total else 0.0


def _states(term: Term, unit: Unit) -> bool:
    """Return whether a unit has a term in its own text or in the name of a column, or by its type."""
    if term.kind is TermKind.IMPLIED:
        return True
    accepted = (term.key, *term.same, *term.synonyms)
    return not (unit.keys.isdisjoint(accepted) and unit.columns.isdisjoint(accepted))


def _pairs(evidence: AnswerEvidence, clause: Clause, bridges: Bridges) -> Iterable[_Pair]:
    usable = [scored for scored, _ in bridges.values()]
    names = [place for place in clause.inner if evidence.plan.terms[place].hard]
    firsts = [
        (_share(evidence, scored, clause.inner), scored)
        for scored in usable
        if all(scored.covers[place] >= _MIN_NAME for place in names)
    ]
    firsts = sorted((one for one in firsts if one[0] >= _MIN_INNER), key=lambda one: -one[0])[:_FIRST_HOPS]
    holding = Counter(key for _, shared in bridges.values() for key in shared)
    rare = max(_MIN_RARE, len(evidence.units) // 10)
    for inner, first in firsts:
        for second in usable:
            shared = bridges[id(first)][1] & (bridges[id(second)][1] | second.unit.title_keys)
            shared -= first.unit.head_keys & second.unit.head_keys  # the sender of a mail is no step
            shared = frozenset(key for key in shared if holding[key] <= rare or key in _subject(second.unit))
            if second is first or not shared or not _may_answer(evidence, clause, second):
                continue
            outer = _share(evidence, second, _stated(evidence, clause, second.unit))
            if outer < _MIN_OUTER or inner + outer < _MIN_BOTH:
                continue
            value = inner + outer + _FITS * second.fits + _SHARED * min(_MAX_SHARED, len(shared))
            value += _RARITY * max(1.0 / max(1, holding[key]) for key in shared)
            value += _ABOUT * (not shared.isdisjoint(_subject(second.unit)))
            value += _NOUN * (clause.noun >= 0 and _states(evidence.plan.terms[clause.noun], second.unit))
            yield _Pair(value, first, second)


def _may_answer(evidence: AnswerEvidence, clause: Clause, second: Scored) -> bool:
    """Return whether a unit has a value of the type asked for, and the names around the clause."""
    plan = evidence.plan
    fits = (second.fits and not (second.heading and plan.kind is Kind.DATE)) or counted_before(evidence, second.unit)
    if plan.kind in TYPED and not fits:
        return False
    return all(second.covers[place] >= _MIN_NAME for place in clause.outer if plan.terms[place].hard)


def _bridges(evidence: AnswerEvidence, noun: int) -> Bridges:
    """Return the units that may be a step, each with what it may share with another one about the same thing: names,
    and labels of the noun such as "fridge B".
    """
    firm = _firm_names(evidence.units)
    found = {}
    for scored in evidence.scored:
        if scored.unit.kind not in (UnitKind.ABOUT, UnitKind.CODE):
            names = (bridge_keys(scored.unit) & firm) - evidence.plan.keys
            labels = _labels(scored.unit, evidence.plan.terms[noun].key) if noun >= 0 else frozenset()
            found[id(scored)] = scored, names | labels
    return found


def _labels(unit: Unit, noun: str) -> frozenset[str]:
    return frozenset(
        f"{first.key} {second.text}"
        for first, second in pairwise(words_of(unit.text))
        if first.key == noun and len(second.text) <= _MAX_LABEL_CHARS and (second.capital or second.coded)
    )


def _subject(unit: Unit) -> frozenset[str]:
    """Return the keys of the first cell of a row, which names what the row is about, with those of a column `name`."""
    if not unit.cells:
        return frozenset()
    names = (cell.value for cell in unit.cells[1:] if cell.column.lower() in _NAME_COLUMNS)
    return keys_of(unit.cells[0].value).union(*map(keys_of, names))


_NAME_COLUMNS = frozenset({"name", "title"})


def _firm_names(units: Sequence[Unit]) -> frozenset[str]:
    """Return the keys of words that are names in every position: in a cell, with a digit, or in upper case within a
    sentence. "Report" at the beginning of one is none.
    """
    found: set[str] = set()
    for unit in units:
        words = words_of(unit.text)
        found.update(w.key for at, w in enumerate(words) if w.coded or (w.capital and (at or unit.cells)))
        found.update(w.key for heading in unit.headings[:1] for w in words_of(heading)[1:] if w.capital)
    return frozenset(found)
