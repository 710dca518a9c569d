"""The application port: all operations of Graphtide for HTTP, gRPC and the CLI, in plain types.

`services/api/http` and `services/api/grpc` translate it to their wire formats,
`services/local_application.py` implements it on the views of a process. Every method raises only `streams.errors`
(NotFound, Invalid, Overloaded, DeadlineExceeded to the caller; Retryable when a model endpoint is unreachable).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graphtide.graph.retrieval.options.fields import Options
from graphtide.graph.retrieval.types import AnswerEdge as SubgraphEdge
from graphtide.graph.retrieval.types import AnswerNode as SubgraphNode
from graphtide.graph.retrieval.types import Filters
from graphtide.graph.retrieval.types import RetrievedPart as ContextPart
from graphtide.graph.text.place import NO_PLACE, Place
from graphtide.services.browsing import Browser, CommunityReport
from graphtide.services.changes.types import Change, ChangeQuery, FeedItem, FeedOpened, FeedProgress, GraphRows
from graphtide.services.component_state import ComponentState
from graphtide.services.preview.types import Preview, PreviewRequest
from graphtide.services.standing.types import StandingQuestions
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.ports import ReportFinding, RevisionState

__all__ = [
    "Answer",
    "Application",
    "Change",
    "ChangeQuery",
    "Citation",
    "CommunityReport",
    "ContextPart",
    "DeletedGraph",
    "Digest",
    "DocumentStatus",
    "EntityStatus",
    "FeedItem",
    "FeedOpened",
    "FeedProgress",
    "Filters",
    "GraphRows",
    "GraphStats",
    "Health",
    "LabelStatus",
    "LetterList",
    "LetterQuery",
    "LetterStatus",
    "Merge",
    "Piece",
    "Preview",
    "PreviewRequest",
    "QueryRequest",
    "RankedPassage",
    "Rebuilt",
    "Receipt",
    "RelatedDocument",
    "RelatedDocuments",
    "ReportFinding",
    "StatedFact",
    "SubgraphEdge",
    "SubgraphNode",
    "Usage",
    "Verification",
]


@dataclass(frozen=True, slots=True)
class Receipt:
    """Receipt of durably accepted documents. A later query passes `token` as `after` to include them."""

    token: str
    accepted: int


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A relation that a document states, with its evidence sentence (empty when the publisher supplied the relation).

    `valid_from` and `valid_to` are ISO dates or empty; `ended_by` is the later document that contradicts it, and
    `superseding_value` the value that that document states.
    """

    subject: str
    predicate: str
    object: str
    description: str
    weight: float
    evidence: str
    chunk_id: str
    valid_from: str = ""
    valid_to: str = ""
    ended_by: str = ""
    superseding_value: str = ""


@dataclass(frozen=True, slots=True)
class DocumentStatus:
    """The newest revision of a document: its state, the reason of a failure, and its content in the graph.

    `facts` are those of the live revision, which is older while `state` is "accepted" or "failed". `usage` is
    the use of models by all its revisions. `media_type` is empty when the publisher gave none.
    """

    graph: str
    doc_id: str
    state: RevisionState
    revision: int
    reason: str
    token: str
    live_revision: int | None
    title: str
    source: str
    occurred_at: str
    metadata: Mapping[str, object]
    text: str
    facts: tuple[StatedFact, ...]
    usage: Usage = field(default_factory=lambda: Usage())  # noqa: PLW0108 - it is defined below
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """A question. `timeout_s` bounds the wait for `after` and the answer together.

    `level` selects the level of the community hierarchy, 0 the finest, for modes that read reports; None: the mode
    selects it. An `exact` question searches every vector instead of the approximate indexes.
    `at` selects an earlier version of the graph: its number, the token of a change, or a token of publishing. `options`
    are checked options of the mode.
    """

    question: str
    mode: str = "local"
    top_k: int = 5
    after: str = ""
    filters: Filters = field(default_factory=Filters)
    generate: bool = True
    explain: bool = False
    timeout_s: float = 30.0
    level: int | None = None
    exact: bool = False
    at: str = ""
    options: Options = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """A cited passage; `title` is that of its document, `place` where the passage is in it.

    `number` is the `[n]` of the answer. `quote` is the cited sentence or row, without line breaks; it is
    `text[start:end]`.
    """

    doc_id: str
    chunk_id: str
    text: str
    title: str = ""
    place: Place = NO_PLACE
    number: int = 0
    quote: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A retrieved passage, with the title of its document and its place in it."""

    doc_id: str
    chunk_id: str
    score: float
    text: str
    title: str = ""
    place: Place = NO_PLACE


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls and tokens of the language model; `cost` is the cost of all models, None without prices."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its context. `answer` is empty when only the context was requested.

    `trace` holds the retrieval steps when `explain` is set; `context_parts` the context other than passages;
    `mode_reason` the reason why mode `auto` selected `mode`.
    """

    answer: str
    citations: tuple[Citation, ...]
    passages: tuple[RankedPassage, ...]
    nodes: tuple[SubgraphNode, ...]
    edges: tuple[SubgraphEdge, ...]
    version: int
    mode: str
    usage: Usage
    trace: tuple[Mapping[str, object], ...] | None = None
    context_parts: tuple[ContextPart, ...] = ()
    mode_reason: str = ""


@dataclass(frozen=True, slots=True)
class GraphStats:
    """Counts of live content, the graph's version, its lag, and the components in use.

    `lag` is the number of revisions whose processing has not ended; `freshness_s` the age of the oldest one, 0 without
    any.
    """

    graph: str
    version: int
    counts: Mapping[str, int]
    revisions: Mapping[str, int]
    lag: int
    freshness_s: float
    event_to_queryable_ms: Mapping[str, float]
    kernels: Mapping[str, str]
    """Kept for clients of earlier releases: "compiled" for each kernel."""
    models: Mapping[str, str]
    indexes: Mapping[str, Mapping[str, object]]
    spending: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Use of models by stage since the start; "today"; and "budget", with the reason when it pauses the graph."""


@dataclass(frozen=True, slots=True)
class LabelStatus:
    """A spelling with one type: the number of its mentions, and some of the chunks that mention it."""

    name: str
    type: str
    mentions: int
    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    """The evidence for merging two labels. `holds` False: a cannot-link constraint keeps them separate."""

    a: str
    b: str
    rule: str
    score: float
    holds: bool


@dataclass(frozen=True, slots=True)
class EntityStatus:
    """An entity: its labels, merges, strongest relations, and communities from the finest level to the coarsest.

    `description` merges the descriptions in the live documents, under 500 tokens; empty without any.
    """

    id: str
    name: str
    type: str
    mentions: int
    labels: tuple[LabelStatus, ...]
    merges: tuple[Merge, ...]
    relations: tuple[SubgraphEdge, ...]
    communities: tuple[int, ...]
    version: int
    description: str = ""


@dataclass(frozen=True, slots=True)
class RelatedDocument:
    """A document related to another. `score` is the sum of `weight` and `shared`.

    `weight` is learned from the passages' vectors, `shared` the strength of the rarest entity that both mention (0:
    none), `entities` the names of the rarest ones.
    """

    doc_id: str
    title: str
    score: float
    weight: float
    shared: float
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelatedDocuments:
    """The documents related to one, the best first, and the version of the graph that was read."""

    doc_id: str
    version: int
    documents: tuple[RelatedDocument, ...]


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest of a graph at a version: the number of its construction, a hyphen, 64 hex digits."""

    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification. `differences` is empty when all stored data equals the data derived again."""

    graph: str
    version: int
    digest: str
    recounted: str
    differences: tuple[str, ...]
    checked: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The result of a rebuild from the live extractions: digests before and after, and whether the result is in use."""

    graph: str
    version: int
    before: str
    after: str
    switched: bool


@dataclass(frozen=True, slots=True)
class Purged:
    """The number of rows that a purge deleted, by kind, and the size of the database file with its log before and
    after.

    `remaining` names data that this process cannot purge, with the remedy.
    """

    removed: Mapping[str, int]
    size_before_bytes: int
    size_after_bytes: int
    remaining: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeletedGraph:
    """The state of a graph's deletion, which is durable. `deleted` False: it continues, and a call may wait again."""

    graph: str
    deleted: bool


@dataclass(frozen=True, slots=True)
class LetterStatus:
    """A dead letter: a record that could not be processed, the reason, and its resolution: "" while unresolved.

    `text` is the beginning of the original with unprintable characters escaped; `original` is all of it in base64. Both
    are empty in a list.
    """

    id: str
    graph: str
    doc_id: str
    revision: int
    stage: str
    reason: str
    attempts: int
    buried_at: str
    resolution: str
    size_bytes: int
    text: str = ""
    original: str = ""


@dataclass(frozen=True, slots=True)
class LetterList:
    """A page of dead letters, oldest first. `next` is the `after` of the next page, "" on the last."""

    letters: tuple[LetterStatus, ...]
    next: str


@dataclass(frozen=True, slots=True)
class LetterQuery:
    """A page of dead letters: at most `limit` after `after`; resolved ones only when `resolved`."""

    after: str = ""
    limit: int = 50
    resolved: bool = False


@dataclass(frozen=True, slots=True)
class Health:
    """Readiness of a process, and the state of each component by name."""

    ready: bool
    components: Mapping[str, ComponentState]


@dataclass(frozen=True, slots=True)
class Piece:
    """The next piece of a streamed answer's text."""

    text: str


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

    def stream(self, graph: str, ask: QueryRequest) -> AsyncIterator[Answer | Piece]:
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
