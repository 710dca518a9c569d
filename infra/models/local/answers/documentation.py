"""Forms of technical documentation: instructions with code, definitions, and lists of the changes of each version.

A list of changes says what was so once, in the words of what is so now, so it answers questions about changes alone.
Invariant: the prior of a unit depends on the question and the unit. Cost: linear in the unit's words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphtide.infra.models.local.answers.matching.expressed import defines
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.forms import VERSION
from graphtide.infra.models.local.answers.questions.types import Kind, QuestionPlan
from graphtide.infra.models.local.answers.units import Unit, UnitKind
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.words import ARTICLES, key_of, keys_of, word_set, words_of

CHANGES, POINTER, EXAMPLE, INSTRUCTION, CODE, SECTION, DEFINITION, FLAG = -1.2, -1.5, -0.7, 1.0, 0.3, 0.7, 1.5, 3.0
ABOUT, ASKING, DATE_FIELD = -1.5, -1.0, 2.0
"""Added to the logit of a unit: of a list of changes, of "see X for details", of an example, of what tells how to do
something, of what code follows, of what is below headings with the words of the question, of what says what the thing
in question is, and of what says what an option does that it names. ABOUT: of a document's description of itself, such
as the headers of a mail, of which no field is asked for. ASKING: of a question. DATE_FIELD: of the date of what
headings and title name, where the question asks when that is: "Date: 21 May".
"""
_MAX_STEPS, _MAX_CHANGES = 2, 6
_INSTRUCTING = (
    "you can", "you may", "you need to", "you should", "you must", "you have to", "make sure", "use the", "run the",
    "in order to", "by passing", "by using", "by setting", "by calling", "by running", "to do so", "to do this",
    "can be used to", "is used to", "simply", "pass the", "set the", "call the", "add the",
)  # fmt: skip
_RESTRICTING = ("not", "don't", "do not", "only", "never", "no longer")
_IMPERATIVES = word_set(
    """use run set call pass add install create open click select choose press enter type go make start stop configure
    specify provide define import export download enable disable turn switch put remove delete copy write edit check
    ensure follow connect log sign"""
)
_TO_DO = re.compile(r"To [a-z][^.]{1,120},? (?:use|run|set|call|pass|add|install|create|you)\b")
_POINTER = re.compile(
    r"(?:please )?(?:also )?(?:see|refer to|have a look at|head to|for (?:more|further) (?:information|details|on)) ",
    re.I,
)
_EXAMPLE = re.compile(r"(?:for example|for instance|suppose|let's|imagine|however|assume|consider)\b", re.IGNORECASE)
_NEXT = re.compile(r"(?:and )?(?:then|next|now|finally|afterwards|after that)\b", re.IGNORECASE)
_CLASSES = (
    "class", "function", "method", "command", "option", "flag", "module", "argument", "parameter", "property",
    "setting", "service", "library", "tool",
)  # fmt: skip
_CLASS_KEYS = frozenset(map(key_of, _CLASSES))
_CLASS_OF = re.compile(rf"[\s\"'`*]{{0,4}}(?:{'|'.join(_CLASSES)})\b")
_WHICH_CLASS = re.compile(rf"which (?:{'|'.join(_CLASSES)})s?\b", re.IGNORECASE)
_VERB = re.compile(r"[\"'`*]{0,2} (?!(?:is|was|has|as|this|its)\b)[a-z]{2,20}[a-rt-z]s\b")
_MAX_SUBJECT = 4
_FLAG = re.compile(r"(?<![^\s\"'`(\[,])(--?[A-Za-z][\w-]{0,60})")
_FLAG_TERMS = re.compile(r"(-[^\s][^\n]{0,160}?):\s")
"""The options of a command before what they do: "-n, --dry-run: Show only …"."""
_NEGATABLE = "--[no-]"


def flags_of(text: str) -> frozenset[str]:
    """Return the options of commands that a text names, such as "--dry-run"."""
    return frozenset(_FLAG.findall(text.replace(_NEGATABLE, "--"))) if "-" in text else frozenset()


def describes_flag(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit says what an option does that the question names, and does not ask which one it is."""
    if _WHICH_CLASS.match(plan.text):
        return False
    terms = _FLAG_TERMS.match(unit.text) if unit.text.startswith("-") else None
    return terms is not None and not flags_of(plan.text).isdisjoint(flags_of(terms[1]))


def states_flag(text: str, flags: frozenset[str]) -> bool:
    """Return whether a line of a text says what one of some options does. Cost: linear in the text."""
    lines = text.split("\n") if flags else ()
    terms = (_FLAG_TERMS.match(line) for line in lines if line.startswith("-"))
    return any(found is not None and not flags.isdisjoint(flags_of(found[1])) for found in terms)


def is_instruction(unit: Unit) -> bool:
    """Return whether a unit tells how to do something: an imperative, "you can …", what an option does, or what
    announces code.
    """
    if unit.announces_code or (unit.text.startswith("-") and _FLAG_TERMS.match(unit.text)):
        return True
    if unit.cells or unit.text.endswith("?") or has_phrase(unit.text, _RESTRICTING):
        return False
    first = unit.text.split(" ", 1)[0]
    return (
        (first.istitle() and first.lower() in _IMPERATIVES)
        or bool(_TO_DO.match(unit.text))
        or has_phrase(unit.text, _INSTRUCTING)
    )


def introduces(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit says what the thing in question is: by "X is a …" or "the X class …", as the first sentence
    below a heading, or a title, that is nothing but its name, or as the row with that name. What X does is said by
    "X does", too.
    """
    meant = plan.keys - _MEANING
    asked = meant - _CLASS_KEYS or meant
    if unit.kind is UnitKind.ROW:
        return bool(asked) and len(unit.cells) > 1 and keys_of(unit.cells[0].value) == asked
    if unit.cells or unit.kind is not UnitKind.SENTENCE:
        return False
    if meant < plan.keys and meant and not has_phrase(plan.text, ("mean", "meant", "meaning")):
        return _expands(asked, unit.text) or has_phrase(unit.text, (f"{_ABBREVIATES} for",))
    stated = _is_labelled(asked, unit.text) or defines(plan, unit) or _is_of_class(plan, unit)
    if stated or _tells_function(plan, asked, unit):
        return True
    heading = unit.headings[-1] if unit.headings else unit.title
    return bool(asked) and ((unit.opens_section and keys_of(heading) == asked) or _expands(asked, unit.text))


def _is_labelled(asked: frozenset[str], text: str) -> bool:
    """Return whether a sentence begins with the thing in question and a colon: "Slip: liquid clay."."""
    label, colon, _ = text[:_MAX_LABEL_CHARS].partition(": ")
    return bool(colon and asked) and keys_of(label) == asked


_MAX_LABEL_CHARS = 80


def _tells_function(plan: QuestionPlan, asked: frozenset[str], unit: Unit) -> bool:
    """Return whether the question is what X does, and a unit begins with X and a verb: "The scribe writes …"."""
    if not plan.function:
        return False
    named: set[str] = set()
    end = 0
    for word in words_of(unit.text)[:_MAX_SUBJECT]:
        if word.key in asked:
            named.add(word.key)
            end = word.start + len(word.text)
        elif named or word.text.lower() not in ARTICLES:
            break
    return named == asked and _VERB.match(unit.text, end) is not None


def _expands(asked: frozenset[str], text: str) -> bool:
    """Return whether a text has an acronym in question in parentheses: "Estimated Time of Arrival (ETA)"."""
    return any(not keys_of(match[1]).isdisjoint(asked) for match in _ACRONYM.finditer(text))


_ABBREVIATES = "stands"
_MEANING = frozenset(map(key_of, (_ABBREVIATES, "mean", "meant", "meaning")))
_ACRONYM = re.compile(r"[\w\"\u201d] \(([A-Z][A-Z0-9]{1,7})s?\)")


def thing_defined(plan: QuestionPlan) -> str:
    """Return the thing of which the question asks what it is, "" for another question."""
    return " ".join(term.text.lower() for term in plan.terms if term.key not in _MEANING) if plan.defines else ""


def states_definition(text: str, thing: str) -> bool:
    """Return whether a text says somewhere "X is a", "X means" or "(X)". Cost: a few searches in the text."""
    lower = text.lower()
    return any(f"{thing}{end}" in lower for end in _STATING) or f"({thing})" in lower


_STATING = (" is a ", " is an ", " is the ", " are ", " means ", f" {_ABBREVIATES} for ", " refers to ")


def _is_of_class(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit begins with "the MockTransport class"."""
    for word in words_of(unit.text)[:_MAX_SUBJECT]:
        end = word.start + len(word.text)
        if word.key in plan.keys or any(key in plan.keys for key in keys_of(word.text.replace(".", " "))):
            return _CLASS_OF.match(unit.text, end) is not None
    return False


def is_old_change(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether a unit is of a list of changes, and the question does not ask for them."""
    return unit.lists_changes and not plan.changes


def prior(plan: QuestionPlan, unit: Unit) -> float:
    """Return what the form of the unit adds to its logit, for the form of the question."""
    added = CHANGES * is_old_change(plan, unit)
    if plan.how or plan.defines:
        added += POINTER * (_POINTER.match(unit.text) is not None) + EXAMPLE * (_EXAMPLE.match(unit.text) is not None)
    if plan.how:
        added += INSTRUCTION * is_instruction(unit) + CODE * (unit.code is not None) + SECTION * _is_titled(plan, unit)
    if plan.defines:
        added += DEFINITION * introduces(plan, unit)
    added += DATE_FIELD * _is_date_field(plan, unit)
    added += ABOUT * (unit.kind is UnitKind.ABOUT and not asks_for_field(plan, unit))
    return added + FLAG * describes_flag(plan, unit) + ASKING * (unit.asks and plan.done is None and not plan.to_do)


def _is_date_field(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether the question asks when something is, and the unit is the date below its headings or title."""
    if plan.kind is not Kind.DATE or not _WHEN_IS.match(plan.text) or not _DATE_FIELD.match(unit.text):
        return False
    asked = [term.key for term in plan.terms if not term.weak]
    return bool(asked) and unit.head_keys | unit.title_keys >= set(asked)


_WHEN_IS = re.compile(r"when (?:is|are|was|were|will) ", re.IGNORECASE)
_DATE_FIELD = re.compile(r"(?:dates?|when|day)\s?: ", re.IGNORECASE)


def asks_for_field(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether the question asks for a field of a document's own description: its author, its owner."""
    asked = frozenset().union(*({t.key} | t.synonyms for t in plan.terms if not t.weak))
    return any(cell.column_keys & asked and cell.column.lower() not in _NAMING for cell in unit.cells)


_NAMING = word_set("title subject mail tags")


def _is_titled(plan: QuestionPlan, unit: Unit) -> bool:
    """Return whether the headings and the title have all words of the question that say something, and the innermost
    one has one of them.
    """
    asked = {term.key for term in plan.terms if not term.weak}
    innermost = keys_of(unit.headings[-1]) if unit.headings else unit.title_keys
    return not asked.isdisjoint(innermost) and asked <= unit.head_keys | unit.title_keys


def defined(evidence: AnswerEvidence, place: int) -> bool:
    """Return whether the question asks for a definition, and the unit at the place is one."""
    return evidence.plan.defines and introduces(evidence.plan, evidence.scored[place].unit)


def has_form(evidence: AnswerEvidence, place: int, others: Sequence[Scored]) -> bool:
    """Return whether the unit at the place has the form of the answer: a definition, what an option does, an
    instruction with code, or an instruction where `others` have none.
    """
    unit = evidence.scored[place].unit
    if describes_flag(evidence.plan, unit):
        return True
    if not evidence.plan.how:
        return defined(evidence, place)
    return unit.code is not None or (is_instruction(unit) and not any(is_instruction(one.unit) for one in others))


def with_next_steps(evidence: AnswerEvidence, chosen: Sequence[Scored]) -> Sequence[Scored]:
    """Return a chosen instruction with the steps after it in its section: "And then …", each with code."""
    if not evidence.plan.how or len(chosen) != 1 or chosen[0].unit.code is None:
        return chosen
    first = chosen[0].unit
    of_section = (one for one in evidence.scored if one.unit.section == first.section)
    after = [one for one in of_section if one.unit.ordinal > first.ordinal and one.unit.code is not None]
    steps = [one for one in after if _NEXT.match(one.unit.text)]
    return [*chosen, *sorted(steps, key=lambda one: one.unit.ordinal)[:_MAX_STEPS]]


def asks_for_version(plan: QuestionPlan) -> bool:
    """Return whether it asks what changed in a version, and for nothing more: "what is new in Relay 2.1"."""
    words = plan.text.lower().rstrip("?").split()
    asks = words[:1] in (["what"], ["what's"], ["which"], ["list"]) and not _CHANGED.isdisjoint(words)
    others = [term for term in plan.terms if not (term.weak or term.coded or term.text.lower() in _CHANGED | _VERSIONS)]
    return bool(plan.versions) and asks and len(others) <= 1


_CHANGED = word_set("changed change changes new added removed fixed deprecated happened different")
_VERSIONS = word_set("version release since")


def changes_of_version(evidence: AnswerEvidence) -> list[Scored]:
    """Return what a list of changes has below the version that the question names. Where the name fits several ("2.1":
    2.1.0 and 2.1.1), it is the one with the most changes.
    """
    if not asks_for_version(evidence.plan):
        return []
    found: dict[str, list[Scored]] = {}
    for scored in evidence.scored:
        named = [heading for heading in scored.unit.headings if _has_version(heading, evidence.plan.versions)]
        if named and not scored.unit.text.endswith(":") and scored.unit.kind is not UnitKind.CODE:
            found.setdefault(named[0], []).append(scored)
    exact = [heading for heading in found if _has_version(heading, evidence.plan.versions, exact=True)]
    groups = [found[heading] for heading in (exact or found)]
    return max(groups, key=len, default=[])[:_MAX_CHANGES]


def dated_version(evidence: AnswerEvidence) -> list[Scored]:
    """Return the first unit below the version that the question names, whose heading has the date asked for: "when was
    2.8.1 released" and "2.8.1 (2026-07-14)". None if the question says more.
    """
    plan = evidence.plan
    others = [term for term in plan.terms if not (term.hard or term.verb or term.weak)]
    if plan.kind is not Kind.DATE or len(plan.versions) != 1 or others:
        return []
    return [one for one in evidence.scored if one.heading and _has_version(one.heading, plan.versions, exact=True)][:1]


def _has_version(heading: str, versions: Sequence[str], *, exact: bool = False) -> bool:
    found = [match[1] for match in VERSION.finditer(heading)]
    return any(one == version or (not exact and one.startswith(f"{version}.")) for one in found for version in versions)
