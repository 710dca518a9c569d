"""Succession of values: of two units that state another value of the same thing, the later one is quoted.

Later is the unit whose heading or document has a later date; without dates, the one that says that it corrects
("now", "instead", "again"). Invariant: succession is decided by the two units alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from graphtide.infra.documents.line_starts import stamp_of
from graphtide.infra.models.local.answers.matching.answer_types import TYPED, denies
from graphtide.infra.models.local.answers.matching.expressed import defines
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan, TermKind
from graphtide.infra.models.local.answers.units import Unit, following
from graphtide.infra.models.local.answers.values.dates import days_in, same_day
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.values.quantities import numbers_before
from graphtide.infra.models.local.answers.words import key_of, keys_of, spaced, words_of

_TAKING_BACK = (
    "take that back",
    "took that back",
    "take it back",
    "took it back",
    "no longer true",
    "not true any more",
)
_CORRECTING = (
    "now", "instead", "again", "corrected", "corrects", "correction", "no longer", "any more", "anymore", "extended",
    "postponed", "brought forward", "final", "finally", "revised", "replaces", "replaced by", "later date", "only this",
    "goes up", "goes down", "recounted", "swapped", "mistake", "mistaken", "since then", "corrigendum", "rises to",
    "increases to", "increased to", "raised to", "falls to", "drops to", "reduced to", "lowered to", "cut to",
    "rescheduled", "measured again", "not what", "with effect from", "one change", "right total", "right figure",
    "right number", *_TAKING_BACK,
)  # fmt: skip
_TAKING_OVER = ("takes over", "took over")
_CHANGED = ("dropped", "changed", "moved", "updated", "withdrawn", "cancelled", "canceled")
_CHANGING = (
    "change", "changes", "changed", "moved", "moves", "new", "update", "updated", "wrong", "rather than", "has been",
    "as of", "dropped",
)  # fmt: skip
"""Words that may mean it; they count only beside a later date."""


def corrects(text: str) -> bool:
    """Return whether a sentence says that it states a new value."""
    words = spaced(text)
    if any(f" {phrase} " in words for phrase in _CORRECTING):
        return True
    if any(f" {verb} {change} " in words for verb in ("is", "are", "was", "were", "been") for change in _CHANGED):
        return True
    if _denies_number(words.split()) or _denies_value(words.split()):
        return True
    return " from " in words and any(day[2] for day in days_in(text.partition("rom ")[2][:18]))


def _denies_number(words: Sequence[str]) -> bool:
    """Return whether a number is put in place of another: "20,000 euros, not 25,000"."""
    return any(first == "not" and second[0].isdigit() for first, second in pairwise(words))


def _denies_value(words: Sequence[str]) -> bool:
    """Return whether a value is put in place of another: "not 1 September but 4 October"."""
    places = (at for at, word in enumerate(words) if word == "not" and at + 1 < len(words))
    return any("but" in words[at + 2 : at + 2 + _MAX_DENIED] and words[at + 1] != "only" for at in places)


_MAX_DENIED = 5
_REACH = 0.65
"""A later unit replaces one whose score is at most 1 / _REACH of its own."""


_ALIKE = 0.95
_OWN, _STATED, _BESIDE, _NEAR, _ABSENT = 0.95, 0.85, 0.55, 0.45, 0.35
_PAST = ("was", "were", "former", "formerly", "became", "had been", "used to", "once", "first")


def is_past(text: str) -> bool:
    """Return whether a sentence is about the past, so that it replaces nothing that holds now."""
    return has_phrase(text, _PAST)


def latest(evidence: AnswerEvidence, best: Scored, ranked: list[Scored]) -> Scored:
    """Return the unit that replaces the best one, or the best one itself."""
    current = best
    if evidence.plan.defines and defines(evidence.plan, best.unit):
        return best
    for second in ranked:
        reach = _REACH
        if _names_old(current, second):
            reach = _DENYING_REACH
        elif _amends(evidence.plan, current, second):
            reach = _CORRECTING_REACH
        elif _changes_in_section(evidence.plan, current, second):
            reach = _DENYING_REACH
        if second.score < reach * best.score or not second.fits or not second.on_day or second.unit is current.unit:
            continue
        same = _names_old(current, second) or _changes_in_section(evidence.plan, current, second)
        same = same or _same_subject(evidence, current, second)
        if same and _replaces(evidence.plan, second, current):
            if _amends(evidence.plan, current, second):  # it need not repeat what the corrected sentence is about
                second.covers = tuple(map(max, zip(second.covers, current.covers, strict=True)))
            current = second
    return current


def changed_since(evidence: AnswerEvidence, chosen: Scored) -> list[Scored]:
    """Return the unit of the last document that says that the value of the chosen one changes, below the same heading,
    with another number of what is counted, or as what has ended, then with the sentences after it that say what there
    is instead; the chosen one without such a unit, or if the question is about the past.
    """
    plan = evidence.plan
    if denied := _denied_in_chat(evidence, chosen):
        return denied
    if corrected := [scored for scored in evidence.scored if _corrects_day(plan, chosen, scored)]:
        return [max(corrected, key=lambda scored: (scored.unit.date, scored.score))]
    if plan.past or not any(chosen.unit.date[:2]) or has_phrase(plan.text, AT_FIRST):
        return [chosen]
    later = [scored for scored in evidence.scored if scored.on_day and _is_later(chosen.unit, scored.unit)]
    if plan.kind in TYPED:
        changed = [s for s in later if s.fits and _states_change(plan, chosen, s)]
        return [max(changed, key=lambda scored: (scored.unit.date, scored.score), default=chosen)]
    ended = [scored for scored in later if plan.kind is Kind.THING and _ends(plan, chosen, scored)]
    if not ended:
        return [chosen]
    last = max(ended, key=lambda scored: (scored.unit.date, scored.score))
    after = last.unit.after
    follows = after is not None and after.block == last.unit.block and corrects(after.text)
    return [last, *(scored for scored in evidence.scored if follows and scored.unit is after)]


def is_superseded(evidence: AnswerEvidence, earlier: Unit, terms: Sequence[int]) -> bool:
    """Return whether a later unit corrects something and has these terms of the question, by their places: a message
    further down in the same chat, or what has a later date.
    """
    return any(
        min((scored.covers[at] for at in terms), default=0.0) >= _STATED and corrects(scored.unit.text)
        for scored in evidence.scored
        if _is_later(earlier, scored.unit) or _is_later_in_chat(earlier, scored.unit)
    )


def covered_terms(scored: Scored) -> list[int]:
    """Return the places of the terms of the question that a unit has in any degree."""
    return [at for at, share in enumerate(scored.covers) if share]


def _is_later_in_chat(earlier: Unit, later: Unit) -> bool:
    return earlier.doc_id == later.doc_id and _is_later_message(earlier, later)


def _is_later(earlier: Unit, later: Unit) -> bool:
    """Return whether a unit has a later date; without a year, that of an entry further down in the same document."""
    if earlier.date[0]:
        return later.date > earlier.date
    in_order = (earlier.ordinal, earlier.place) < (later.ordinal, later.place)
    return earlier.doc_id == later.doc_id and not later.date[0] and later.date > earlier.date and in_order


def _denied_in_chat(evidence: AnswerEvidence, chosen: Scored) -> list[Scored]:
    """Return a later question whether what the chosen unit says is still so, and the reply to it that begins with "no":
    "from the gym still?" and "no, from the church". None without such a reply.
    """
    own = _message_keys(chosen.unit.text) - evidence.plan.keys - _FINE
    for scored in evidence.scored:
        unit = scored.unit
        if not unit.asks or unit.doc_id != chosen.unit.doc_id or not has_phrase(unit.text, _STILL):
            continue
        reply = following(unit, evidence.units)
        later = (unit.ordinal, unit.place) > (chosen.unit.ordinal, chosen.unit.place)
        if later and not own.isdisjoint(_message_keys(unit.text)) and reply is not None and _DENYING.search(reply.text):
            return [scored, *(one for one in evidence.scored if one.unit is reply)]
    return []


def _message_keys(text: str) -> frozenset[str]:
    """Return the keys of a message without its time and the name of its sender."""
    stamp = stamp_of(text)
    sender = text.find(": ", len(stamp)) if stamp else -1
    return keys_of(text[sender + 2 :] if 0 <= sender <= len(stamp) + _MAX_SENDER_CHARS else text)


_MAX_SENDER_CHARS = 45
_FINE = keys_of("fine ok okay good right possible true")
_STILL = ("still", "as before", "as usual")
_DENYING = re.compile(r"(?:^|: )[Nn]o, ")


def _corrects_day(plan: QuestionPlan, earlier: Scored, later: Scored) -> bool:
    """Return whether a later unit says that it corrects what is stated of the day of the earlier one, and has a word of
    the question that this one has: "Correction to 11 February: the discharge was 16.4."
    """
    first, second = earlier.unit, later.unit
    if not first.date[2] or second.date <= first.date or not later.fits or not has_phrase(second.text, _CORRECTION):
        return False
    of_day = any(day[2] and same_day(day, first.date) for day in days_in(second.text))
    shared = plan.keys & first.keys & second.keys
    return of_day and any(not any(char.isdigit() for char in key) for key in shared)


_CORRECTION = ("correction", "corrections", "corrected", "corrects", "corrigendum", "erratum")


def _states_change(plan: QuestionPlan, earlier: Scored, later: Scored) -> bool:
    changes = _changes_in_section(plan, earlier, later)
    return changes or _recounts(plan, earlier, later) or _moves(plan, earlier, later)


def _moves(plan: QuestionPlan, earlier: Scored, later: Scored) -> bool:
    """Return whether a later unit moves to another date what the question asks for: it has each name in question that
    the earlier unit has, and at least two words of it, or all that say something; to postpone, a name alone may.
    """
    postpones = has_phrase(later.unit.text, _POSTPONING)
    if plan.kind is not Kind.DATE or not (postpones or has_phrase(later.unit.text, _MOVING)):
        return False
    shared = [term for term in plan.terms if term.key in earlier.unit.keys and not term.weak]
    names = [term for term in shared if term.hard]
    words = [term for term in shared if term.key in later.unit.keys]
    whole = len(words) == sum(not term.weak for term in plan.terms) and not all(term.hard for term in words)
    return all(term in words for term in names) and (len(words) >= _SHARED or whole or bool(postpones and names))


_MOVING = ("move", "moves", "moved", "moving")
_POSTPONING = (
    "postpone", "postpones", "postponed", "delayed", "rescheduled", "put off", "pushed back", "brought forward",
)  # fmt: skip
_SHARED = 2


def _recounts(plan: QuestionPlan, earlier: Scored, later: Scored) -> bool:
    """Return whether a later unit has another number before what the question counts, in correction, and names
    something that the earlier one names, or the sentence before it does: "Accepted, but only 4,500 copies."
    """
    first, second = earlier.unit, later.unit
    before = second.before
    names = second.names | (before.names if before is not None and before.block == second.block else frozenset())
    mine, theirs = (numbers_before(plan.counted, unit.text) for unit in (first, second))
    says_so = corrects(second.text) or has_phrase(second.text, ("only", "but"))
    return bool(plan.counted and mine and theirs) and mine != theirs and says_so and not names.isdisjoint(first.names)


def _ends(plan: QuestionPlan, earlier: Scored, later: Scored) -> bool:
    """Return whether a later unit says of all that the earlier one names that it is there no more, and has the words of
    the question that the earlier one has.
    """
    capital = frozenset(word.key for word in words_of(earlier.unit.text) if word.capital)
    own, asked = (capital & earlier.unit.names) - plan.keys, plan.keys & earlier.unit.keys
    return bool(own and asked) and own | asked <= later.unit.keys and has_phrase(later.unit.text, _ENDED)


_ENDED = (
    "is lost", "was lost", "cancelled", "canceled", "is dropped", "was dropped", "withdrawn", "no longer",
    "falls through", "fell through", "is off", "gave up", "resigned",
)  # fmt: skip
"""Words of a sentence about what there was, and is not any more."""


AT_FIRST = ("originally", "at first", "initially", "first", "planned", "before", "previously")


def _takes_back(earlier: Scored, later: Scored) -> bool:
    """Return whether a unit takes back what an earlier one of its passage says."""
    first, second = earlier.unit, later.unit
    return first.origin == second.origin and first.place < second.place and has_phrase(second.text, _TAKING_BACK)


def _is_later_message(earlier: Unit, later: Unit) -> bool:
    """Return whether both are messages of one chat, or entries of one log, in this order."""
    in_order = (earlier.ordinal, earlier.place) < (later.ordinal, later.place)
    return in_order and bool(stamp_of(earlier.text) and stamp_of(later.text))


def _below_correction(scored: Scored) -> bool:
    """Return whether the innermost heading says that what is below it corrects something."""
    headings = scored.unit.headings[-1:]
    return any(has_phrase(heading, ("correction", "corrections", "corrigendum", "erratum")) for heading in headings)


def _corrects_document(earlier: Scored, later: Scored) -> bool:
    """Return whether a unit is in the part of the same document that corrects the rest of it."""
    return earlier.unit.doc_id == later.unit.doc_id and _below_correction(later) and not _below_correction(earlier)


def _amends(plan: QuestionPlan, earlier: Scored, later: Scored) -> bool:
    """Return whether a unit may replace one of which it repeats little: below a correction of its document, or, if the
    question asks for what is so now, a later correction.
    """
    if _corrects_document(earlier, later):
        return True
    return plan.latest and later.unit.date > earlier.unit.date and corrects(later.unit.text)


def _names_old(earlier: Scored, later: Scored) -> bool:
    """Return whether a unit puts another value in place of the number that the earlier one states: "£104 rather than
    £96".
    """
    old = {word.key for word in words_of(earlier.unit.text) if word.coded}
    match = IN_PLACE.search(later.unit.text)
    return match is not None and key_of(match.group(1)) in old


def _changes_in_section(plan: QuestionPlan, earlier: Scored, later: Scored) -> bool:
    """Return whether a unit says that a value changes of which an earlier document states another one below a heading
    of the same words: "Price 110 a night" and "The price is lowered to 95", both below "Cottage". Of things that are
    counted it has to name them.
    """
    first, second = earlier.unit, later.unit
    if not first.headings or first.headings[-1:] != second.headings[-1:]:
        return False
    if plan.counted and plan.counted not in second.keys:
        return False
    is_later = first.doc_id != second.doc_id and second.date > first.date and bool(first.date[0])
    shared = (first.keys & second.keys) - first.head_keys
    has_word = any(not any(char.isdigit() for char in key) for key in shared)
    return is_later and has_word and corrects(second.text) and bool(values(later, frozenset()))


IN_PLACE = re.compile(r"\b(?:rather than|instead of|not|no longer)\s\W?(\d[\d.,:]*\d|\d)")
_DENYING_REACH, _CORRECTING_REACH = 0.5, 0.35
_MOST, _SOME = 0.8, 0.2


def _same_subject(evidence: AnswerEvidence, first: Scored, second: Scored) -> bool:
    """Return whether the other unit covers the names and most of what the one covers, and states another value."""
    plan = evidence.plan
    for term, a, b in zip(plan.terms, first.covers, second.covers, strict=True):
        if term.key in plan.setting:
            continue
        if term.kind in (TermKind.NAME, TermKind.CODE) and a >= 0.7 > b:
            return False
        if term.key == plan.counted and b < _STATED <= a and not _amends(plan, first, second):
            return False
        amends = corrects(second.unit.text) or _amends(plan, first, second)
        if term.kind is TermKind.WORD and a >= _OWN and b < _ABSENT and not amends:
            return False
    weights = [0.0 if t.key in plan.setting else w for w, t in zip(evidence.weights, plan.terms, strict=True)]
    strong = sum(w for w, a in zip(weights, first.covers, strict=True) if a >= 0.7)
    near = _NEAR if corrects(second.unit.text) else _BESIDE
    both = sum(w for w, a, b in zip(weights, first.covers, second.covers, strict=True) if a >= 0.7 and b >= near)
    needed = _SOME if _amends(plan, first, second) else _MOST
    if not strong or both < needed * strong or max(second.covers) < _STATED:
        return False
    return _differ(first, second, plan)


def _differ(first: Scored, second: Scored, plan: QuestionPlan) -> bool:
    """Return whether two units state different values. A person whom both name is the same value."""
    if plan.kind is Kind.YES_NO and denies(first.unit.text) != denies(second.unit.text):
        return True
    mine, theirs = values(first, plan.keys), values(second, plan.keys)
    if plan.kind is Kind.PERSON:
        context = second.unit.title_keys | (second.unit.before.names if second.unit.before else frozenset())
        return bool(theirs - mine) if _takes_over(plan, second) else not mine & (theirs | context)
    return mine != theirs


def _takes_over(plan: QuestionPlan, scored: Scored) -> bool:
    """Return whether a unit states who takes a duty over from another, and the question asks for that person."""
    named = any(term.kind is TermKind.NAME for term in plan.terms)
    return plan.kind is Kind.PERSON and not named and has_phrase(scored.unit.text, _TAKING_OVER)


def values(scored: Scored, asked: frozenset[str]) -> frozenset[str]:
    """Return the keys of numbers and names of a unit that the question does not have."""
    unit = scored.unit
    return frozenset(
        w.key for w in words_of(unit.text) if w.key not in asked and (w.coded or w.key.isdigit() or w.capital)
    )


def _replaces(plan: QuestionPlan, later: Scored, earlier: Scored) -> bool:
    first, second = later.unit.date, earlier.unit.date
    if later.unit.quoted and not earlier.unit.quoted:
        return False
    says_so = corrects(later.unit.text) or _takes_over(plan, later) or _below_correction(later)
    if later.unit.doc_id == earlier.unit.doc_id and first == second:
        apart = later.unit.headings != earlier.unit.headings or _takes_back(earlier, later)
        apart = apart or _is_later_message(earlier.unit, later.unit)
        return says_so and apart and not corrects(earlier.unit.text)
    if first[0] and second[0] and first != second:
        alike = later.score >= _ALIKE * earlier.score and not is_past(later.unit.text)
        says_so = says_so or (plan.kind is Kind.YES_NO and denies(later.unit.text) != denies(earlier.unit.text))
        return first > second and (says_so or has_phrase(later.unit.text, _CHANGING) or alike)
    if first[0] and not second[0]:
        return says_so
    if not first[0] and second[0]:
        return False
    return says_so and not corrects(earlier.unit.text)
