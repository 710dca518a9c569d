"""Arguments of the tools. Their JSON Schema is what an agent reads, so every field has a description.

The invariants: unknown arguments are refused by name, so a misspelt one never changes the meaning of a call; a call has
few errors however much of it is wrong, because the event loop collects them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

MAX_PASSAGES = 20
MAX_ITEMS = 100
MAX_UNKNOWN = 5
"""Unknown arguments of one call that are refused by name; a call with more is refused as a whole."""

GraphName = Annotated[str, Field(description="The graph's name, as list_graphs returns it.")]
DocumentId = Annotated[str, Field(description="The document's id, as citations and lists return it.")]
EntityId = Annotated[str, Field(description="The entity's id, as find_entities returns it.")]
Token = Annotated[
    str, Field(description="A token of add_document or delete_document: wait until the graph includes that change.")
]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_many_unknown(cls, value: object) -> object:
        if isinstance(value, dict) and len(value) > len(cls.model_fields) + MAX_UNKNOWN:
            context = {"known": ", ".join(cls.model_fields) or "none"}
            raise PydanticCustomError("many", "has many unknown arguments; known are {known}", context)
        return value

    @property
    def scope(self) -> str | None:
        """Return the graph that the call concerns, None for a call that concerns no single one."""
        graph = getattr(self, "graph", None)
        return graph if isinstance(graph, str) else None


class NoArguments(Arguments):
    pass


class AgentQuestion(Arguments):
    graph: GraphName
    question: Annotated[str, Field(description="The question, in one sentence.")]
    top_k: Annotated[int, Field(description="The number of passages.", ge=1, le=MAX_PASSAGES)] = 5
    mode: Annotated[
        str,
        Field(
            description="The retrieval mode: auto, local (by the graph), vector (by similarity), bridge (how named "
            "entities are related), global (about the whole graph), and others of the service."
        ),
    ] = "auto"
    options: Annotated[
        dict[str, Any],
        Field(
            description='Parameters of the mode by name, such as {"hops": 2} for pipeline or {"subgraphs": 8} for '
            "dynagrag; auto has none. An unknown name is refused with the known ones."
        ),
    ] = {}
    doc_ids: Annotated[list[str], Field(description="Only passages of these documents.", fail_fast=True)] = []
    sources: Annotated[
        list[str], Field(description="Only passages of documents from these sources.", fail_fast=True)
    ] = []
    metadata: Annotated[
        dict[str, Any], Field(description="Only passages of documents with exactly these values of metadata.")
    ] = {}
    occurred_from: Annotated[str, Field(description="Only documents dated at or after this ISO 8601 date.")] = ""
    occurred_to: Annotated[str, Field(description="Only documents dated at or before this ISO 8601 date.")] = ""
    as_of: Annotated[str, Field(description="An ISO 8601 date: leave out facts known to be invalid at it.")] = ""
    after: Token = ""


class EntitySearch(Arguments):
    graph: GraphName
    q: Annotated[str, Field(description="A part of the entity's name; empty for all entities.")] = ""
    type: Annotated[str, Field(description="Only entities of this type, such as person.")] = ""
    sort: Annotated[Literal["mentions", "degree", "name"], Field(description="The order.")] = "mentions"
    limit: Annotated[int, Field(description="The number of entities.", ge=1, le=MAX_ITEMS)] = 20
    cursor: Annotated[str, Field(description="The `next` of the page before.")] = ""


class EntityRef(Arguments):
    graph: GraphName
    entity_id: EntityId


class Surroundings(Arguments):
    graph: GraphName
    entity_id: EntityId
    hops: Annotated[int, Field(description="The distance in relations.", ge=1, le=3)] = 1
    limit: Annotated[int, Field(description="The number of entities.", ge=1, le=MAX_ITEMS)] = 30


class RelatedTo(Arguments):
    graph: GraphName
    doc_id: DocumentId
    limit: Annotated[int, Field(description="The number of documents.", ge=1, le=MAX_ITEMS)] = 10


class DocumentRef(Arguments):
    graph: GraphName
    doc_id: DocumentId
    start: Annotated[int, Field(description="The character of the text to start at, for long documents.", ge=0)] = 0


class ChangesAfter(Arguments):
    graph: GraphName
    after: Annotated[
        str,
        Field(description="A token of an earlier result or of add_document: only later commits. Empty: the latest."),
    ] = ""
    entity: Annotated[str, Field(description="Only commits that change this entity, by its id or name.")] = ""
    prefix: Annotated[str, Field(description="Only commits with a document whose id begins with this.")] = ""
    limit: Annotated[int, Field(description="The number of commits.", ge=1, le=MAX_ITEMS)] = 20


class NewDocument(Arguments):
    graph: GraphName
    doc_id: Annotated[str, Field(description="The id; a known id replaces that document.")]
    text: Annotated[str, Field(description="The text of the document, plain or Markdown.")]
    title: Annotated[str, Field(description="The title.")] = ""
    source: Annotated[str, Field(description="Where the text comes from, such as a URL.")] = ""
    occurred_at: Annotated[str, Field(description="The ISO 8601 date of what the text describes.")] = ""
    metadata: Annotated[dict[str, Any], Field(description="Keys and values for filters.")] = {}


class OldDocument(Arguments):
    graph: GraphName
    doc_id: DocumentId
