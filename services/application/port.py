"""The application port: all operations of Graphtide. Every method raises only `streams.errors`.

NotFound, Invalid, Overloaded and DeadlineExceeded reach the caller; Retryable means that a model endpoint is
unreachable.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from graphtide.services.application.answers import Answer, AnswerChunk, QueryRequest
from graphtide.services.application.dead_letters import LetterList, LetterQuery, LetterStatus
from graphtide.services.application.documents import DocumentStatus, Receipt, RelatedDocuments
from graphtide.services.application.graphs import (
    DeletedGraph,
    Digest,
    EntityStatus,
    GraphStats,
    Health,
    Purged,
    Rebuilt,
    Verification,
)
from graphtide.services.browsing import Browser, CommunityReport
from graphtide.services.changes.types import ChangeQuery, FeedItem
from graphtide.services.preview.types import Preview, PreviewRequest
from graphtide.services.standing.types import StandingQuestions
from graphtide.streams.messages import DocumentMessage


class Application(Browser, StandingQuestions, Protocol):
    """The operations of a Graphtide service. Safe to call from any number of tasks of one event loop."""

    async def publish(self, documents: Sequence[DocumentMessage]) -> Receipt:
        """Accept documents of one graph durably, all or none. Returns once they survive kill -9."""
        ...

    async def delete(self, graph: str, doc_id: str) -> Receipt:
        """Accept a deletion. Raises NotFound when the document was never accepted or is deleted already."""
        ...

    async def document(self, graph: str, doc_id: str) -> DocumentStatus:
        """Return the status of a document. Raises NotFound."""
        ...

    async def related(self, graph: str, doc_id: str, count: int) -> RelatedDocuments:
        """Return the `count` documents most related to a live one. Raises NotFound."""
        ...

    async def preview(self, graph: str, request: PreviewRequest) -> Preview:
        """Return the change that documents would cause, and its effect on questions. Writes nothing to the graph.

        Raises NotFound, and Invalid for a graph that is too large to copy or a document that cannot be processed.
        """
        ...

    async def query(self, graph: str, ask: QueryRequest) -> Answer:
        """Answer from the live graph. Raises NotFound, Invalid (mode, after), DeadlineExceeded."""
        ...

    def stream(self, graph: str, ask: QueryRequest) -> AsyncIterator[Answer | AnswerChunk]:
        """Answer as a stream: the Answer with its context and an empty text, then Pieces, last the full Answer."""
        ...

    def changes(self, graph: str, query: ChangeQuery) -> AsyncIterator[FeedItem]:
        """Yield the changes of the graph from a token on, without end (`services/changes/feed.py`).

        Raises NotFound, Invalid, Expired.
        """
        ...

    async def graphs(self) -> Mapping[str, int]:
        """Return the graphs with their versions."""
        ...

    async def stats(self, graph: str) -> GraphStats: ...

    async def entity(self, graph: str, entity_id: str, at: str = "") -> EntityStatus:
        """Return an entity by its id in subgraphs, `at` an earlier version. Raises NotFound, Expired."""
        ...

    async def reports(self, graph: str) -> Sequence[CommunityReport]:
        """Return the current reports, the coarsest communities first."""
        ...

    async def digest(self, graph: str, at: str = "") -> Digest:
        """Return the digest of the graph, `at` an earlier version. Raises NotFound, Expired."""
        ...

    async def verify(self, graph: str) -> Verification: ...

    async def rebuild(self, graph: str) -> Rebuilt: ...

    async def delete_graph(self, graph: str, wait_s: float) -> DeletedGraph:
        """Accept the deletion of a graph durably, and wait at most `wait_s` seconds until it is done. Raises NotFound.

        It covers every revision accepted before; documents that are published afterwards begin a new graph.
        """
        ...

    async def purge(self) -> Purged:
        """Delete the remains of deleted documents from the files, in all graphs."""
        ...

    async def dead_letters(self, graph: str, query: LetterQuery) -> LetterList:
        """List records that could not be processed; graph "*": records whose key names no graph. Raises Invalid."""
        ...

    async def dead_letter(self, graph: str, letter_id: str) -> LetterStatus:
        """Return a dead letter, with its original. Raises Invalid, NotFound."""
        ...

    async def retry_letter(self, graph: str, letter_id: str, correction: DocumentMessage | None = None) -> Receipt:
        """Publish it again, unchanged or corrected, as a new revision. Raises Invalid when that is impossible,
        NotFound.
        """
        ...

    async def discard_letter(self, graph: str, letter_id: str) -> LetterStatus:
        """Discard a dead letter: mark it resolved. Raises Invalid when it is resolved already, NotFound."""
        ...

    async def health(self) -> Health: ...
