"""The application port: all operations of Graphtide for HTTP, gRPC and the CLI, in plain types.

`services/api/http` and `services/api/grpc` translate it to their wire formats,
`services/local_application.py` implements it on the views of a process. Every method raises only `streams.errors`
(NotFound, Invalid, Overloaded, DeadlineExceeded to the caller; Retryable when a model endpoint is unreachable).
"""

from graphtide.graph.retrieval.types import AnswerEdge as SubgraphEdge
from graphtide.graph.retrieval.types import AnswerNode as SubgraphNode
from graphtide.graph.retrieval.types import Filters
from graphtide.graph.retrieval.types import RetrievedPart as ContextPart
from graphtide.services.application.answers import Answer, AnswerChunk, Citation, QueryRequest, RankedPassage, Usage
from graphtide.services.application.dead_letters import LetterList, LetterQuery, LetterStatus
from graphtide.services.application.documents import (
    DocumentStatus,
    Receipt,
    RelatedDocument,
    RelatedDocuments,
    StatedFact,
)
from graphtide.services.application.graphs import (
    DeletedGraph,
    Digest,
    EntityStatus,
    GraphStats,
    Health,
    LabelStatus,
    Merge,
    Purged,
    Rebuilt,
    Verification,
)
from graphtide.services.application.port import Application
from graphtide.services.browsing import CommunityReport
from graphtide.services.changes.types import Change, ChangeQuery, FeedItem, FeedOpened, FeedProgress, GraphRows
from graphtide.services.preview.types import Preview, PreviewRequest
from graphtide.streams.document_progress import DocumentProgress
from graphtide.streams.ports import ReportFinding

__all__ = [
    "Answer",
    "AnswerChunk",
    "Application",
    "Change",
    "ChangeQuery",
    "Citation",
    "CommunityReport",
    "ContextPart",
    "DeletedGraph",
    "Digest",
    "DocumentProgress",
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
    "Preview",
    "PreviewRequest",
    "Purged",
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
