"""The vectors of standing questions, each compared with those of its graph before it is searched with.

The invariant: a question whose text or vector cannot be used is left out and named; it stops neither the other
questions nor the versions of its graph.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from graphtide.graph.retrieval.question_vector import QuestionVector
from graphtide.graph.retrieval.types import Question
from graphtide.graph.view import LiveView
from graphtide.streams.errors import Rejected, Retryable
from graphtide.streams.model_ports import Embedder
from graphtide.streams.retry import outcome_of
from graphtide.streams.standing.records import QuestionDefinition, StoredQuestion

log = logging.getLogger("graphtide.streams")

RETRY_S = 1.0

Asked = tuple[StoredQuestion, Question]


def check_vector(view: LiveView, vector: QuestionVector, embedder: Embedder) -> None:
    """Raise Rejected for a vector of another length than those of the view, which it cannot be compared with."""
    index = view.indexes.chunks
    if len(index) and vector.size != index.dimensions:
        raise Rejected(
            f"the embedder {embedder.name} gives the question {vector.size} dimensions, and the vectors of graph"
            f" {view.graph!r} have {index.dimensions}: restore the model that they were made with, or embed the"
            " documents again: with `graphtide reembed`, or, for an own embedder, under another name in a new data"
            " folder"
        )


class QuestionEmbedding:
    """The embedding of stored questions. Vectors come from the embedder's cache unless they are new to this process."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def of(self, view: LiveView, definition: QuestionDefinition) -> Question:
        """Return one question with its vector. Raises Rejected for one that the view cannot be searched with."""
        [vector] = await self._embedder.embed([definition.question])
        check_vector(view, vector, self._embedder)
        return _question(definition, vector)

    async def until_done(self, view: LiveView, stored: Sequence[StoredQuestion]) -> list[Asked]:
        """Return `of_all`. A temporary failure of the embedder delays the next version of the view."""
        while isinstance(asked := await outcome_of(self.of_all(view, stored)), Retryable):
            log.error("graph %s: standing questions could not be embedded; trying again", view.graph, exc_info=asked)
            await asyncio.sleep(RETRY_S)
        if isinstance(asked, Exception):
            raise asked
        return asked

    async def of_all(self, view: LiveView, stored: Sequence[StoredQuestion]) -> list[Asked]:
        """Return the questions that the view can be searched with. The others are logged, each with the reason."""
        try:
            vectors = await self._embedder.embed([each.definition.question for each in stored])
        except Rejected:  # for one of the texts
            found = [(each, await outcome_of(self.of(view, each.definition))) for each in stored]
        else:
            found = [(each, self._checked(view, each, one)) for each, one in zip(stored, vectors, strict=True)]
        for each, question in found:
            if isinstance(question, Exception):
                _skip(view.graph, each.definition.id, question)
        return [(each, question) for each, question in found if isinstance(question, Question)]

    def _checked(self, view: LiveView, stored: StoredQuestion, vector: QuestionVector) -> Question | Rejected:
        try:
            check_vector(view, vector, self._embedder)
        except Rejected as error:
            return error
        return _question(stored.definition, vector)


def _skip(graph: str, question_id: str, error: Exception) -> None:
    """Log why a question is not evaluated. Raises an error that concerns more than this question."""
    if not isinstance(error, Rejected):
        raise error
    log.error("graph %s: standing question %r is not evaluated until the next start: %s", graph, question_id, error)


def _question(definition: QuestionDefinition, vector: QuestionVector) -> Question:
    return Question(
        definition.question,
        vector,
        definition.top_k,
        definition.mode,
        definition.filters,
        exact=True,
        options=definition.options,
    )
