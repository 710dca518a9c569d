"""Types of standing questions: the evidence of a question, and its change by one commit."""

from __future__ import annotations

from dataclasses import dataclass

EVALUATED_MODES = ("bridge", "local", "passages", "vector")
"""Modes whose exact result is a function of the question and the live documents. The other modes read communities or
learned weights, which depend on the history of the graph, so that their results would change by themselves."""


@dataclass(frozen=True, slots=True)
class EvidencePassage:
    """A passage of a question's evidence; `score` is that of the mode at the evaluation."""

    doc_id: str
    chunk_id: str
    score: float


Evidence = tuple[EvidencePassage, ...]
"""The passages of a question, best first."""


@dataclass(frozen=True, slots=True)
class EvidenceChange:
    """The change of a question's evidence by one commit: another ordered list of passages.

    `entered` and `left` are both empty when only the order changed.
    """

    question_id: str
    before: Evidence
    after: Evidence

    @property
    def entered(self) -> Evidence:
        """Return the passages that were no evidence before, best first."""
        return _without(self.after, self.before)

    @property
    def left(self) -> Evidence:
        """Return the passages that are no evidence any more, in their former order."""
        return _without(self.before, self.after)


def same_evidence(one: Evidence, other: Evidence) -> bool:
    """Return whether both are the same passages in the same order, whatever their scores."""
    return [passage.chunk_id for passage in one] == [passage.chunk_id for passage in other]


def _without(passages: Evidence, others: Evidence) -> Evidence:
    known = {passage.chunk_id for passage in others}
    return tuple(passage for passage in passages if passage.chunk_id not in known)
