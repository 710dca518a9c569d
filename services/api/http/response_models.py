"""The responses as OpenAPI describes them. They document; `services/api/schema/shapes.py` writes the bytes.

A test parses real responses with these models, which know no other fields, so the two stay the same.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Said(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ErrorDetail(_Said):
    code: str = Field(examples=["invalid"])
    message: str = Field(examples=["must be a string, not a number"])
    field: str | None = Field(default=None, examples=["facts[3].subject"])


class ErrorBody(_Said):
    error: ErrorDetail


class RejectedDocument(_Said):
    index: int = Field(description="its place in the batch, from 0")
    id: str | None = None
    field: str
    message: str


class BatchErrorBody(_Said):
    error: ErrorDetail
    accepted: int | None = None
    rejected: list[RejectedDocument] | None = None


class TokenBody(_Said):
    token: str = Field(description="for `after` of a query: the answer then includes this")


class BatchReceipt(TokenBody):
    accepted: int
    rejected: list[RejectedDocument]


class StatedFactBody(_Said):
    subject: str
    predicate: str
    object: str
    description: str
    weight: float
    evidence: str
    chunk_id: str
    valid_from: str = Field(default="", description="an ISO date, or empty where nothing says")
    valid_to: str = ""
    ended_by: str = Field(default="", description="the later document that contradicts it")
    instead: str = Field(default="", description="what that document says")


class UsageBody(_Said):
    llm_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None = Field(default=None, description="of all models, in the currency of the prices in the settings")


class DocumentStatusBody(_Said):
    """`facts` are those of the live revision, an older one as long as the newest is accepted only, or failed."""

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
    usage: UsageBody = Field(description="what all its revisions together took of the models")


class RelatedBody(_Said):
    doc_id: str
    title: str
    score: float = Field(description="the sum of `weight` and `shared`")
    weight: float = Field(description="learned from the vectors of the passages")
    shared: float = Field(description="the strength of the rarest entity that both mention, 0 without one")
    entities: list[str] = Field(description="the rarest entities that both mention")


class RelatedList(_Said):
    doc_id: str
    version: int
    documents: list[RelatedBody] = Field(description="the most related first")


class CitationBody(_Said):
    doc_id: str
    chunk_id: str
    text: str


class PassageBody(CitationBody):
    score: float


class NodeBody(_Said):
    id: str
    name: str
    type: str
    score: float


class EdgeBody(_Said):
    id: str
    source: str
    predicate: str
    target: str
    weight: float
    valid_from: str = Field(default="", description="an ISO date, or empty where nothing says")
    valid_to: str = ""
    ended_by: str = Field(default="", description="the later document that contradicts it")
    instead: str = Field(default="", description="what that document says")


class SubgraphBody(_Said):
    nodes: list[NodeBody]
    edges: list[EdgeBody]


class PartBody(_Said):
    title: str
    text: str = Field(description="`[n]` in it is the n-th of `sources`")
    sources: list[str] = Field(description="the chunks it rests on")
    score: float


class AnswerBody(_Said):
    answer: str = Field(description="`[n]` in it is the n-th of `passages`")
    citations: list[CitationBody] = Field(description="the passages that the answer names")
    passages: list[PassageBody]
    subgraph: SubgraphBody
    version: int
    mode: str
    usage: UsageBody
    parts: list[PartBody] | None = Field(default=None, description="texts beside the passages: reports, subgraphs")
    chosen: str | None = Field(default=None, description="why `auto` took this mode")
    trace: list[dict[str, Any]] | None = None


class GraphVersion(_Said):
    graph: str
    version: int


class GraphList(_Said):
    graphs: list[GraphVersion]


class StatsBody(_Said):
    graph: str
    version: int
    counts: dict[str, int]
    revisions: dict[str, int]
    lag: int = Field(description="revisions that have not reached an end")
    freshness_s: float = Field(description="age of the oldest of them")
    event_to_queryable_ms: dict[str, float]
    kernels: dict[str, str]
    models: dict[str, str]
    indexes: dict[str, dict[str, Any]]
    spending: dict[str, dict[str, Any]] = Field(description="by stage; today; and the budget of a day")


class LabelBody(_Said):
    name: str
    type: str
    mentions: int
    chunks: list[str] = Field(description="some of the chunks that use it")


class MergeBody(_Said):
    a: str
    b: str
    rule: str
    score: float
    holds: bool = Field(description="false where a guard overruled the rule, and the two stay apart")


class EntityBody(_Said):
    id: str
    name: str
    type: str
    mentions: int
    labels: list[LabelBody]
    merges: list[MergeBody]
    relations: list[EdgeBody] = Field(description="the strongest ones")
    communities: list[int] = Field(description="from the finest level up")
    description: str = Field(description="what the live documents say it is, under 500 tokens; empty where none does")
    version: int


class FindingBody(_Said):
    text: str
    chunks: list[str] = Field(description="the chunks it rests on")
    relations: list[str] = Field(description="the relations it states, if it states any")


class ReportBody(_Said):
    community: int
    level: int
    title: str
    summary: str
    sources: list[str]
    version: int
    findings: list[FindingBody]
    rating: float = Field(description="how much the community matters, 0 to 10")


class ReportList(_Said):
    reports: list[ReportBody]


class DigestBody(_Said):
    version: int
    digest: str


class VerificationBody(_Said):
    graph: str
    version: int
    digest: str
    recounted: str
    differences: list[str] = Field(description="empty when all that is stored equals what it is derived from")
    checked: dict[str, int]


class RebuiltBody(_Said):
    graph: str
    version: int
    before: str
    after: str
    switched: bool


class PurgedBody(_Said):
    removed: dict[str, int] = Field(description="how many were deleted, by kind")
    size_before_bytes: int = Field(description="of the database file with its log")
    size_after_bytes: int
    remaining: list[str] = Field(description="what this process cannot purge, and how that is done")


class LetterBody(_Said):
    id: str
    graph: str = Field(description="empty when the record's key names none")
    doc_id: str
    revision: int
    stage: str
    reason: str
    attempts: int
    buried_at: str
    settled: str = Field(description="empty while nobody has dealt with it, else retried or dropped")
    size_bytes: int
    text: str = Field(description="the beginning of the original, escaped; empty in a list")
    original: str = Field(description="all of it, in base64; empty in a list")


class LetterListBody(_Said):
    letters: list[LetterBody]
    next: str = Field(description="the `after` of the next page, empty on the last")


class Alive(_Said):
    status: Literal["alive"]


class HealthBody(_Said):
    ready: bool
    parts: dict[str, str]
