"""The OpenAPI models of the responses, for documentation only: `services/api/schema/shapes.py` writes the bytes.

A test parses real responses with these models, which forbid unknown fields, so the two stay equal.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Response(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ErrorDetail(Response):
    code: str = Field(examples=["invalid"])
    message: str = Field(examples=["must be a string, not a number"])
    field: str | None = Field(default=None, examples=["facts[3].subject"])


class ErrorBody(Response):
    error: ErrorDetail


class RejectionBody(Response):
    index: int = Field(description="the document's position in the batch, from 0")
    id: str | None = None
    field: str
    message: str


class BatchErrorBody(Response):
    error: ErrorDetail
    accepted: int | None = None
    rejected: list[RejectionBody] | None = None


class TokenBody(Response):
    token: str = Field(description="pass it as `after` of a query, whose answer then includes this revision")


class BatchReceipt(TokenBody):
    accepted: int
    rejected: list[RejectionBody]


class StatedFactBody(Response):
    subject: str
    predicate: str
    object: str
    description: str
    weight: float
    evidence: str
    chunk_id: str
    valid_from: str = Field(default="", description="an ISO date, or empty when unknown")
    valid_to: str = ""
    ended_by: str = Field(default="", description="the later document that contradicts this fact")
    superseding_value: str = Field(default="", description="the value that the later document states")
    instead: str = Field(default="", description="old name of `superseding_value`", deprecated=True)


class UsageBody(Response):
    llm_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None = Field(
        default=None, description="the cost of all models, in the currency of the prices in the settings"
    )


class DocumentProgressBody(Response):
    """The passages of a revision, and the number of those that are extracted and embedded."""

    stage: Literal["extract", "apply"] = Field(description="extract, and then apply until readers see the revision")
    passages: int
    extracted: int
    embedded: int


class DocumentStatusBody(Response):
    """The newest revision of a document. `facts` are those of the live revision, which is older while the newest one is
    only accepted, or failed.
    """

    graph: str
    doc_id: str
    state: Literal["accepted", "applied", "superseded", "deleted", "failed"]
    revision: int
    reason: str
    token: str
    live_revision: int | None
    title: str
    source: str
    occurred_at: str
    metadata: dict[str, Any]
    text: str
    facts: list[StatedFactBody]
    usage: UsageBody = Field(description="the use of models by all revisions of the document")
    media_type: str = Field(description="the format of the text, empty when the publisher gave none")
    progress: DocumentProgressBody | None = Field(
        default=None,
        description="while the newest revision is accepted: progress of a large one; null for one that is small, not"
        " begun, or extracted by another process",
    )


RANKING = (
    "orders the items of one result, the highest first; it is no probability, and not comparable between questions, "
    "modes or versions"
)


class RelatedBody(Response):
    doc_id: str
    title: str
    score: float = Field(description="the sum of `weight` and `shared`")
    weight: float = Field(description="learned from the vectors of the passages")
    shared: float = Field(description="the strength of the rarest entity that both documents mention, 0 without one")
    entities: list[str] = Field(description="the rarest entities that both documents mention")


class RelatedList(Response):
    doc_id: str
    version: int
    documents: list[RelatedBody] = Field(description="the most related first")


class PlaceBody(Response):
    headings: list[str] = Field(default=[], description="the headings above the passage, outermost first")
    page: int = Field(default=0, description="from 1, absent without pages")
    row: int = Field(default=0, description="the first table row of the passage, from 1; absent outside of tables")
    kind: Literal["", "table", "code", "quote"] = ""
    lead_in: str = Field(default="", description="the sentence that introduces a list which the passage continues")


class SourceBody(Response):
    doc_id: str
    chunk_id: str
    text: str
    title: str = Field(description="the document's title")
    place: PlaceBody = Field(description="where the passage is in the document; empty in a text without structure")


class CitationBody(SourceBody):
    number: int = Field(description="the [n] of the answer")
    quote: str = Field(description="the cited sentence or row")
    start: int = Field(description="where the quote begins in the passage's text, in characters")
    end: int = Field(description="where it ends")


class PassageBody(SourceBody):
    score: float = Field(description=RANKING)


class NodeBody(Response):
    id: str
    name: str
    type: str
    score: float = Field(description=RANKING)


class EdgeBody(Response):
    id: str
    source: str
    predicate: str
    target: str
    weight: float
    valid_from: str = Field(default="", description="an ISO date, or empty when unknown")
    valid_to: str = ""
    ended_by: str = Field(default="", description="the later document that contradicts this fact")
    superseding_value: str = Field(default="", description="the value that the later document states")
    instead: str = Field(default="", description="old name of `superseding_value`", deprecated=True)
    source_name: str = Field(description="the name of the entity `source`")
    target_name: str = Field(description="the name of the entity `target`")
    trussness: int = Field(default=0, description="the largest k such that a k-truss of the graph holds the edge")


class SubgraphBody(Response):
    nodes: list[NodeBody]
    edges: list[EdgeBody]


class PartBody(Response):
    title: str
    text: str = Field(description="`[n]` in it is the n-th of `sources`")
    sources: list[str] = Field(description="the chunks that support it")
    score: float = Field(description=RANKING)


class AnswerBody(Response):
    answer: str = Field(description="`[n]` in it is the n-th of `passages`")
    citations: list[CitationBody] = Field(description="the passages that the answer cites")
    passages: list[PassageBody]
    subgraph: SubgraphBody
    version: int
    mode: str
    usage: UsageBody
    context_parts: list[PartBody] | None = Field(
        default=None, description="texts other than passages: reports, subgraphs"
    )
    parts: list[PartBody] | None = Field(default=None, description="old name of `context_parts`", deprecated=True)
    mode_reason: str | None = Field(default=None, description="why `auto` selected this mode")
    chosen: str | None = Field(default=None, description="old name of `mode_reason`", deprecated=True)
    trace: list[dict[str, Any]] | None = None


class StatsBody(Response):
    graph: str
    version: int
    counts: dict[str, int]
    revisions: dict[str, int]
    lag: int = Field(description="number of revisions whose processing has not ended")
    freshness_s: float = Field(description="age of the oldest of these revisions")
    event_to_queryable_ms: dict[str, float]
    kernels: dict[str, str]
    models: dict[str, str]
    indexes: dict[str, dict[str, Any]]
    spending: dict[str, dict[str, Any]] = Field(
        description="use of models by stage, the use of today, and the daily budget"
    )


class DeletedGraphBody(Response):
    graph: str
    deleted: bool = Field(description="whether the deletion is done; if not, it continues")


class LabelBody(Response):
    name: str
    type: str
    mentions: int
    chunks: list[str] = Field(description="some of the chunks that use it")


class MergeBody(Response):
    a: str
    b: str
    rule: str
    score: float = Field(description="the strength of the rule's evidence, from 0 to 1; no probability")
    holds: bool = Field(
        description="false when a cannot-link constraint overrides the rule; the labels are then separate"
    )


class EntityDetailsBody(Response):
    id: str
    name: str
    type: str
    mentions: int
    labels: list[LabelBody]
    merges: list[MergeBody]
    relations: list[EdgeBody] = Field(description="the strongest relations")
    relation_count: int = Field(description="the number of all relations of the entity")
    communities: list[int] = Field(description="the entity's communities, from the finest level to the coarsest")
    description: str = Field(description="the description in the live documents, under 500 tokens; empty without one")
    version: int


class FindingBody(Response):
    text: str
    chunks: list[str] = Field(description="the chunks that support it")
    relations: list[str] = Field(description="the relations that the finding states")


class ReportBody(Response):
    community: int
    level: int
    title: str
    summary: str
    sources: list[str]
    version: int
    findings: list[FindingBody]
    rating: float = Field(description="importance of the community, 0 to 10")


class ReportList(Response):
    reports: list[ReportBody]


class DigestBody(Response):
    version: int
    digest: str = Field(description="equal for equal sets of documents: the number of its construction, and a hash")


class VerificationBody(Response):
    graph: str
    version: int
    digest: str
    recounted: str
    differences: list[str] = Field(
        description="empty when all stored data equals the data derived again from its sources"
    )
    checked: dict[str, int]


class RebuiltBody(Response):
    graph: str
    version: int
    before: str
    after: str
    switched: bool


class PurgedBody(Response):
    removed: dict[str, int] = Field(description="number of deleted rows, by kind")
    size_before_bytes: int = Field(description="size of the database file with its log")
    size_after_bytes: int
    remaining: list[str] = Field(description="data that this process cannot purge, with the remedy")


class LetterBody(Response):
    id: str
    graph: str = Field(description="empty when the record's key names no graph")
    doc_id: str
    revision: int
    stage: str
    reason: str
    attempts: int
    buried_at: str
    resolution: str = Field(description="empty while unresolved, else retried or dropped")
    settled: str = Field(description="old name of `resolution`", deprecated=True)
    size_bytes: int
    text: str = Field(description="the beginning of the original, escaped; empty in a list")
    original: str = Field(description="the whole original in base64; empty in a list")


class LetterListBody(Response):
    letters: list[LetterBody]
    next: str = Field(description="the `after` of the next page, empty on the last")


class CallerBody(Response):
    name: str = Field(description="the name of the key, or the subject of the token; empty without credentials")
    actions: list[Literal["read", "write", "admin", "metrics"]]
    graphs: list[str] = Field(description="names of graphs, or patterns with * and ?")


class Alive(Response):
    status: Literal["alive"]


class HealthBody(Response):
    ready: bool
    components: dict[str, str] = Field(description="the state of each component in plain words")
    parts: dict[str, str] = Field(description="old name of `components`", deprecated=True)
