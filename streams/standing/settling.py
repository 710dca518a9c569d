"""The event of an evaluation: one rule for every store, so that all of them number events alike."""

from __future__ import annotations

from graphtide.graph.standing.types import EvidenceChange, same_evidence
from graphtide.streams.standing.records import EvaluatedQuestion, QuestionEvent, StoredQuestion


def event_of(held: StoredQuestion, each: EvaluatedQuestion, version: int, at_ms: int) -> QuestionEvent | None:
    """Return the event of an evaluation of a stored question; None for its first one, and for equal evidence.

    The stored evidence is compared, not the evaluator's memory of it.
    """
    if each.causes is None or not held.version or same_evidence(held.evidence, each.after):
        return None
    change = EvidenceChange(each.question_id, held.evidence, each.after)
    return QuestionEvent(
        each.question_id,
        held.seq + 1,
        version,
        at_ms,
        each.causes,
        change.entered,
        change.left,
        change.after,
        answer_due=each.answer,
    )
