"""Types of a retrieval: its question and its result, plain values independent of the mode.

Invariant: everything here is named by canonical strings (chunk ids, entity ids, relation ids). The small ints of the
live view depend on the order of arrival and stay internal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from graphtide.graph.retrieval.options.fields import Options
from graphtide.graph.text.quotation import neutralise

if TYPE_CHECKING:
    from graphtide.graph.retrieval.question_vector import QuestionVector

MODE_NAMES = (
    "auto",
    "vector",
    "local",
    "passages",
    "bridge",
    "da-rag",
    "dynagrag",
    "nakg",
    "pipeline",
    "global",
    "global-dynamic",
)
"""The names of the modes, for those that call no mode: `modes/table.py` imports each with its algorithms."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on a passage's document; an empty field admits all.

    `metadata` holds (key, JSON value) pairs that must all be equal, numbers by value. `occurred_from` and `occurred_to`
    are ISO 8601 dates of any precision and time zone (without one, UTC), both inclusive: to "2024" admits all of 2024.
    A document without a date is outside a range, and so is one that happened "in 2024" where the range ends in May.

    `as_of` is an ISO date, too: it excludes relations known not to have been valid then, and passages that state
    nothing else (graph/validity). It is the time of validity, not the time a document was written.
    """

    doc_ids: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    metadata: tuple[tuple[str, object], ...] = ()
    occurred_from: str = ""
    occurred_to: str = ""
    as_of: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its embedding, (d,) float32 of the embedder that made the graph's vectors."""

    text: str
    vector: QuestionVector
    top_k: int = 5
    mode: str = "local"
    filters: Filters = field(default_factory=Filters)
    explain: bool = False
    level: int | None = None
    """Level of the community hierarchy, 0 the finest, for the modes that read reports. None: the mode's default."""
    exact: bool = False
    """Search every vector instead of the approximate indexes."""
    options: Options = ()
    """Checked options of the mode (options/table.py)."""


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """A chunk, best first in its list. The mode defines `score`; within one answer higher is better."""

    chunk_id: str
    doc_id: str
    score: float
    text: str


@dataclass(frozen=True, slots=True)
class AnswerNode:
    """An entity of the subgraph; `score` is its PageRank mass, or the number of passages that mention it."""

    id: str
    name: str
    type: str
    score: float


@dataclass(frozen=True, slots=True)
class AnswerEdge:
    """A relation of the subgraph between two of its nodes, with its weight over the whole graph.

    `valid_from` and `valid_to` are ISO dates or empty; `ended_by` is the later document that contradicts it, and
    `superseding_value` that document's statement. `trussness` is the largest k such that a k-truss of the whole graph
    holds the edge of the two entities, 0 for a relation of an entity with itself.
    """

    id: str
    source: str
    predicate: str
    target: str
    weight: float
    valid_from: str = ""
    valid_to: str = ""
    ended_by: str = ""
    superseding_value: str = ""
    source_name: str = ""
    target_name: str = ""
    trussness: int = 0


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The part of the graph that the passages state."""

    nodes: tuple[AnswerNode, ...] = ()
    edges: tuple[AnswerEdge, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceItem:
    """One line of a trace: an id, its name, its score, and the terms of the score."""

    id: str
    name: str
    score: float
    parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of a retrieval, in the order of execution; `about` describes it in plain words."""

    name: str
    about: str
    items: tuple[TraceItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    steps: tuple[TraceStep, ...] = ()


class Synthesis(StrEnum):
    """The method of making an answer from the result."""

    AT_ONCE = "at-once"
    """One answer from the whole result."""
    BY_PART = "by-part"
    """An answer from each part, rated by its helpfulness; the final answer from the best of these."""


@dataclass(frozen=True, slots=True)
class RetrievedPart:
    """A piece of context that a mode wrote itself: a community's report, a verbalised subgraph.

    `sources` are the ids of the chunks it is based on, which an answer made from it may cite. `[n]` in `text` names the
    n-th of them (from 1); a text without such a mark is based on all of them. The mode defines `score`.
    """

    title: str
    text: str
    sources: tuple[str, ...]
    score: float


def quoted_part(title: str, text: str, sources: tuple[str, ...], score: float) -> RetrievedPart:
    """Return a part whose text has no citations of its own: what reads like one is the documents' text."""
    return RetrievedPart(neutralise(title), neutralise(text), sources, score)


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The result of a mode at one version of the graph. `trace` is present when the question requested an explanation.

    `parts` are the mode's context beyond passages, best first. `synthesis` is the method of making an answer from both.
    `mode_reason` gives the reason for this mode, if mode `auto` chose it.
    """

    passages: tuple[RetrievedPassage, ...]
    subgraph: Subgraph
    version: int
    mode: str
    trace: Trace | None = None
    parts: tuple[RetrievedPart, ...] = ()
    synthesis: Synthesis = Synthesis.AT_ONCE
    mode_reason: str = ""
