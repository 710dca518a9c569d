"""The texts of the chosen units.

Invariants: at most MAX_WORDS words; a unit that depends on the previous sentence brings it along.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from graphtide.graph.text.quotation import LINK_BREAKS, neutralise
from graphtide.infra.documents.day_lines import is_day_line
from graphtide.infra.models.local.answers.choosing.replies import reply_to
from graphtide.infra.models.local.answers.choosing.rows.places import keys_of_places
from graphtide.infra.models.local.answers.matching.answer_types import TYPED
from graphtide.infra.models.local.answers.matching.expressed import signs_person
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.lexicon import COPULAS
from graphtide.infra.models.local.answers.questions.types import Kind, TermKind
from graphtide.infra.models.local.answers.units import Cell, Unit, UnitKind, first_person
from graphtide.infra.models.local.answers.values.dates import days_in
from graphtide.infra.models.local.answers.values.names import has_full_name
from graphtide.infra.models.local.answers.values.phrases import has_phrase, has_reason
from graphtide.infra.models.local.answers.words import NUMBER_WORDS, keys_of, words_of
from graphtide.infra.models.local.english.lexical.verbs import VERBS

MAX_WORDS = 76
_ALONE_WORDS, _ROW_WORDS, _FEW_ROWS = 40, 26, 2
_WORD = re.compile(r"[^\s,;|]+")
MAIL = "Mail from "


@dataclass(frozen=True, slots=True)
class Quotation:
    """A text of an answer, and the unit that it was taken from."""

    text: str
    unit: Unit
    listed: bool = False
    """True if it is one of the items of a list."""
    is_code: bool = False


def rendered(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> list[Quotation]:
    """Return the texts of the chosen units within MAX_WORDS, in the order of the text within a passage."""
    quotations: list[Quotation] = []
    left = MAX_WORDS
    rows = sum(scored.unit.kind is UnitKind.ROW for scored in chosen)
    used: set[int] = set()
    spoken: set[tuple[int, int]] = set()
    listed = len(chosen) > 2 and evidence.plan.kind not in (Kind.SUMMARY, Kind.REASON)
    for scored in chosen:
        for unit in (
            *counted_before(evidence, scored.unit),
            *_with_context(evidence, scored.unit),
            *_explanation(evidence, scored.unit),
            *_sequel(scored.unit),
            *(reply_to(evidence, scored.unit) or _record_below(evidence, scored.unit)),
            *(_continuation(evidence, scored.unit) if len(chosen) == 1 else ()),
        ):
            if id(unit) in used:
                continue
            used.add(id(unit))
            whole = rows == 1 and evidence.plan.kind is Kind.SUMMARY  # "what happened to Ada": what a long cell tells
            shown = _row(evidence, unit, MAX_WORDS if whole else _row_words(rows)) if unit.cells else unit.text
            text = _prefix(evidence, scored, unit) + _speaker(unit, spoken) + shown
            count = len(_WORD.findall(text))
            if count > left:
                if quotations:
                    continue
                text = " ".join(text.split()[:left])
                count = left
            quotations.append(Quotation(text, unit, listed))
            left -= count
            if (code := _code_after(evidence, unit, left)) is not None:
                quotations.append(code)
                left -= len(_WORD.findall(code.text))
    return quotations


def _code_after(evidence: AnswerEvidence, unit: Unit, left: int) -> Quotation | None:
    """Return the code that a unit introduces, its first lines if it is long; None for code that quotation would change
    into other code, such as an index in square brackets.
    """
    if unit.code is None or not (evidence.plan.how or (unit.announces_code and evidence.plan.kind not in TYPED)):
        return None
    lines: list[str] = []
    for line in unit.code.source.split("\n"):
        left -= len(_WORD.findall(line))
        if left < 0 or len(lines) == _MAX_LINES:
            break
        lines.append(line)
    text = "\n".join(lines).rstrip()
    quotable = text.strip() and LINK_BREAKS.sub(" ", text) == neutralise(text)
    return Quotation(text, unit.code, is_code=True) if quotable else None


_MAX_LINES = 12


def _prefix(evidence: AnswerEvidence, scored: Scored, unit: Unit) -> str:
    """Return the heading that holds the value asked for, or the title that names the thing asked for."""
    if unit is not scored.unit:
        return ""
    if heading := scored.heading or _day_above(evidence, unit):
        return f"{heading}: "
    tells = first_person(unit) or _is_passive(evidence, unit)
    if evidence.plan.kind is Kind.PERSON and tells and unit.headings[:1] and not has_full_name(unit.text):
        return f"{unit.headings[0]}: " if unit.headings[0].startswith(MAIL) else ""
    focus = {term.key for term in evidence.plan.terms if term.kind is TermKind.FOCUS}
    short = len(unit.title.split()) <= 4 and any(char.isdigit() for char in unit.title)
    if short and focus & unit.title_keys and not focus & (unit.keys | unit.columns) and not unit.headings:
        return f"{unit.title}: "
    return ""


def _speaker(unit: Unit, spoken: set[tuple[int, int]]) -> str:
    """Return the speaker of a sentence of a message, unless one of the message is quoted already; note the message."""
    message = (unit.origin, unit.block)
    known = message in spoken
    spoken.add(message)
    return f"{unit.speaker}: " if unit.speaker and not known else ""


def _day_above(evidence: AnswerEvidence, unit: Unit) -> str:
    """Return the day that the heading of an entry states, where a date is asked for and the entry has a time alone."""
    if evidence.plan.kind is not Kind.DATE or unit.cells or days_in(unit.text) or not unit.headings:
        return ""
    above = unit.headings[-1]
    return above if is_day_line(above) and not has_phrase(evidence.plan.text, ("time", "o'clock")) else ""


def _is_passive(evidence: AnswerEvidence, unit: Unit) -> bool:
    """Return whether a sentence says that what the question asks about was done, and not by whom: "is granted"."""
    verb = evidence.plan.who_verb
    words = words_of(unit.text)
    done = any(first.text.lower() in _PASSIVE and second.key == verb for first, second in pairwise(words))
    return bool(verb) and done and not has_phrase(unit.text, ("by",))


_PASSIVE = frozenset({"is", "are", "was", "were", "been"})


def _asks_which(evidence: AnswerEvidence) -> bool:
    return evidence.plan.kind in (Kind.THING, Kind.LIST) and evidence.plan.text.lower().startswith("which ")


def _lacks_person(evidence: AnswerEvidence, unit: Unit) -> bool:
    """Return whether the question asks for a person, and the unit names none with a full name."""
    return evidence.plan.kind is Kind.PERSON and not unit.cells and not has_full_name(unit.text)


def counted_before(evidence: AnswerEvidence, unit: Unit) -> tuple[Unit, ...]:
    """Return the sentence before, where it counts what the question counts and the unit says "them" of it."""
    before, key = unit.before, evidence.plan.counted
    if not key or key in unit.keys or before is None or before.block != unit.block or key not in before.keys:
        return ()
    counts = any(word.coded or word.text.lower() in NUMBER_WORDS for word in words_of(before.text))
    return (before,) if counts and _THEM.search(unit.text) else ()


_THEM = re.compile(r"\b(?:them|they|these|those|all|both)\b")


def _naming(unit: Unit, names_thing: bool) -> Unit | None:
    """Return the first sentence of a record, which names it, for a sentence without a name, if a name is asked for."""
    if not names_thing or "#" not in unit.doc_id or unit.kind is not UnitKind.SENTENCE or unit.before is None:
        return None
    first = unit.before
    while first.before is not None and first.before.block == unit.block:
        first = first.before
    return None if any(word.capital for word in words_of(unit.text)[1:]) else first


def _with_context(evidence: AnswerEvidence, unit: Unit) -> Iterable[Unit]:
    """Yield the sentences that a unit depends on, then the unit: before a pronoun, and, where a person is asked for
    and none is named, before "the" and a noun of the sentence before.
    """
    lacks_person, names_thing = _lacks_person(evidence, unit), _asks_which(evidence)
    asks_why = evidence.plan.kind is Kind.REASON
    if (first := _naming(unit, names_thing) or unit.labelling) is not None:
        yield first
    if unit.before is not None and signs_person(evidence.plan, unit):
        yield unit.before
    depends = (
        unit.dangling
        or _adds(unit)
        or (asks_why and _refers_back(unit))
        or has_phrase(unit.text, _OF_THEM)
        or (lacks_person and unit.resumes)
    )
    if depends and unit.before is not None and unit.before.block == unit.block:
        if unit.antecedent is not None:
            yield unit.antecedent
        missing = lacks_person and not has_full_name(unit.before.text)
        if missing and unit.before.resumes and unit.before.before is not None:
            yield unit.before.before
        yield unit.before
    yield unit


def _refers_back(unit: Unit) -> bool:
    """Return whether a sentence without a reason has "of it" or the like: what is meant may be the reason."""
    return has_phrase(unit.text, _OF_IT) and not has_reason(unit.text)


_OF_IT = ("of it", "near it", "at it", "with it", "from it", "to it", "of them", "from them")
_OF_THEM = ("one of them", "each of them", "both of them", "all of them", "any of them", "none of them", "some of them")


def _adds(unit: Unit) -> bool:
    """Return whether a sentence says near its beginning that it adds to the one before: "in an emergency also Ann"."""
    return not unit.cells and any(word.text == "also" for word in words_of(unit.text)[:_MAX_ADDING])


_MAX_ADDING = 4


def _explanation(evidence: AnswerEvidence, unit: Unit) -> tuple[Unit, ...]:
    """Return the next sentence where the question asks for a reason, the unit has none, and that one has."""
    after = unit.after
    if evidence.plan.kind is not Kind.REASON or after is None or after.block != unit.block:
        return ()
    reasons = has_reason(after.text) or (_is_name_alone(after.text) and not unit.cells)
    return (after,) if reasons and not has_reason(unit.text) else ()


def _is_name_alone(text: str) -> bool:
    """Return whether a sentence is one or two words without a verb: "Otter."."""
    words = [word.text.lower() for word in words_of(text)]
    return 0 < len(words) <= _MAX_ALONE and not any(word in VERBS or word in COPULAS for word in words)


_MAX_ALONE = 2


def _sequel(unit: Unit) -> tuple[Unit, ...]:
    """Return the next sentence of the paragraph where it names what is there instead of what the unit says is gone, or
    where the unit is only a few words without a verb, which announce it.
    """
    after = unit.after
    if unit.kind is not UnitKind.SENTENCE or after is None or after.block != unit.block or unit.text.endswith("?"):
        return ()
    replaced = has_phrase(unit.text, _GONE) and has_phrase(after.text, ("instead",))
    return (after,) if replaced or _announces(unit.text) else ()


def _record_below(evidence: AnswerEvidence, unit: Unit) -> tuple[Unit, ...]:
    """Return the fields below a line that only names what they are of, where a field has a word of the question that
    the line lacks: "ADCP RiverRay, serial 18842", and `last calibration: ... by Teledyne`.
    """
    after = unit.after
    if after is None or after.kind is not UnitKind.ROW or unit.cells or not unit.text[-1:].isalnum():
        return ()
    if len(unit.text.split()) > _MAX_NAMING or evidence.plan.kind not in TYPED:
        return ()
    lacking = [term for term in evidence.plan.terms if not term.weak and term.key not in unit.keys]
    fields = after.keys | after.columns
    return (after,) if any(({term.key} | term.synonyms) & fields for term in lacking) else ()


_MAX_NAMING = 8


def _continuation(evidence: AnswerEvidence, unit: Unit) -> tuple[Unit, ...]:
    """Return the next sentence of the paragraph where a place is asked for, and it opens with a pronoun, or takes up a
    noun, and so says more of it; and where a person is asked for and it adds one: "in an emergency also Ann".
    """
    after = unit.after
    if after is None or after.block != unit.block or unit.cells:
        return ()
    if evidence.plan.kind is Kind.PERSON:
        return (after,) if _adds(after) else ()
    fits = len(after.text.split()) <= _MAX_CONTINUING and not after.text.endswith("?")
    return (after,) if evidence.plan.kind is Kind.PLACE and fits and (after.dangling or after.resumes) else ()


_MAX_CONTINUING = 25


def _announces(text: str) -> bool:
    words = [word.text.lower() for word in words_of(text)]
    return 1 < len(words) <= _MAX_ANNOUNCING and not any(
        word in VERBS or word in COPULAS or word[0].isdigit() for word in words
    )


_GONE = ("no longer", "not any more", "discontinued", "sold out", "not available", "unavailable")
_MAX_ANNOUNCING = 4


def _row_words(rows: int) -> int:
    """Return the words that each of some rows may have: a row alone is quoted in full, unless it is very long."""
    if rows == 1:
        return _ALONE_WORDS
    return _ROW_WORDS if rows <= _FEW_ROWS else MAX_WORDS // rows


def _row(evidence: AnswerEvidence, unit: Unit, limit: int) -> str:
    """Return the cells of a row: all if they are few, or without the longest ones that the question does not concern,
    if the others are; else those that it concerns, after the first one, which names the row; labelled lines of a text
    have none that does.
    """
    whole = "; ".join(cell.text for cell in unit.cells)
    if len(_WORD.findall(whole)) <= limit:
        return whole
    if limit >= _ALONE_WORDS and (shorter := _without_longest(evidence, unit, limit)):
        return shorter
    named = "#" in unit.doc_id or whole == unit.text
    asked = _asked(evidence)
    kept = [cell for at, cell in enumerate(unit.cells) if (at == 0 and named) or _concerns(cell, asked)]
    kept = kept or list(unit.cells[:1])
    return "; ".join(cell.text for cell in kept)


def _without_longest(evidence: AnswerEvidence, unit: Unit, limit: int) -> str:
    """Return the cells of a row without the longest ones, "" if the question concerns one of these."""
    asked, kept = _asked(evidence), list(unit.cells)
    while len(_WORD.findall("; ".join(cell.text for cell in kept))) > limit:
        longest = max(kept[1:], key=lambda cell: len(_WORD.findall(cell.text)), default=None)
        if longest is None or len(_WORD.findall(longest.text)) < _LONG_WORDS or _concerns(longest, asked):
            return ""
        kept.remove(longest)
    return "; ".join(cell.text for cell in kept)


_LONG_WORDS = 8


def _asked(evidence: AnswerEvidence) -> frozenset[str]:
    plan = evidence.plan
    return plan.keys.union(keys_of_places(plan), *(term.synonyms for term in plan.terms))


def _concerns(cell: Cell, asked: frozenset[str]) -> bool:
    return bool(keys_of(re.sub(r"[_./-]", " ", cell.text)) & asked)
