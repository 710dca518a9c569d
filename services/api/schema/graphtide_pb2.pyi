# mypy: ignore-errors
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GraphRef(_message.Message):
    __slots__ = ("graph",)
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    graph: str
    def __init__(self, graph: _Optional[str] = ...) -> None: ...

class DigestRequest(_message.Message):
    __slots__ = ("graph", "at")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    graph: str
    at: str
    def __init__(self, graph: _Optional[str] = ..., at: _Optional[str] = ...) -> None: ...

class DocumentRef(_message.Message):
    __slots__ = ("graph", "id")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    graph: str
    id: str
    def __init__(self, graph: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class ListGraphsRequest(_message.Message):
    __slots__ = ("limit", "cursor")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class GraphList(_message.Message):
    __slots__ = ("graphs", "next")
    class Graph(_message.Message):
        __slots__ = ("graph", "version", "documents")
        GRAPH_FIELD_NUMBER: _ClassVar[int]
        VERSION_FIELD_NUMBER: _ClassVar[int]
        DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
        graph: str
        version: int
        documents: int
        def __init__(self, graph: _Optional[str] = ..., version: _Optional[int] = ..., documents: _Optional[int] = ...) -> None: ...
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    graphs: _containers.RepeatedCompositeFieldContainer[GraphList.Graph]
    next: str
    def __init__(self, graphs: _Optional[_Iterable[_Union[GraphList.Graph, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class Entity(_message.Message):
    __slots__ = ("name", "type", "description")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    description: str
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

class EntityList(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Entity]
    def __init__(self, items: _Optional[_Iterable[_Union[Entity, _Mapping]]] = ...) -> None: ...

class Fact(_message.Message):
    __slots__ = ("subject", "predicate", "object", "description", "weight", "valid_from", "valid_to")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    subject: str
    predicate: str
    object: str
    description: str
    weight: float
    valid_from: str
    valid_to: str
    def __init__(self, subject: _Optional[str] = ..., predicate: _Optional[str] = ..., object: _Optional[str] = ..., description: _Optional[str] = ..., weight: _Optional[float] = ..., valid_from: _Optional[str] = ..., valid_to: _Optional[str] = ...) -> None: ...

class FactList(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Fact]
    def __init__(self, items: _Optional[_Iterable[_Union[Fact, _Mapping]]] = ...) -> None: ...

class PublishRequest(_message.Message):
    __slots__ = ("graph", "id", "text", "title", "source", "occurred_at", "metadata", "entities", "facts", "media_type")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    graph: str
    id: str
    text: str
    title: str
    source: str
    occurred_at: str
    metadata: _struct_pb2.Struct
    entities: EntityList
    facts: FactList
    media_type: str
    def __init__(self, graph: _Optional[str] = ..., id: _Optional[str] = ..., text: _Optional[str] = ..., title: _Optional[str] = ..., source: _Optional[str] = ..., occurred_at: _Optional[str] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., entities: _Optional[_Union[EntityList, _Mapping]] = ..., facts: _Optional[_Union[FactList, _Mapping]] = ..., media_type: _Optional[str] = ...) -> None: ...

class DocumentRecord(_message.Message):
    __slots__ = ("graph", "id", "document")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    graph: str
    id: str
    document: bytes
    def __init__(self, graph: _Optional[str] = ..., id: _Optional[str] = ..., document: _Optional[bytes] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class Rejection(_message.Message):
    __slots__ = ("index", "id", "field", "message")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    index: int
    id: str
    field: str
    message: str
    def __init__(self, index: _Optional[int] = ..., id: _Optional[str] = ..., field: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class PublishSummary(_message.Message):
    __slots__ = ("token", "accepted", "rejected", "tokens")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    token: str
    accepted: int
    rejected: _containers.RepeatedCompositeFieldContainer[Rejection]
    tokens: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, token: _Optional[str] = ..., accepted: _Optional[int] = ..., rejected: _Optional[_Iterable[_Union[Rejection, _Mapping]]] = ..., tokens: _Optional[_Iterable[str]] = ...) -> None: ...

class StatedFact(_message.Message):
    __slots__ = ("subject", "predicate", "object", "description", "weight", "evidence", "chunk_id", "valid_from", "valid_to", "ended_by", "superseding_value")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    ENDED_BY_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDING_VALUE_FIELD_NUMBER: _ClassVar[int]
    subject: str
    predicate: str
    object: str
    description: str
    weight: float
    evidence: str
    chunk_id: str
    valid_from: str
    valid_to: str
    ended_by: str
    superseding_value: str
    def __init__(self, subject: _Optional[str] = ..., predicate: _Optional[str] = ..., object: _Optional[str] = ..., description: _Optional[str] = ..., weight: _Optional[float] = ..., evidence: _Optional[str] = ..., chunk_id: _Optional[str] = ..., valid_from: _Optional[str] = ..., valid_to: _Optional[str] = ..., ended_by: _Optional[str] = ..., superseding_value: _Optional[str] = ...) -> None: ...

class DocumentStatus(_message.Message):
    __slots__ = ("graph", "doc_id", "state", "revision", "reason", "token", "live_revision", "title", "source", "occurred_at", "metadata", "text", "facts", "usage", "media_type", "progress")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    DOC_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    LIVE_REVISION_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    graph: str
    doc_id: str
    state: str
    revision: int
    reason: str
    token: str
    live_revision: int
    title: str
    source: str
    occurred_at: str
    metadata: _struct_pb2.Struct
    text: str
    facts: _containers.RepeatedCompositeFieldContainer[StatedFact]
    usage: Usage
    media_type: str
    progress: DocumentProgress
    def __init__(self, graph: _Optional[str] = ..., doc_id: _Optional[str] = ..., state: _Optional[str] = ..., revision: _Optional[int] = ..., reason: _Optional[str] = ..., token: _Optional[str] = ..., live_revision: _Optional[int] = ..., title: _Optional[str] = ..., source: _Optional[str] = ..., occurred_at: _Optional[str] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., text: _Optional[str] = ..., facts: _Optional[_Iterable[_Union[StatedFact, _Mapping]]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., media_type: _Optional[str] = ..., progress: _Optional[_Union[DocumentProgress, _Mapping]] = ...) -> None: ...

class DocumentProgress(_message.Message):
    __slots__ = ("stage", "passages", "extracted", "embedded")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    EXTRACTED_FIELD_NUMBER: _ClassVar[int]
    EMBEDDED_FIELD_NUMBER: _ClassVar[int]
    stage: str
    passages: int
    extracted: int
    embedded: int
    def __init__(self, stage: _Optional[str] = ..., passages: _Optional[int] = ..., extracted: _Optional[int] = ..., embedded: _Optional[int] = ...) -> None: ...

class Filters(_message.Message):
    __slots__ = ("doc_ids", "sources", "metadata", "occurred_from", "occurred_to", "as_of")
    DOC_IDS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_FROM_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_TO_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    doc_ids: _containers.RepeatedScalarFieldContainer[str]
    sources: _containers.RepeatedScalarFieldContainer[str]
    metadata: _struct_pb2.Struct
    occurred_from: str
    occurred_to: str
    as_of: str
    def __init__(self, doc_ids: _Optional[_Iterable[str]] = ..., sources: _Optional[_Iterable[str]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., occurred_from: _Optional[str] = ..., occurred_to: _Optional[str] = ..., as_of: _Optional[str] = ...) -> None: ...

class QueryRequest(_message.Message):
    __slots__ = ("graph", "question", "mode", "top_k", "after", "filters", "generate", "explain", "level", "exact", "at", "options")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    GENERATE_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    graph: str
    question: str
    mode: str
    top_k: int
    after: str
    filters: Filters
    generate: bool
    explain: bool
    level: int
    exact: bool
    at: str
    options: _struct_pb2.Struct
    def __init__(self, graph: _Optional[str] = ..., question: _Optional[str] = ..., mode: _Optional[str] = ..., top_k: _Optional[int] = ..., after: _Optional[str] = ..., filters: _Optional[_Union[Filters, _Mapping]] = ..., generate: _Optional[bool] = ..., explain: _Optional[bool] = ..., level: _Optional[int] = ..., exact: _Optional[bool] = ..., at: _Optional[str] = ..., options: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class Place(_message.Message):
    __slots__ = ("headings", "page", "row", "kind", "lead_in")
    HEADINGS_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LEAD_IN_FIELD_NUMBER: _ClassVar[int]
    headings: _containers.RepeatedScalarFieldContainer[str]
    page: int
    row: int
    kind: str
    lead_in: str
    def __init__(self, headings: _Optional[_Iterable[str]] = ..., page: _Optional[int] = ..., row: _Optional[int] = ..., kind: _Optional[str] = ..., lead_in: _Optional[str] = ...) -> None: ...

class Citation(_message.Message):
    __slots__ = ("doc_id", "chunk_id", "text", "title", "place", "number", "quote", "start", "end")
    DOC_ID_FIELD_NUMBER: _ClassVar[int]
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    QUOTE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    doc_id: str
    chunk_id: str
    text: str
    title: str
    place: Place
    number: int
    quote: str
    start: int
    end: int
    def __init__(self, doc_id: _Optional[str] = ..., chunk_id: _Optional[str] = ..., text: _Optional[str] = ..., title: _Optional[str] = ..., place: _Optional[_Union[Place, _Mapping]] = ..., number: _Optional[int] = ..., quote: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Passage(_message.Message):
    __slots__ = ("doc_id", "chunk_id", "score", "text", "title", "place")
    DOC_ID_FIELD_NUMBER: _ClassVar[int]
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    doc_id: str
    chunk_id: str
    score: float
    text: str
    title: str
    place: Place
    def __init__(self, doc_id: _Optional[str] = ..., chunk_id: _Optional[str] = ..., score: _Optional[float] = ..., text: _Optional[str] = ..., title: _Optional[str] = ..., place: _Optional[_Union[Place, _Mapping]] = ...) -> None: ...

class Node(_message.Message):
    __slots__ = ("id", "name", "type", "score")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    type: str
    score: float
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., type: _Optional[str] = ..., score: _Optional[float] = ...) -> None: ...

class Edge(_message.Message):
    __slots__ = ("id", "source", "predicate", "target", "weight", "valid_from", "valid_to", "ended_by", "superseding_value", "source_name", "target_name", "trussness")
    ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    ENDED_BY_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDING_VALUE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_NAME_FIELD_NUMBER: _ClassVar[int]
    TARGET_NAME_FIELD_NUMBER: _ClassVar[int]
    TRUSSNESS_FIELD_NUMBER: _ClassVar[int]
    id: str
    source: str
    predicate: str
    target: str
    weight: float
    valid_from: str
    valid_to: str
    ended_by: str
    superseding_value: str
    source_name: str
    target_name: str
    trussness: int
    def __init__(self, id: _Optional[str] = ..., source: _Optional[str] = ..., predicate: _Optional[str] = ..., target: _Optional[str] = ..., weight: _Optional[float] = ..., valid_from: _Optional[str] = ..., valid_to: _Optional[str] = ..., ended_by: _Optional[str] = ..., superseding_value: _Optional[str] = ..., source_name: _Optional[str] = ..., target_name: _Optional[str] = ..., trussness: _Optional[int] = ...) -> None: ...

class Subgraph(_message.Message):
    __slots__ = ("nodes", "edges")
    NODES_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    edges: _containers.RepeatedCompositeFieldContainer[Edge]
    def __init__(self, nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., edges: _Optional[_Iterable[_Union[Edge, _Mapping]]] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("llm_calls", "prompt_tokens", "completion_tokens", "cost")
    LLM_CALLS_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    llm_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    def __init__(self, llm_calls: _Optional[int] = ..., prompt_tokens: _Optional[int] = ..., completion_tokens: _Optional[int] = ..., cost: _Optional[float] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("answer", "citations", "passages", "subgraph", "version", "mode", "usage", "trace", "context_parts", "mode_reason")
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    CITATIONS_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    SUBGRAPH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_PARTS_FIELD_NUMBER: _ClassVar[int]
    MODE_REASON_FIELD_NUMBER: _ClassVar[int]
    answer: str
    citations: _containers.RepeatedCompositeFieldContainer[Citation]
    passages: _containers.RepeatedCompositeFieldContainer[Passage]
    subgraph: Subgraph
    version: int
    mode: str
    usage: Usage
    trace: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    context_parts: _containers.RepeatedCompositeFieldContainer[Part]
    mode_reason: str
    def __init__(self, answer: _Optional[str] = ..., citations: _Optional[_Iterable[_Union[Citation, _Mapping]]] = ..., passages: _Optional[_Iterable[_Union[Passage, _Mapping]]] = ..., subgraph: _Optional[_Union[Subgraph, _Mapping]] = ..., version: _Optional[int] = ..., mode: _Optional[str] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., trace: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ..., context_parts: _Optional[_Iterable[_Union[Part, _Mapping]]] = ..., mode_reason: _Optional[str] = ...) -> None: ...

class Part(_message.Message):
    __slots__ = ("title", "text", "sources", "score")
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    title: str
    text: str
    sources: _containers.RepeatedScalarFieldContainer[str]
    score: float
    def __init__(self, title: _Optional[str] = ..., text: _Optional[str] = ..., sources: _Optional[_Iterable[str]] = ..., score: _Optional[float] = ...) -> None: ...

class AnswerEvent(_message.Message):
    __slots__ = ("context", "token", "answer")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    context: Answer
    token: str
    answer: Answer
    def __init__(self, context: _Optional[_Union[Answer, _Mapping]] = ..., token: _Optional[str] = ..., answer: _Optional[_Union[Answer, _Mapping]] = ...) -> None: ...

class GraphStats(_message.Message):
    __slots__ = ("graph", "version", "counts", "revisions", "lag", "freshness_s", "event_to_queryable_ms", "kernels", "models", "indexes", "spending")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class RevisionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class EventToQueryableMsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class KernelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ModelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class IndexesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _struct_pb2.Struct
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...
    class SpendingEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _struct_pb2.Struct
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_S_FIELD_NUMBER: _ClassVar[int]
    EVENT_TO_QUERYABLE_MS_FIELD_NUMBER: _ClassVar[int]
    KERNELS_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    INDEXES_FIELD_NUMBER: _ClassVar[int]
    SPENDING_FIELD_NUMBER: _ClassVar[int]
    graph: str
    version: int
    counts: _containers.ScalarMap[str, int]
    revisions: _containers.ScalarMap[str, int]
    lag: int
    freshness_s: float
    event_to_queryable_ms: _containers.ScalarMap[str, float]
    kernels: _containers.ScalarMap[str, str]
    models: _containers.ScalarMap[str, str]
    indexes: _containers.MessageMap[str, _struct_pb2.Struct]
    spending: _containers.MessageMap[str, _struct_pb2.Struct]
    def __init__(self, graph: _Optional[str] = ..., version: _Optional[int] = ..., counts: _Optional[_Mapping[str, int]] = ..., revisions: _Optional[_Mapping[str, int]] = ..., lag: _Optional[int] = ..., freshness_s: _Optional[float] = ..., event_to_queryable_ms: _Optional[_Mapping[str, float]] = ..., kernels: _Optional[_Mapping[str, str]] = ..., models: _Optional[_Mapping[str, str]] = ..., indexes: _Optional[_Mapping[str, _struct_pb2.Struct]] = ..., spending: _Optional[_Mapping[str, _struct_pb2.Struct]] = ...) -> None: ...

class GraphDigest(_message.Message):
    __slots__ = ("version", "digest")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    version: int
    digest: str
    def __init__(self, version: _Optional[int] = ..., digest: _Optional[str] = ...) -> None: ...

class Verification(_message.Message):
    __slots__ = ("graph", "version", "digest", "recounted", "differences", "checked")
    class CheckedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    RECOUNTED_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    CHECKED_FIELD_NUMBER: _ClassVar[int]
    graph: str
    version: int
    digest: str
    recounted: str
    differences: _containers.RepeatedScalarFieldContainer[str]
    checked: _containers.ScalarMap[str, int]
    def __init__(self, graph: _Optional[str] = ..., version: _Optional[int] = ..., digest: _Optional[str] = ..., recounted: _Optional[str] = ..., differences: _Optional[_Iterable[str]] = ..., checked: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Rebuilt(_message.Message):
    __slots__ = ("graph", "version", "before", "after", "switched")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    SWITCHED_FIELD_NUMBER: _ClassVar[int]
    graph: str
    version: int
    before: str
    after: str
    switched: bool
    def __init__(self, graph: _Optional[str] = ..., version: _Optional[int] = ..., before: _Optional[str] = ..., after: _Optional[str] = ..., switched: _Optional[bool] = ...) -> None: ...

class PurgeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Purged(_message.Message):
    __slots__ = ("removed", "size_before_bytes", "size_after_bytes", "remaining")
    class RemovedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    SIZE_BEFORE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SIZE_AFTER_BYTES_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    removed: _containers.ScalarMap[str, int]
    size_before_bytes: int
    size_after_bytes: int
    remaining: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, removed: _Optional[_Mapping[str, int]] = ..., size_before_bytes: _Optional[int] = ..., size_after_bytes: _Optional[int] = ..., remaining: _Optional[_Iterable[str]] = ...) -> None: ...

class RelatedRequest(_message.Message):
    __slots__ = ("graph", "id", "count")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    graph: str
    id: str
    count: int
    def __init__(self, graph: _Optional[str] = ..., id: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class RelatedList(_message.Message):
    __slots__ = ("doc_id", "version", "documents")
    class Document(_message.Message):
        __slots__ = ("doc_id", "title", "score", "weight", "shared", "entities")
        DOC_ID_FIELD_NUMBER: _ClassVar[int]
        TITLE_FIELD_NUMBER: _ClassVar[int]
        SCORE_FIELD_NUMBER: _ClassVar[int]
        WEIGHT_FIELD_NUMBER: _ClassVar[int]
        SHARED_FIELD_NUMBER: _ClassVar[int]
        ENTITIES_FIELD_NUMBER: _ClassVar[int]
        doc_id: str
        title: str
        score: float
        weight: float
        shared: float
        entities: _containers.RepeatedScalarFieldContainer[str]
        def __init__(self, doc_id: _Optional[str] = ..., title: _Optional[str] = ..., score: _Optional[float] = ..., weight: _Optional[float] = ..., shared: _Optional[float] = ..., entities: _Optional[_Iterable[str]] = ...) -> None: ...
    DOC_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    doc_id: str
    version: int
    documents: _containers.RepeatedCompositeFieldContainer[RelatedList.Document]
    def __init__(self, doc_id: _Optional[str] = ..., version: _Optional[int] = ..., documents: _Optional[_Iterable[_Union[RelatedList.Document, _Mapping]]] = ...) -> None: ...

class EntityRef(_message.Message):
    __slots__ = ("graph", "id", "at")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    graph: str
    id: str
    at: str
    def __init__(self, graph: _Optional[str] = ..., id: _Optional[str] = ..., at: _Optional[str] = ...) -> None: ...

class EntityStatus(_message.Message):
    __slots__ = ("id", "name", "type", "mentions", "labels", "merges", "relations", "communities", "version", "description", "relation_count")
    class Label(_message.Message):
        __slots__ = ("name", "type", "mentions", "chunks")
        NAME_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        MENTIONS_FIELD_NUMBER: _ClassVar[int]
        CHUNKS_FIELD_NUMBER: _ClassVar[int]
        name: str
        type: str
        mentions: int
        chunks: _containers.RepeatedScalarFieldContainer[str]
        def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., mentions: _Optional[int] = ..., chunks: _Optional[_Iterable[str]] = ...) -> None: ...
    class Merge(_message.Message):
        __slots__ = ("a", "b", "rule", "score", "holds")
        A_FIELD_NUMBER: _ClassVar[int]
        B_FIELD_NUMBER: _ClassVar[int]
        RULE_FIELD_NUMBER: _ClassVar[int]
        SCORE_FIELD_NUMBER: _ClassVar[int]
        HOLDS_FIELD_NUMBER: _ClassVar[int]
        a: str
        b: str
        rule: str
        score: float
        holds: bool
        def __init__(self, a: _Optional[str] = ..., b: _Optional[str] = ..., rule: _Optional[str] = ..., score: _Optional[float] = ..., holds: _Optional[bool] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    MERGES_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    COMMUNITIES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    RELATION_COUNT_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    type: str
    mentions: int
    labels: _containers.RepeatedCompositeFieldContainer[EntityStatus.Label]
    merges: _containers.RepeatedCompositeFieldContainer[EntityStatus.Merge]
    relations: _containers.RepeatedCompositeFieldContainer[Edge]
    communities: _containers.RepeatedScalarFieldContainer[int]
    version: int
    description: str
    relation_count: int
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., type: _Optional[str] = ..., mentions: _Optional[int] = ..., labels: _Optional[_Iterable[_Union[EntityStatus.Label, _Mapping]]] = ..., merges: _Optional[_Iterable[_Union[EntityStatus.Merge, _Mapping]]] = ..., relations: _Optional[_Iterable[_Union[Edge, _Mapping]]] = ..., communities: _Optional[_Iterable[int]] = ..., version: _Optional[int] = ..., description: _Optional[str] = ..., relation_count: _Optional[int] = ...) -> None: ...

class CommunityReport(_message.Message):
    __slots__ = ("community", "level", "title", "summary", "sources", "version", "findings", "rating")
    class Finding(_message.Message):
        __slots__ = ("text", "chunks", "relations")
        TEXT_FIELD_NUMBER: _ClassVar[int]
        CHUNKS_FIELD_NUMBER: _ClassVar[int]
        RELATIONS_FIELD_NUMBER: _ClassVar[int]
        text: str
        chunks: _containers.RepeatedScalarFieldContainer[str]
        relations: _containers.RepeatedScalarFieldContainer[str]
        def __init__(self, text: _Optional[str] = ..., chunks: _Optional[_Iterable[str]] = ..., relations: _Optional[_Iterable[str]] = ...) -> None: ...
    COMMUNITY_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    RATING_FIELD_NUMBER: _ClassVar[int]
    community: int
    level: int
    title: str
    summary: str
    sources: _containers.RepeatedScalarFieldContainer[str]
    version: int
    findings: _containers.RepeatedCompositeFieldContainer[CommunityReport.Finding]
    rating: float
    def __init__(self, community: _Optional[int] = ..., level: _Optional[int] = ..., title: _Optional[str] = ..., summary: _Optional[str] = ..., sources: _Optional[_Iterable[str]] = ..., version: _Optional[int] = ..., findings: _Optional[_Iterable[_Union[CommunityReport.Finding, _Mapping]]] = ..., rating: _Optional[float] = ...) -> None: ...

class ReportList(_message.Message):
    __slots__ = ("reports",)
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    reports: _containers.RepeatedCompositeFieldContainer[CommunityReport]
    def __init__(self, reports: _Optional[_Iterable[_Union[CommunityReport, _Mapping]]] = ...) -> None: ...

class DeadLetterQuery(_message.Message):
    __slots__ = ("graph", "after", "limit", "resolved")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_FIELD_NUMBER: _ClassVar[int]
    graph: str
    after: str
    limit: int
    resolved: bool
    def __init__(self, graph: _Optional[str] = ..., after: _Optional[str] = ..., limit: _Optional[int] = ..., resolved: _Optional[bool] = ...) -> None: ...

class DeadLetterRef(_message.Message):
    __slots__ = ("graph", "id")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    graph: str
    id: str
    def __init__(self, graph: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class RetryRequest(_message.Message):
    __slots__ = ("graph", "id", "document")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    graph: str
    id: str
    document: bytes
    def __init__(self, graph: _Optional[str] = ..., id: _Optional[str] = ..., document: _Optional[bytes] = ...) -> None: ...

class DeadLetter(_message.Message):
    __slots__ = ("id", "graph", "doc_id", "revision", "stage", "reason", "attempts", "buried_at", "resolution", "size_bytes", "text", "original")
    ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    DOC_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    BURIED_AT_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_FIELD_NUMBER: _ClassVar[int]
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
    text: str
    original: str
    def __init__(self, id: _Optional[str] = ..., graph: _Optional[str] = ..., doc_id: _Optional[str] = ..., revision: _Optional[int] = ..., stage: _Optional[str] = ..., reason: _Optional[str] = ..., attempts: _Optional[int] = ..., buried_at: _Optional[str] = ..., resolution: _Optional[str] = ..., size_bytes: _Optional[int] = ..., text: _Optional[str] = ..., original: _Optional[str] = ...) -> None: ...

class DeadLetterList(_message.Message):
    __slots__ = ("letters", "next")
    LETTERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    letters: _containers.RepeatedCompositeFieldContainer[DeadLetter]
    next: str
    def __init__(self, letters: _Optional[_Iterable[_Union[DeadLetter, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class DocumentQuery(_message.Message):
    __slots__ = ("graph", "prefix", "state", "source", "limit", "cursor")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    graph: str
    prefix: str
    state: str
    source: str
    limit: int
    cursor: str
    def __init__(self, graph: _Optional[str] = ..., prefix: _Optional[str] = ..., state: _Optional[str] = ..., source: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class DocumentPage(_message.Message):
    __slots__ = ("documents", "next")
    class Document(_message.Message):
        __slots__ = ("id", "title", "source", "state", "revision", "occurred_at")
        ID_FIELD_NUMBER: _ClassVar[int]
        TITLE_FIELD_NUMBER: _ClassVar[int]
        SOURCE_FIELD_NUMBER: _ClassVar[int]
        STATE_FIELD_NUMBER: _ClassVar[int]
        REVISION_FIELD_NUMBER: _ClassVar[int]
        OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
        id: str
        title: str
        source: str
        state: str
        revision: int
        occurred_at: str
        def __init__(self, id: _Optional[str] = ..., title: _Optional[str] = ..., source: _Optional[str] = ..., state: _Optional[str] = ..., revision: _Optional[int] = ..., occurred_at: _Optional[str] = ...) -> None: ...
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedCompositeFieldContainer[DocumentPage.Document]
    next: str
    def __init__(self, documents: _Optional[_Iterable[_Union[DocumentPage.Document, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class EntityQuery(_message.Message):
    __slots__ = ("graph", "q", "type", "sort", "limit", "cursor", "at")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    Q_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    graph: str
    q: str
    type: str
    sort: str
    limit: int
    cursor: str
    at: str
    def __init__(self, graph: _Optional[str] = ..., q: _Optional[str] = ..., type: _Optional[str] = ..., sort: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ..., at: _Optional[str] = ...) -> None: ...

class EntityPage(_message.Message):
    __slots__ = ("entities", "version", "next")
    class Entity(_message.Message):
        __slots__ = ("id", "name", "type", "mentions", "degree", "community")
        ID_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        MENTIONS_FIELD_NUMBER: _ClassVar[int]
        DEGREE_FIELD_NUMBER: _ClassVar[int]
        COMMUNITY_FIELD_NUMBER: _ClassVar[int]
        id: str
        name: str
        type: str
        mentions: int
        degree: int
        community: int
        def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., type: _Optional[str] = ..., mentions: _Optional[int] = ..., degree: _Optional[int] = ..., community: _Optional[int] = ...) -> None: ...
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    entities: _containers.RepeatedCompositeFieldContainer[EntityPage.Entity]
    version: int
    next: str
    def __init__(self, entities: _Optional[_Iterable[_Union[EntityPage.Entity, _Mapping]]] = ..., version: _Optional[int] = ..., next: _Optional[str] = ...) -> None: ...

class GroupRequest(_message.Message):
    __slots__ = ("graph", "id", "k", "limit")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    graph: str
    id: str
    k: int
    limit: int
    def __init__(self, graph: _Optional[str] = ..., id: _Optional[str] = ..., k: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class CohesiveGroup(_message.Message):
    __slots__ = ("center", "k", "max_k", "nodes", "edges", "truncated", "version")
    CENTER_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    MAX_K_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    center: str
    k: int
    max_k: int
    nodes: _containers.RepeatedCompositeFieldContainer[Neighbourhood.Node]
    edges: _containers.RepeatedCompositeFieldContainer[Neighbourhood.Edge]
    truncated: bool
    version: int
    def __init__(self, center: _Optional[str] = ..., k: _Optional[int] = ..., max_k: _Optional[int] = ..., nodes: _Optional[_Iterable[_Union[Neighbourhood.Node, _Mapping]]] = ..., edges: _Optional[_Iterable[_Union[Neighbourhood.Edge, _Mapping]]] = ..., truncated: _Optional[bool] = ..., version: _Optional[int] = ...) -> None: ...

class NeighbourhoodRequest(_message.Message):
    __slots__ = ("graph", "id", "hops", "limit")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    graph: str
    id: str
    hops: int
    limit: int
    def __init__(self, graph: _Optional[str] = ..., id: _Optional[str] = ..., hops: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class Neighbourhood(_message.Message):
    __slots__ = ("center", "nodes", "edges", "truncated", "version")
    class Node(_message.Message):
        __slots__ = ("id", "name", "type", "mentions", "degree", "community", "hop")
        ID_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        MENTIONS_FIELD_NUMBER: _ClassVar[int]
        DEGREE_FIELD_NUMBER: _ClassVar[int]
        COMMUNITY_FIELD_NUMBER: _ClassVar[int]
        HOP_FIELD_NUMBER: _ClassVar[int]
        id: str
        name: str
        type: str
        mentions: int
        degree: int
        community: int
        hop: int
        def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., type: _Optional[str] = ..., mentions: _Optional[int] = ..., degree: _Optional[int] = ..., community: _Optional[int] = ..., hop: _Optional[int] = ...) -> None: ...
    class Edge(_message.Message):
        __slots__ = ("source", "target", "source_name", "target_name", "weight", "trussness", "community", "predicates")
        SOURCE_FIELD_NUMBER: _ClassVar[int]
        TARGET_FIELD_NUMBER: _ClassVar[int]
        SOURCE_NAME_FIELD_NUMBER: _ClassVar[int]
        TARGET_NAME_FIELD_NUMBER: _ClassVar[int]
        WEIGHT_FIELD_NUMBER: _ClassVar[int]
        TRUSSNESS_FIELD_NUMBER: _ClassVar[int]
        COMMUNITY_FIELD_NUMBER: _ClassVar[int]
        PREDICATES_FIELD_NUMBER: _ClassVar[int]
        source: str
        target: str
        source_name: str
        target_name: str
        weight: float
        trussness: int
        community: int
        predicates: _containers.RepeatedScalarFieldContainer[str]
        def __init__(self, source: _Optional[str] = ..., target: _Optional[str] = ..., source_name: _Optional[str] = ..., target_name: _Optional[str] = ..., weight: _Optional[float] = ..., trussness: _Optional[int] = ..., community: _Optional[int] = ..., predicates: _Optional[_Iterable[str]] = ...) -> None: ...
    CENTER_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    center: str
    nodes: _containers.RepeatedCompositeFieldContainer[Neighbourhood.Node]
    edges: _containers.RepeatedCompositeFieldContainer[Neighbourhood.Edge]
    truncated: bool
    version: int
    def __init__(self, center: _Optional[str] = ..., nodes: _Optional[_Iterable[_Union[Neighbourhood.Node, _Mapping]]] = ..., edges: _Optional[_Iterable[_Union[Neighbourhood.Edge, _Mapping]]] = ..., truncated: _Optional[bool] = ..., version: _Optional[int] = ...) -> None: ...

class CommunityQuery(_message.Message):
    __slots__ = ("graph", "level", "limit", "cursor")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    graph: str
    level: int
    limit: int
    cursor: str
    def __init__(self, graph: _Optional[str] = ..., level: _Optional[int] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class CommunitySummary(_message.Message):
    __slots__ = ("community", "level", "parent", "size", "title", "rating")
    COMMUNITY_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    RATING_FIELD_NUMBER: _ClassVar[int]
    community: int
    level: int
    parent: int
    size: int
    title: str
    rating: float
    def __init__(self, community: _Optional[int] = ..., level: _Optional[int] = ..., parent: _Optional[int] = ..., size: _Optional[int] = ..., title: _Optional[str] = ..., rating: _Optional[float] = ...) -> None: ...

class CommunityPage(_message.Message):
    __slots__ = ("communities", "version", "next")
    COMMUNITIES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    communities: _containers.RepeatedCompositeFieldContainer[CommunitySummary]
    version: int
    next: str
    def __init__(self, communities: _Optional[_Iterable[_Union[CommunitySummary, _Mapping]]] = ..., version: _Optional[int] = ..., next: _Optional[str] = ...) -> None: ...

class CommunityRef(_message.Message):
    __slots__ = ("graph", "community")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    COMMUNITY_FIELD_NUMBER: _ClassVar[int]
    graph: str
    community: int
    def __init__(self, graph: _Optional[str] = ..., community: _Optional[int] = ...) -> None: ...

class CommunityDetails(_message.Message):
    __slots__ = ("community", "level", "parent", "size", "children", "members", "report", "version")
    class Member(_message.Message):
        __slots__ = ("id", "name", "type", "mentions")
        ID_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        MENTIONS_FIELD_NUMBER: _ClassVar[int]
        id: str
        name: str
        type: str
        mentions: int
        def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., type: _Optional[str] = ..., mentions: _Optional[int] = ...) -> None: ...
    COMMUNITY_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    community: int
    level: int
    parent: int
    size: int
    children: _containers.RepeatedCompositeFieldContainer[CommunitySummary]
    members: _containers.RepeatedCompositeFieldContainer[CommunityDetails.Member]
    report: CommunityReport
    version: int
    def __init__(self, community: _Optional[int] = ..., level: _Optional[int] = ..., parent: _Optional[int] = ..., size: _Optional[int] = ..., children: _Optional[_Iterable[_Union[CommunitySummary, _Mapping]]] = ..., members: _Optional[_Iterable[_Union[CommunityDetails.Member, _Mapping]]] = ..., report: _Optional[_Union[CommunityReport, _Mapping]] = ..., version: _Optional[int] = ...) -> None: ...

class DeleteGraphRequest(_message.Message):
    __slots__ = ("graph", "wait_s")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    WAIT_S_FIELD_NUMBER: _ClassVar[int]
    graph: str
    wait_s: float
    def __init__(self, graph: _Optional[str] = ..., wait_s: _Optional[float] = ...) -> None: ...

class DeletedGraph(_message.Message):
    __slots__ = ("graph", "deleted")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    graph: str
    deleted: bool
    def __init__(self, graph: _Optional[str] = ..., deleted: _Optional[bool] = ...) -> None: ...

class TokenRef(_message.Message):
    __slots__ = ("graph", "token", "wait_s")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    WAIT_S_FIELD_NUMBER: _ClassVar[int]
    graph: str
    token: str
    wait_s: float
    def __init__(self, graph: _Optional[str] = ..., token: _Optional[str] = ..., wait_s: _Optional[float] = ...) -> None: ...

class TokenState(_message.Message):
    __slots__ = ("reached", "version")
    REACHED_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    reached: bool
    version: int
    def __init__(self, reached: _Optional[bool] = ..., version: _Optional[int] = ...) -> None: ...

class StandingQuestionRequest(_message.Message):
    __slots__ = ("graph", "id", "question", "mode", "top_k", "filters", "as_of", "answer", "options")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    graph: str
    id: str
    question: str
    mode: str
    top_k: int
    filters: Filters
    as_of: str
    answer: bool
    options: _struct_pb2.Struct
    def __init__(self, graph: _Optional[str] = ..., id: _Optional[str] = ..., question: _Optional[str] = ..., mode: _Optional[str] = ..., top_k: _Optional[int] = ..., filters: _Optional[_Union[Filters, _Mapping]] = ..., as_of: _Optional[str] = ..., answer: _Optional[bool] = ..., options: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class QuestionRef(_message.Message):
    __slots__ = ("graph", "id")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    graph: str
    id: str
    def __init__(self, graph: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class QuestionDeleted(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class QuestionQuery(_message.Message):
    __slots__ = ("graph", "limit", "cursor")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    graph: str
    limit: int
    cursor: str
    def __init__(self, graph: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class EvidenceItem(_message.Message):
    __slots__ = ("doc_id", "chunk_id", "score", "text", "title")
    DOC_ID_FIELD_NUMBER: _ClassVar[int]
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    doc_id: str
    chunk_id: str
    score: float
    text: str
    title: str
    def __init__(self, doc_id: _Optional[str] = ..., chunk_id: _Optional[str] = ..., score: _Optional[float] = ..., text: _Optional[str] = ..., title: _Optional[str] = ...) -> None: ...

class StandingQuestion(_message.Message):
    __slots__ = ("id", "question", "mode", "top_k", "version", "changed_version", "changed_at", "seq", "passages", "with_answer", "answer", "filters", "options")
    ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CHANGED_VERSION_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    WITH_ANSWER_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    question: str
    mode: str
    top_k: int
    version: int
    changed_version: int
    changed_at: str
    seq: int
    passages: _containers.RepeatedCompositeFieldContainer[EvidenceItem]
    with_answer: bool
    answer: str
    filters: _struct_pb2.Struct
    options: _struct_pb2.Struct
    def __init__(self, id: _Optional[str] = ..., question: _Optional[str] = ..., mode: _Optional[str] = ..., top_k: _Optional[int] = ..., version: _Optional[int] = ..., changed_version: _Optional[int] = ..., changed_at: _Optional[str] = ..., seq: _Optional[int] = ..., passages: _Optional[_Iterable[_Union[EvidenceItem, _Mapping]]] = ..., with_answer: _Optional[bool] = ..., answer: _Optional[str] = ..., filters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., options: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class QuestionPage(_message.Message):
    __slots__ = ("questions", "next")
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    questions: _containers.RepeatedCompositeFieldContainer[StandingQuestion]
    next: str
    def __init__(self, questions: _Optional[_Iterable[_Union[StandingQuestion, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("graph", "id", "after")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    graph: str
    id: str
    after: str
    def __init__(self, graph: _Optional[str] = ..., id: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class QuestionEvent(_message.Message):
    __slots__ = ("id", "seq", "version", "token", "occurred_at", "causes", "entered", "left", "passages", "answer")
    class Cause(_message.Message):
        __slots__ = ("doc_id", "revision")
        DOC_ID_FIELD_NUMBER: _ClassVar[int]
        REVISION_FIELD_NUMBER: _ClassVar[int]
        doc_id: str
        revision: int
        def __init__(self, doc_id: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    CAUSES_FIELD_NUMBER: _ClassVar[int]
    ENTERED_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    id: str
    seq: int
    version: int
    token: str
    occurred_at: str
    causes: _containers.RepeatedCompositeFieldContainer[QuestionEvent.Cause]
    entered: _containers.RepeatedCompositeFieldContainer[EvidenceItem]
    left: _containers.RepeatedCompositeFieldContainer[EvidenceItem]
    passages: _containers.RepeatedCompositeFieldContainer[EvidenceItem]
    answer: str
    def __init__(self, id: _Optional[str] = ..., seq: _Optional[int] = ..., version: _Optional[int] = ..., token: _Optional[str] = ..., occurred_at: _Optional[str] = ..., causes: _Optional[_Iterable[_Union[QuestionEvent.Cause, _Mapping]]] = ..., entered: _Optional[_Iterable[_Union[EvidenceItem, _Mapping]]] = ..., left: _Optional[_Iterable[_Union[EvidenceItem, _Mapping]]] = ..., passages: _Optional[_Iterable[_Union[EvidenceItem, _Mapping]]] = ..., answer: _Optional[str] = ...) -> None: ...

class ChangeQuery(_message.Message):
    __slots__ = ("graph", "after", "entity", "type", "prefix", "rows", "ends")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    ENDS_FIELD_NUMBER: _ClassVar[int]
    graph: str
    after: str
    entity: str
    type: str
    prefix: str
    rows: bool
    ends: bool
    def __init__(self, graph: _Optional[str] = ..., after: _Optional[str] = ..., entity: _Optional[str] = ..., type: _Optional[str] = ..., prefix: _Optional[str] = ..., rows: _Optional[bool] = ..., ends: _Optional[bool] = ...) -> None: ...

class PreviewRequest(_message.Message):
    __slots__ = ("graph", "body")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    graph: str
    body: bytes
    def __init__(self, graph: _Optional[str] = ..., body: _Optional[bytes] = ...) -> None: ...

class PreviewReply(_message.Message):
    __slots__ = ("version", "change", "questions")
    class Question(_message.Message):
        __slots__ = ("question", "mode", "changed", "before", "after", "entered", "left")
        QUESTION_FIELD_NUMBER: _ClassVar[int]
        MODE_FIELD_NUMBER: _ClassVar[int]
        CHANGED_FIELD_NUMBER: _ClassVar[int]
        BEFORE_FIELD_NUMBER: _ClassVar[int]
        AFTER_FIELD_NUMBER: _ClassVar[int]
        ENTERED_FIELD_NUMBER: _ClassVar[int]
        LEFT_FIELD_NUMBER: _ClassVar[int]
        question: str
        mode: str
        changed: bool
        before: _containers.RepeatedCompositeFieldContainer[EvidenceItem]
        after: _containers.RepeatedCompositeFieldContainer[EvidenceItem]
        entered: _containers.RepeatedCompositeFieldContainer[EvidenceItem]
        left: _containers.RepeatedCompositeFieldContainer[EvidenceItem]
        def __init__(self, question: _Optional[str] = ..., mode: _Optional[str] = ..., changed: _Optional[bool] = ..., before: _Optional[_Iterable[_Union[EvidenceItem, _Mapping]]] = ..., after: _Optional[_Iterable[_Union[EvidenceItem, _Mapping]]] = ..., entered: _Optional[_Iterable[_Union[EvidenceItem, _Mapping]]] = ..., left: _Optional[_Iterable[_Union[EvidenceItem, _Mapping]]] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    version: int
    change: Change
    questions: _containers.RepeatedCompositeFieldContainer[PreviewReply.Question]
    def __init__(self, version: _Optional[int] = ..., change: _Optional[_Union[Change, _Mapping]] = ..., questions: _Optional[_Iterable[_Union[PreviewReply.Question, _Mapping]]] = ...) -> None: ...

class ChangeEvent(_message.Message):
    __slots__ = ("opened", "change", "rows", "progress")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    opened: int
    change: Change
    rows: GraphRows
    progress: str
    def __init__(self, opened: _Optional[int] = ..., change: _Optional[_Union[Change, _Mapping]] = ..., rows: _Optional[_Union[GraphRows, _Mapping]] = ..., progress: _Optional[str] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("version", "token", "committed_at", "documents", "entities", "relations", "merges", "splits", "rebuilt", "rows")
    class Document(_message.Message):
        __slots__ = ("id", "revision", "state")
        ID_FIELD_NUMBER: _ClassVar[int]
        REVISION_FIELD_NUMBER: _ClassVar[int]
        STATE_FIELD_NUMBER: _ClassVar[int]
        id: str
        revision: int
        state: str
        def __init__(self, id: _Optional[str] = ..., revision: _Optional[int] = ..., state: _Optional[str] = ...) -> None: ...
    class Entity(_message.Message):
        __slots__ = ("id", "name", "type", "mentions")
        ID_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        MENTIONS_FIELD_NUMBER: _ClassVar[int]
        id: str
        name: str
        type: str
        mentions: int
        def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., type: _Optional[str] = ..., mentions: _Optional[int] = ...) -> None: ...
    class Entities(_message.Message):
        __slots__ = ("added", "changed", "removed")
        ADDED_FIELD_NUMBER: _ClassVar[int]
        CHANGED_FIELD_NUMBER: _ClassVar[int]
        REMOVED_FIELD_NUMBER: _ClassVar[int]
        added: _containers.RepeatedCompositeFieldContainer[Change.Entity]
        changed: _containers.RepeatedCompositeFieldContainer[Change.Entity]
        removed: _containers.RepeatedCompositeFieldContainer[Change.Entity]
        def __init__(self, added: _Optional[_Iterable[_Union[Change.Entity, _Mapping]]] = ..., changed: _Optional[_Iterable[_Union[Change.Entity, _Mapping]]] = ..., removed: _Optional[_Iterable[_Union[Change.Entity, _Mapping]]] = ...) -> None: ...
    class Relation(_message.Message):
        __slots__ = ("id", "subject", "predicate", "object", "subject_name", "object_name", "count")
        ID_FIELD_NUMBER: _ClassVar[int]
        SUBJECT_FIELD_NUMBER: _ClassVar[int]
        PREDICATE_FIELD_NUMBER: _ClassVar[int]
        OBJECT_FIELD_NUMBER: _ClassVar[int]
        SUBJECT_NAME_FIELD_NUMBER: _ClassVar[int]
        OBJECT_NAME_FIELD_NUMBER: _ClassVar[int]
        COUNT_FIELD_NUMBER: _ClassVar[int]
        id: str
        subject: str
        predicate: str
        object: str
        subject_name: str
        object_name: str
        count: int
        def __init__(self, id: _Optional[str] = ..., subject: _Optional[str] = ..., predicate: _Optional[str] = ..., object: _Optional[str] = ..., subject_name: _Optional[str] = ..., object_name: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...
    class Relations(_message.Message):
        __slots__ = ("added", "changed", "removed")
        ADDED_FIELD_NUMBER: _ClassVar[int]
        CHANGED_FIELD_NUMBER: _ClassVar[int]
        REMOVED_FIELD_NUMBER: _ClassVar[int]
        added: _containers.RepeatedCompositeFieldContainer[Change.Relation]
        changed: _containers.RepeatedCompositeFieldContainer[Change.Relation]
        removed: _containers.RepeatedCompositeFieldContainer[Change.Relation]
        def __init__(self, added: _Optional[_Iterable[_Union[Change.Relation, _Mapping]]] = ..., changed: _Optional[_Iterable[_Union[Change.Relation, _Mapping]]] = ..., removed: _Optional[_Iterable[_Union[Change.Relation, _Mapping]]] = ...) -> None: ...
    class Link(_message.Message):
        __slots__ = ("a", "b", "rule", "score")
        A_FIELD_NUMBER: _ClassVar[int]
        B_FIELD_NUMBER: _ClassVar[int]
        RULE_FIELD_NUMBER: _ClassVar[int]
        SCORE_FIELD_NUMBER: _ClassVar[int]
        a: str
        b: str
        rule: str
        score: float
        def __init__(self, a: _Optional[str] = ..., b: _Optional[str] = ..., rule: _Optional[str] = ..., score: _Optional[float] = ...) -> None: ...
    class Merge(_message.Message):
        __slots__ = ("into", "name", "sources", "evidence")
        INTO_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        SOURCES_FIELD_NUMBER: _ClassVar[int]
        EVIDENCE_FIELD_NUMBER: _ClassVar[int]
        into: str
        name: str
        sources: _containers.RepeatedScalarFieldContainer[str]
        evidence: _containers.RepeatedCompositeFieldContainer[Change.Link]
        def __init__(self, into: _Optional[str] = ..., name: _Optional[str] = ..., sources: _Optional[_Iterable[str]] = ..., evidence: _Optional[_Iterable[_Union[Change.Link, _Mapping]]] = ...) -> None: ...
    class Split(_message.Message):
        __slots__ = ("source", "name", "into", "evidence")
        SOURCE_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        INTO_FIELD_NUMBER: _ClassVar[int]
        EVIDENCE_FIELD_NUMBER: _ClassVar[int]
        source: str
        name: str
        into: _containers.RepeatedScalarFieldContainer[str]
        evidence: _containers.RepeatedCompositeFieldContainer[Change.Link]
        def __init__(self, source: _Optional[str] = ..., name: _Optional[str] = ..., into: _Optional[_Iterable[str]] = ..., evidence: _Optional[_Iterable[_Union[Change.Link, _Mapping]]] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    MERGES_FIELD_NUMBER: _ClassVar[int]
    SPLITS_FIELD_NUMBER: _ClassVar[int]
    REBUILT_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    version: int
    token: str
    committed_at: str
    documents: _containers.RepeatedCompositeFieldContainer[Change.Document]
    entities: Change.Entities
    relations: Change.Relations
    merges: _containers.RepeatedCompositeFieldContainer[Change.Merge]
    splits: _containers.RepeatedCompositeFieldContainer[Change.Split]
    rebuilt: bool
    rows: bytes
    def __init__(self, version: _Optional[int] = ..., token: _Optional[str] = ..., committed_at: _Optional[str] = ..., documents: _Optional[_Iterable[_Union[Change.Document, _Mapping]]] = ..., entities: _Optional[_Union[Change.Entities, _Mapping]] = ..., relations: _Optional[_Union[Change.Relations, _Mapping]] = ..., merges: _Optional[_Iterable[_Union[Change.Merge, _Mapping]]] = ..., splits: _Optional[_Iterable[_Union[Change.Split, _Mapping]]] = ..., rebuilt: _Optional[bool] = ..., rows: _Optional[bytes] = ...) -> None: ...

class GraphRows(_message.Message):
    __slots__ = ("version", "token", "part", "parts", "rows")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    version: int
    token: str
    part: int
    parts: int
    rows: bytes
    def __init__(self, version: _Optional[int] = ..., token: _Optional[str] = ..., part: _Optional[int] = ..., parts: _Optional[int] = ..., rows: _Optional[bytes] = ...) -> None: ...
