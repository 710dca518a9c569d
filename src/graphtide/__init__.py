"""Graphtide: a knowledge graph that stays current while documents arrive, and answers from it.

    async with graphtide.open("data") as db:
        notes = db.graph("notes")
        receipt = await notes.add("boiler", "Ana Ruiz signed the contract.")
        answer = await notes.ask("Who signed?", after=receipt.token)

`graphtide.connect` has the same interface to a running service or a cluster, over HTTP:

    async with graphtide.connect("http://127.0.0.1:8080", api_key="...") as db: ...

`graphtide.sync` has blocking twins. Every name of `__all__` is loaded when it is first used, so importing the package
costs nothing. The errors are one tree:

    GraphtideError
    ├── Retryable              the same call may work later (`retry_after_s`)
    │   ├── BudgetExceeded     the graph's model budget is used up
    │   └── Unreachable        no service answers at the URL
    ├── Rejected               the input can never be processed
    ├── Broken                 an invariant does not hold: the message names cause and remedy
    │   └── Fenced             another writer has taken over
    └── QueryError             the request cannot be answered; nothing was changed
        ├── NotFound           no such graph, document or entity
        ├── Invalid            a field of the request is wrong (`field` names it)
        ├── Expired            a listing or a feed is too old to continue
        ├── Overloaded         too much at once (`retry_after_s`)
        ├── DeadlineExceeded   not ready in time
        ├── TooLarge           more than the service accepts in one request
        ├── Unauthenticated    no valid credential
        └── Forbidden          the credential does not grant this
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str

    from graphtide import sync
    from graphtide.graph.changes.replica import GraphReplica, ReplicaEdge, ReplicaEntity
    from graphtide.graph.text.place import PassageKind, Place
    from graphtide.services.api.schema.errors import Forbidden, TooLarge, Unauthenticated
    from graphtide.services.application import (
        Answer,
        AnswerChunk,
        Citation,
        CommunityReport,
        ContextPart,
        Digest,
        DocumentProgress,
        DocumentStatus,
        EntityStatus,
        Filters,
        GraphStats,
        LabelStatus,
        Merge,
        RankedPassage,
        Rebuilt,
        Receipt,
        RelatedDocument,
        RelatedDocuments,
        ReportFinding,
        StatedFact,
        SubgraphEdge,
        SubgraphNode,
        Usage,
        Verification,
    )
    from graphtide.services.browsing import (
        CohesiveGroup,
        CommunityDetails,
        CommunityMember,
        CommunityPage,
        CommunitySummary,
        DocumentPage,
        EntityPage,
        ListedDocument,
        ListedEntity,
        NeighbourEdge,
        Neighbourhood,
        NeighbourNode,
    )
    from graphtide.services.changes.types import (
        Change,
        ChangedDocument,
        ChangedEntity,
        ChangedRelation,
        EntityMerge,
        EntitySplit,
        GraphRows,
    )
    from graphtide.services.preview.types import Preview, QuestionPreview
    from graphtide.services.sdk.embedded import open_database as open  # noqa: A004 - read as graphtide.open
    from graphtide.services.sdk.files import documents_in
    from graphtide.services.sdk.interface import BulkReceipt, Database, Graph, Questions, RejectedDocument
    from graphtide.services.sdk.remote.database import connect
    from graphtide.services.sdk.remote.errors import Unreachable
    from graphtide.services.standing.types import Cause, EvidenceItem, QuestionPage, StandingEvent, StandingQuestion
    from graphtide.streams.errors import (
        Broken,
        BudgetExceeded,
        DeadlineExceeded,
        Expired,
        Fenced,
        GraphtideError,
        Invalid,
        NotFound,
        Overloaded,
        QueryError,
        Rejected,
        Retryable,
    )
    from graphtide.streams.model_ports import ContextPassage

_RESULTS = "graphtide.services.application"
_INTERFACE = "graphtide.services.sdk.interface"
_ERRORS = "graphtide.streams.errors"
_HOMES = {
    "open": "graphtide.services.sdk.embedded:open_database",
    "connect": "graphtide.services.sdk.remote.database:connect",
    "sync": "graphtide.sync",
    "Unreachable": "graphtide.services.sdk.remote.errors:Unreachable",
    **{name: f"graphtide.services.api.schema.errors:{name}" for name in ("Forbidden", "TooLarge", "Unauthenticated")},
    "documents_in": "graphtide.services.sdk.files:documents_in",
    "PassageKind": "graphtide.graph.text.place:PassageKind",
    "Place": "graphtide.graph.text.place:Place",
    "ContextPassage": "graphtide.streams.model_ports:ContextPassage",
    **{
        name: f"graphtide.services.browsing:{name}"
        for name in (
            "CohesiveGroup",
            "CommunityDetails",
            "CommunityMember",
            "CommunityPage",
            "CommunitySummary",
            "DocumentPage",
            "EntityPage",
            "ListedDocument",
            "ListedEntity",
            "NeighbourEdge",
            "NeighbourNode",
            "Neighbourhood",
        )
    },
    **{name: f"{_INTERFACE}:{name}" for name in ("BulkReceipt", "Database", "Graph", "Questions", "RejectedDocument")},
    **{
        name: f"graphtide.services.standing.types:{name}"
        for name in ("Cause", "EvidenceItem", "QuestionPage", "StandingEvent", "StandingQuestion")
    },
    **{name: f"graphtide.services.preview.types:{name}" for name in ("Preview", "QuestionPreview")},
    **{name: f"graphtide.graph.changes.replica:{name}" for name in ("GraphReplica", "ReplicaEdge", "ReplicaEntity")},
    **{
        name: f"graphtide.services.changes.types:{name}"
        for name in (
            "Change",
            "ChangedDocument",
            "ChangedEntity",
            "ChangedRelation",
            "EntityMerge",
            "EntitySplit",
            "GraphRows",
        )
    },
    **{
        name: f"{_RESULTS}:{name}"
        for name in (
            "Answer",
            "Citation",
            "CommunityReport",
            "ContextPart",
            "Digest",
            "DocumentProgress",
            "DocumentStatus",
            "EntityStatus",
            "Filters",
            "GraphStats",
            "LabelStatus",
            "Merge",
            "AnswerChunk",
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
        )
    },
    **{
        name: f"{_ERRORS}:{name}"
        for name in (
            "Broken",
            "BudgetExceeded",
            "DeadlineExceeded",
            "Expired",
            "Fenced",
            "GraphtideError",
            "Invalid",
            "NotFound",
            "Overloaded",
            "QueryError",
            "Rejected",
            "Retryable",
        )
    },
}

__all__ = [
    "Answer",
    "AnswerChunk",
    "Broken",
    "BudgetExceeded",
    "BulkReceipt",
    "Cause",
    "Change",
    "ChangedDocument",
    "ChangedEntity",
    "ChangedRelation",
    "Citation",
    "CohesiveGroup",
    "CommunityDetails",
    "CommunityMember",
    "CommunityPage",
    "CommunityReport",
    "CommunitySummary",
    "ContextPart",
    "ContextPassage",
    "Database",
    "DeadlineExceeded",
    "Digest",
    "DocumentPage",
    "DocumentProgress",
    "DocumentStatus",
    "EntityMerge",
    "EntityPage",
    "EntitySplit",
    "EntityStatus",
    "EvidenceItem",
    "Expired",
    "Fenced",
    "Filters",
    "Forbidden",
    "Graph",
    "GraphReplica",
    "GraphRows",
    "GraphStats",
    "GraphtideError",
    "Invalid",
    "LabelStatus",
    "ListedDocument",
    "ListedEntity",
    "Merge",
    "NeighbourEdge",
    "NeighbourNode",
    "Neighbourhood",
    "NotFound",
    "Overloaded",
    "PassageKind",
    "Place",
    "Preview",
    "QueryError",
    "QuestionPage",
    "QuestionPreview",
    "Questions",
    "RankedPassage",
    "Rebuilt",
    "Receipt",
    "Rejected",
    "RejectedDocument",
    "RelatedDocument",
    "RelatedDocuments",
    "ReplicaEdge",
    "ReplicaEntity",
    "ReportFinding",
    "Retryable",
    "StandingEvent",
    "StandingQuestion",
    "StatedFact",
    "SubgraphEdge",
    "SubgraphNode",
    "TooLarge",
    "Unauthenticated",
    "Unreachable",
    "Usage",
    "Verification",
    "__version__",
    "connect",
    "documents_in",
    "open",
    "sync",
]


_OLD_NAMES = {"Piece": "AnswerChunk"}
"""Names that were public before, for one release."""


def __getattr__(name: str) -> object:
    """Load a public name when it is first used. An old name gives a DeprecationWarning."""
    if name == "__version__":
        from importlib.metadata import version

        return version("graphtide")
    if name in _OLD_NAMES:
        warnings.warn(f"graphtide.{name} is now graphtide.{_OLD_NAMES[name]}", DeprecationWarning, stacklevel=2)
        name = _OLD_NAMES[name]
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'graphtide' has no attribute {name!r}")
    module, _, attribute = home.partition(":")
    found = import_module(module)
    value = getattr(found, attribute) if attribute else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
