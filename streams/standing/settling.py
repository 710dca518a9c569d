"""The event of an evaluation: one rule for every store, so that all of them number events alike."""

from __future__ import annotations

from dataclasses import dataclass

from graphtide.graph.standing.types import Evidence, EvidenceChange, same_evidence
from graphtide.streams.standing.records import EvaluatedQuestion, QuestionEvent, StoredQuestion


@dataclass(frozen=True, slots=True)
class SettledEvidence:
    """The stored state of a question that decides the event of its next evaluation.

    `definition` is the encoded one.
    """

    definition: str
    version: int
    seq: int
    evidence: Evidence

    @classmethod
    def of(cls, stored: StoredQuestion) -> SettledEvidence:
        """Return that of a stored question."""
        return cls(stored.definition.encode(), stored.version, stored.seq, stored.evidence)

    def admits(self, each: EvaluatedQuestion, version: int) -> bool:
        """Return True for an evaluation of the stored definition at a later version than the last one stored.

        A question that was replaced meanwhile waits for the evaluation of its present definition.
        """
        return version > self.version and each.definition in ("", self.definition)


def event_of(settled: SettledEvidence, each: EvaluatedQuestion, version: int, at_ms: int) -> QuestionEvent | None:
    """Return the event of an evaluation of a stored question; None for its first one, and for equal evidence.

    The stored evidence is compared, not the evaluator's memory of it.
    """
    if each.causes is None or not settled.version or same_evidence(settled.evidence, each.after):
        return None
    change = EvidenceChange(each.question_id, settled.evidence, each.after)
    return QuestionEvent(
        each.question_id,
        settled.seq + 1,
        version,
        at_ms,
        each.causes,
        change.entered,
        change.left,
        change.after,
        answer_due=each.answer,
    )
