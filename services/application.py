"""The application port: all that HTTP, gRPC and the CLI can ask of Graphtide, once, in plain types.

Not a protocol and not an implementation: `services/api/http` and `services/api/grpc` translate it to their wire
formats,
`services/local_application.py` implements it on the views of a process. Every method raises only `streams.errors`
(NotFound, Invalid, Overloaded, DeadlineExceeded to the caller; Retryable when a model endpoint is away).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graphtide.graph.retrieval.types import AnswerEdge as SubgraphEdge
from graphtide.graph.retrieval.types import AnswerNode as SubgraphNode
from graphtide.graph.retrieval.types import ContextPart, Filters
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.ports import ReportFinding, RevisionState

__all__ = [
    "Answer",
    "Application",
    "Citation",
    "CommunityReport",
    "ContextPart",
    "Digest",
    "DocumentStatus",
    "EntityStatus",
    "Filters",
    "GraphStats",
    "Health",
    "LabelStatus",
    "LetterList",
    "LetterQuery",
    "LetterStatus",
    "Merge",
    "Piece",
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
    """Documents that are durably accepted. `token` says "after these" to a later query."""

    token: str
    accepted: int


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A relation that a document states, with the sentence that says so (empty when it was brought along).

    `valid_from` and `valid_to` are ISO dates or empty; `ended_by` is the later document that contradicts it, and
    `instead` what that says.
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
    instead: str = ""


@dataclass(frozen=True, slots=True)
class DocumentStatus:
    """The newest revision of a document: where it stands, why if it failed, and what the graph has from it.

    `facts` are those of the live revision, which is an older one as long as `state` is "accepted" or "failed". `usage`
    is what all its revisions together took of the models.
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


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """A question. `timeout_s` bounds the wait for `after` and the answer together.

    `level` is of the hierarchy of communities, 0 the finest, for the modes that read reports; None leaves it to them.
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


@dataclass(frozen=True, slots=True)
class Citation:
    doc_id: str
    chunk_id: str
    text: str


@dataclass(frozen=True, slots=True)
class RankedPassage:
    doc_id: str
    chunk_id: str
    score: float
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls and tokens of the language model; `cost` is that of all models, None without prices."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """`answer` is empty when only the context was asked for. `trace` is there under `explain`: steps with figures.

    `parts` are what the mode has beside passages; `chosen` says why mode `auto` took `mode`.
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
    parts: tuple[ContextPart, ...] = ()
    chosen: str = ""


@dataclass(frozen=True, slots=True)
class GraphStats:
    """Counts of what is live, the graph's version, how far it is behind, and which parts it runs on.

    `lag` is the number of revisions without an end; `freshness_s` the age of the oldest of them, 0 when there is none.
    """

    graph: str
    version: int
    counts: Mapping[str, int]
    revisions: Mapping[str, int]
    lag: int
    freshness_s: float
    event_to_queryable_ms: Mapping[str, float]
    kernels: Mapping[str, str]
    models: Mapping[str, str]
    indexes: Mapping[str, Mapping[str, object]]
    spending: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """By stage, what models took since the beginning; "today"; and "budget", with the reason if it pauses the graph."""


@dataclass(frozen=True, slots=True)
class LabelStatus:
    """A spelling of one type: how often it is mentioned, and some of the chunks that do."""

    name: str
    type: str
    mentions: int
    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    """Why two labels are held to be one entity. `holds` False: a guard overruled it, and they stay apart."""

    a: str
    b: str
    rule: str
    score: float
    holds: bool


@dataclass(frozen=True, slots=True)
class EntityStatus:
    """An entity, what it is made of and why, its strongest relations, its communities from the finest level up.

    `description` is what the live documents say it is, put together under 500 tokens; empty where they do not.
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
class CommunityReport:
    """A community's report and the chunks it rests on, all of which are in the graph.

    `rating` is how much the community matters, 0 to 10.
    """

    community: int
    level: int
    title: str
    summary: str
    sources: tuple[str, ...]
    version: int
    findings: tuple[ReportFinding, ...] = ()
    rating: float = 0.0


@dataclass(frozen=True, slots=True)
class RelatedDocument:
    """A document that goes with another: how strongly (`score`), and what that is the sum of.

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
    """The documents that go with one, best first, and the version they were read at."""

    doc_id: str
    version: int
    documents: tuple[RelatedDocument, ...]


@dataclass(frozen=True, slots=True)
class Digest:
    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What a recount found. `differences` is empty when everything that is stored equals what it is derived from."""

    graph: str
    version: int
    digest: str
    recounted: str
    differences: tuple[str, ...]
    checked: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A rebuild from the live extractions: what stood, what was built, and whether it took its place."""

    graph: str
    version: int
    before: str
    after: str
    switched: bool


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge deleted, by kind, and the size of the database file with its log before and after.

    `remaining` names what this process cannot purge, and how that is done.
    """

    removed: Mapping[str, int]
    size_before_bytes: int
    size_after_bytes: int
    remaining: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LetterStatus:
    """A dead letter: what could not be processed, why, and whether somebody has dealt with it (`settled`).

    `text` is the beginning of the original, with what is not printable escaped; `original` all of it, in base64. Both
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
    settled: str
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
    """Which page: at most `limit` letters behind `after`; those dealt with only when `settled`."""

    after: str = ""
    limit: int = 50
    settled: bool = False


@dataclass(frozen=True, slots=True)
class Health:
    """`ready` only when every part is; `parts` says in plain words what each is doing or lacking."""

    ready: bool
    parts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Piece:
    """The next piece of a streamed answer's text."""

    text: str


class Application(Protocol):
    """What a Graphtide service does. Safe to call from any number of tasks of one event loop."""

    async def publish(self, documents: Sequence[DocumentMessage]) -> Receipt:
        """Accept documents of one graph durably, all or none. Returns when they would survive kill -9."""
        ...

    async def delete(self, graph: str, doc_id: str) -> Receipt:
        """Accept a deletion. Raises NotFound when the document was never accepted or is deleted already."""
        ...

    async def document(self, graph: str, doc_id: str) -> DocumentStatus:
        """Where a document stands. Raises NotFound."""
        ...

    async def related(self, graph: str, doc_id: str, count: int) -> RelatedDocuments:
        """The `count` documents most related to one that is live. Raises NotFound."""
        ...

    async def query(self, graph: str, ask: QueryRequest) -> Answer:
        """Answer from the live graph. Raises NotFound, Invalid (mode, after), DeadlineExceeded."""
        ...

    def stream(self, graph: str, ask: QueryRequest) -> AsyncIterator[Answer | Piece]:
        """The same in pieces: the Answer with its context and an empty text, then Pieces, last the full Answer."""
        ...

    async def graphs(self) -> Mapping[str, int]:
        """The graphs with their versions."""
        ...

    async def stats(self, graph: str) -> GraphStats: ...

    async def entity(self, graph: str, entity_id: str) -> EntityStatus:
        """An entity by the id that subgraphs name it by. Raises NotFound."""
        ...

    async def reports(self, graph: str) -> Sequence[CommunityReport]:
        """The reports that hold now, the coarsest communities first."""
        ...

    async def digest(self, graph: str) -> Digest: ...

    async def verify(self, graph: str) -> Verification: ...

    async def rebuild(self, graph: str) -> Rebuilt: ...

    async def purge(self) -> Purged:
        """Delete from the files what deleted documents left there, in all graphs."""
        ...

    async def dead_letters(self, graph: str, query: LetterQuery) -> LetterList:
        """What could not be processed; in graph "*" the records whose key names no graph. Raises Invalid."""
        ...

    async def dead_letter(self, graph: str, letter_id: str) -> LetterStatus:
        """One of them, with its original. Raises Invalid, NotFound."""
        ...

    async def retry_letter(self, graph: str, letter_id: str, correction: DocumentMessage | None = None) -> Receipt:
        """Publish it again, as it was or corrected, as a new revision. Raises Invalid when that cannot be, NotFound."""
        ...

    async def drop_letter(self, graph: str, letter_id: str) -> LetterStatus:
        """Say that it is dealt with. Raises Invalid when it is already, NotFound."""
        ...

    async def health(self) -> Health: ...
