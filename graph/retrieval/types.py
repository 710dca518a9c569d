"""What a retrieval is asked and what it hands back: plain values, nothing of how it is done.

Invariant: everything here is named by canonical strings (chunk ids, entity ids, relation ids). The small ints of the
live view depend on the order of arrival and stay inside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.quotation import neutralise

QuestionVector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Filters:
    """What a passage's document must be; an empty field admits all.

    `metadata` holds (key, JSON value) pairs that must all be equal, numbers by value. `occurred_from` and
    `occurred_to` are ISO 8601 dates of any precision and time zone (without one, UTC), both inclusive: to "2024"
    admits all of 2024. A document without a date is outside a range, and so is one that happened "in 2024" where the
    range ends in May.

    `as_of` is an ISO date, too: what is known not to have held then is left out, relations as well as passages that
    state nothing else (graph/validity). It asks when a thing held, not when a document was written.
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
    """Of the hierarchy of communities, 0 the finest: for the modes that read reports. None: the mode's own choice."""


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """A chunk, best first in its list. What `score` means is the mode's; within one answer higher is better."""

    chunk_id: str
    doc_id: str
    score: float
    text: str


@dataclass(frozen=True, slots=True)
class AnswerNode:
    """An entity of the subgraph; `score` is its PageRank mass, or how many of the passages mention it."""

    id: str
    name: str
    type: str
    score: float


@dataclass(frozen=True, slots=True)
class AnswerEdge:
    """A relation of the subgraph between two of its nodes, with its weight over the whole graph.

    `valid_from` and `valid_to` are ISO dates or empty; `ended_by` is the document that contradicts it since, and
    `instead` what that says.
    """

    id: str
    source: str
    predicate: str
    target: str
    weight: float
    valid_from: str = ""
    valid_to: str = ""
    ended_by: str = ""
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The part of the graph that the passages state."""

    nodes: tuple[AnswerNode, ...] = ()
    edges: tuple[AnswerEdge, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceItem:
    """One line of a trace: what, how it is called, its score, and what the score is made of."""

    id: str
    name: str
    score: float
    parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of a retrieval, in the order it was taken; `about` says in plain words what was done."""

    name: str
    about: str
    items: tuple[TraceItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    steps: tuple[TraceStep, ...] = ()


class Synthesis(StrEnum):
    """How an answer is made of what was retrieved."""

    AT_ONCE = "at-once"
    """One answer from all of it."""
    BY_PART = "by-part"
    """An answer from each part, rated by how helpful it is; the final one from the best of these."""


@dataclass(frozen=True, slots=True)
class ContextPart:
    """A piece of context that a mode wrote itself: a community's report, a subgraph put into words.

    `sources` are the ids of the chunks it rests on: what an answer made from it may cite. `[n]` in `text` names the
    n-th of them (from 1); a text without such a mark rests on all of them together. `score` is the mode's.
    """

    title: str
    text: str
    sources: tuple[str, ...]
    score: float


def quoted_part(title: str, text: str, sources: tuple[str, ...], score: float) -> ContextPart:
    """Return a part whose text has no citations of its own: what reads like one is the documents' text."""
    return ContextPart(neutralise(title), neutralise(text), sources, score)


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The answer of a mode at one version of the graph. `trace` is there when the question asked to explain.

    `parts` are what the mode has beyond passages, best first. `synthesis` says how an answer is made of both. `chosen`
    says in plain words why this mode was taken, where mode `auto` took it.
    """

    passages: tuple[RetrievedPassage, ...]
    subgraph: Subgraph
    version: int
    mode: str
    trace: Trace | None = None
    parts: tuple[ContextPart, ...] = ()
    synthesis: Synthesis = Synthesis.AT_ONCE
    chosen: str = ""
