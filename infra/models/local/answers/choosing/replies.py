"""Replies in chats: a message that asks what the question asks, and the next one, which answers both."""

from __future__ import annotations

import re
from dataclasses import replace

from graphtide.infra.documents.line_starts import STAMP, stamp_of
from graphtide.infra.models.local.answers.matching.answer_types import TYPED, fits_type
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Scored
from graphtide.infra.models.local.answers.questions.kinds import kind_of
from graphtide.infra.models.local.answers.questions.types import Kind, TermKind
from graphtide.infra.models.local.answers.succession import is_superseded
from graphtide.infra.models.local.answers.units import Unit, following
from graphtide.infra.models.local.answers.values.places import has_place
from graphtide.infra.models.local.answers.words import words_of

_ASKED_IN_CHAT = TYPED | {Kind.PLACE}
_MIN_ASKED, _ASKED = 2, 0.85
"""Words of the question that a message has to ask about, and the least cover of each."""


def asked_before(evidence: AnswerEvidence) -> list[Scored]:
    """Return the last message that asks about all that the question names, of those to which the reply has a value of
    the type asked for; none without one, or if a later unit corrects something of all that.
    """
    kinds = (TermKind.WEAK, TermKind.IMPLIED)
    terms = [at for at, term in enumerate(evidence.plan.terms) if term.kind not in kinds]
    if len(terms) < _MIN_ASKED:
        return []
    asking = [
        scored for scored in evidence.scored
        if scored.unit.asks and min(scored.covers[at] for at in terms) >= _ASKED and _is_answered(evidence, scored)
    ]  # fmt: skip
    last = max(asking, key=lambda scored: (scored.unit.date, scored.unit.ordinal, scored.unit.place), default=None)
    return [] if last is None or is_superseded(evidence, last.unit, terms) else [last]


def _is_answered(evidence: AnswerEvidence, asking: Scored) -> bool:
    """Return whether the reply has a value of the type asked for, beside the time at which it was written."""
    if not (pair := reply_to(evidence, asking.unit)):
        return False
    stamp = STAMP.match(pair[1].text)
    message = replace(pair[1], text=pair[1].text[stamp.end() if stamp else 0 :])
    return fits_type(evidence, message) and (evidence.plan.kind is not Kind.PLACE or has_place(message.text))


def reply_to(evidence: AnswerEvidence, unit: Unit) -> tuple[Unit, ...]:
    """Return the question in a message, and the next message, where the message asks what the question asks: a person
    ("Who do we tell?"), a place, a date or a number; a place, too, if the reply to "when" names one; yes or no, if the
    reply begins with that.
    """
    asking = next((each for each in (unit, unit.after, unit.before) if each is not None and each.asks), None)
    if asking is None or asking.block != unit.block or evidence.plan.kind not in _ASKED_IN_CHAT | {Kind.YES_NO}:
        return ()
    last = asking
    while last.after is not None and last.after.block == asking.block:
        last = last.after
    reply = following(last, evidence.units)
    if reply is None or reply.asks or not (stamp_of(reply.text) and _begins_message(asking)):
        return ()
    if evidence.plan.kind is Kind.YES_NO:
        stamp = STAMP.match(reply.text)
        return (asking, reply) if stamp and _AFFIRMS.match(reply.text, stamp.end()) else ()
    kind, _ = kind_of(asking.text, [word.text.lower() for word in words_of(asking.text)])
    same = kind is evidence.plan.kind or ({kind, evidence.plan.kind} == _MEETING and has_place(reply.text))
    return (asking, reply) if same else ()


_AFFIRMS = re.compile(
    r"[ \t:,;|\u2013\u2014-]{0,4}(?:[^\W\d_][^:\n]{0,30}: )?(?:yes|no|yep|yeah|nope|sure|of course)\b", re.IGNORECASE
)
"""Yes or no at the beginning of a message, after its moment and its writer."""
_MEETING = {Kind.DATE, Kind.PLACE}
"""Where and when something begins are often answered together."""


def _begins_message(unit: Unit) -> bool:
    """Return whether the block of a unit begins with a date or a time."""
    first = unit
    while first.before is not None and first.before.block == unit.block:
        first = first.before
    return bool(stamp_of(first.text))
