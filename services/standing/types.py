"""Types and operations of standing questions, for HTTP, gRPC, the command line and Python.

The passages of an event are named in storage; their text is that of the document when the event is read, and empty
once the passage no longer exists.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from graphtide.graph.standing.types import EVALUATED_MODES
from graphtide.streams.errors import Invalid
from graphtide.streams.standing.records import Cause, QuestionDefinition

__all__ = [
    "Cause",
    "EvidenceItem",
    "QuestionDefinition",
    "QuestionPage",
    "StandingEvent",
    "StandingQuestion",
    "StandingQuestions",
    "check_mode",
]

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """A passage of a question's evidence, with its text and title while it exists."""

    doc_id: str
    chunk_id: str
    score: float
    text: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class StandingQuestion:
    """A registered question with its current evidence.

    `passages` is the evidence at `version`, best first, 0 while it is not evaluated. It has been the same since
    `changed_version`, which was committed at `changed_at`; `seq` is the number of the last event, 0 without one.
    `answer` is that of the last event, if answers are written (`with_answer`).
    """

    id: str
    question: str
    mode: str
    top_k: int
    version: int
    changed_version: int
    changed_at: str
    seq: int
    passages: tuple[EvidenceItem, ...]
    with_answer: bool = False
    answer: str = ""
    filters: Mapping[str, object] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """A page of questions by id. `next` is the cursor of the next page, "" on the last."""

    questions: tuple[StandingQuestion, ...]
    next: str


@dataclass(frozen=True, slots=True)
class StandingEvent:
    """A change of the evidence by one commit. `seq` numbers the events of a question from 1, without gaps.

    `entered` and `left` are the passages that became and ceased to be evidence; both are empty when only the order
    changed. `passages` is the new evidence, best first. `token` is that of the commit.
    """

    id: str
    seq: int
    version: int
    token: str
    occurred_at: str
    causes: tuple[Cause, ...]
    entered: tuple[EvidenceItem, ...]
    left: tuple[EvidenceItem, ...]
    passages: tuple[EvidenceItem, ...]
    answer: str = ""


class StandingQuestions(Protocol):
    """The operations on standing questions. Each raises NotFound for an unknown graph."""

    async def put_question(self, graph: str, definition: QuestionDefinition) -> StandingQuestion:
        """Register or replace a question, and return it with its evidence. Raises Invalid for a mode whose results do
        not depend on the live documents alone, and for one more question than a graph may have.
        """
        ...

    async def question(self, graph: str, question_id: str) -> StandingQuestion:
        """Return a question with its evidence. Raises NotFound."""
        ...

    async def delete_question(self, graph: str, question_id: str) -> None:
        """Delete a question with its events. Raises NotFound."""
        ...

    async def list_questions(self, graph: str, limit: int, cursor: str) -> QuestionPage:
        """Return a page of questions by id. Raises Invalid for a foreign cursor."""
        ...

    def question_events(self, graph: str, question_id: str, after: str) -> AsyncIterator[StandingEvent | None]:
        """Yield None once the request is valid, then the events after a number or a token, "" for all that are
        retained; ends when the question is deleted. Raises NotFound, Invalid, Expired for events no longer retained.
        """
        ...


def check_mode(mode: str) -> None:
    """Raise Invalid for a mode that standing questions do not have."""
    if mode not in EVALUATED_MODES:
        raise Invalid(
            "mode",
            f"{mode!r} is not a mode of standing questions: its results may change without a change of the documents;"
            f" use one of {', '.join(EVALUATED_MODES)}",
        )
