"""The port of stored standing questions: definitions, evidence and events, by graph.

Invariant: an event, the evidence that it leads to, and its number are stored in one step; a version gives a question at
most one event, however often it is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from graphtide.streams.errors import Invalid
from graphtide.streams.standing.records import (
    EvaluatedQuestion,
    QuestionDefinition,
    QuestionEvent,
    StoredQuestion,
)

MAX_QUESTIONS = 20_000
"""Maximum number of standing questions of one graph."""
EVENTS_KEPT = 1_000
"""Events of a question that are retained; a reader that resumes before them gets an error."""


def check_count(graph: str, registered: int, limit: int) -> None:
    """Raise Invalid if a graph with so many questions may not have another one. A store calls it in the transaction
    that adds the question.
    """
    if registered >= limit:
        raise Invalid("id", f"graph {graph!r} has {limit:,} standing questions, the limit; delete one first")


class QuestionStore(Protocol):
    """Durable standing questions. Each has a reference in memory and adapters that pass one contract suite."""

    async def put(self, graph: str, definition: QuestionDefinition) -> StoredQuestion:
        """Store a question. An equal definition changes nothing; another one resets the evidence, not the numbers of
        events. Raises Invalid for one more question than a graph may have, also when others are stored in parallel.
        """
        ...

    async def delete(self, graph: str, question_id: str) -> bool:
        """Delete a question with its events. Returns False when it does not exist."""
        ...

    async def get(self, graph: str, question_id: str) -> StoredQuestion | None:
        """Return a question; None for an unknown one."""
        ...

    async def page(self, graph: str, after: str, limit: int) -> Sequence[StoredQuestion]:
        """Return the first `limit` questions whose id is above `after`, by id."""
        ...

    async def count(self, graph: str) -> int:
        """Return the number of questions of a graph."""
        ...

    async def graphs(self) -> Sequence[str]:
        """Return the graphs that have questions."""
        ...

    async def record(
        self, graph: str, version: int, at_ms: int, evaluated: Sequence[EvaluatedQuestion]
    ) -> Sequence[QuestionEvent]:
        """Store evaluations at a version, in one step, and return the events. Those of deleted questions, of other
        definitions than the stored one, and of questions with an event at that version or a later one, are passed over.
        """
        ...

    async def events(self, graph: str, question_id: str, after: int, limit: int) -> Sequence[QuestionEvent]:
        """Return the first `limit` retained events with numbers above `after`, in order."""
        ...

    async def due_answers(self, graph: str) -> Sequence[QuestionEvent]:
        """Return the events whose answer is due: at most one of each question, its last."""
        ...

    async def answer(self, graph: str, question_id: str, seq: int, answer: str) -> None:
        """Store the answer of an event, "" when none could be written. An event that is not the last is passed over."""
        ...


class SharedQuestionStore(QuestionStore, Protocol):
    """Questions that several processes read and evaluate."""

    async def revisions(self) -> Mapping[str, int]:
        """Return, for each graph that ever had a question, a number that every registration and deletion raises."""
        ...

    async def unsent(self, limit: int) -> Sequence[tuple[str, QuestionEvent]]:
        """Return (graph, event) of events that are not in the topic `answers` yet and whose answer is not due."""
        ...

    async def sent(self, events: Sequence[tuple[str, QuestionEvent]]) -> None:
        """Mark events as appended to the topic."""
        ...

    async def evaluated(self, graph: str) -> int:
        """Return a version up to which all questions of the graph were evaluated; 0 for none. It may be behind."""
        ...

    async def note_evaluated(self, versions: Mapping[str, int]) -> None:
        """Store the versions up to which the questions of graphs were evaluated. A lower one changes nothing."""
        ...
