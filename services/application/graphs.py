"""The types of graphs: counts, entities, digests, results of maintenance, and the readiness of a process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphtide.graph.retrieval.types import AnswerEdge as SubgraphEdge
from graphtide.services.component_state import ComponentState


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

    `description` merges the descriptions in the live documents, under 500 tokens; empty without any. `relation_count`
    is the number of all its relations; 0 from a service of an earlier release.
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
    relation_count: int = 0


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
class Health:
    """Readiness of a process, and the state of each component by name."""

    ready: bool
    components: Mapping[str, ComponentState]
