"""The types of questions and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphtide.graph.retrieval.options.fields import Options
from graphtide.graph.retrieval.types import AnswerEdge as SubgraphEdge
from graphtide.graph.retrieval.types import AnswerNode as SubgraphNode
from graphtide.graph.retrieval.types import Filters
from graphtide.graph.retrieval.types import RetrievedPart as ContextPart
from graphtide.graph.text.place import NO_PLACE, Place


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """A question. `timeout_s` bounds the wait for `after` and the answer together.

    `level` selects the level of the community hierarchy, 0 the finest, for modes that read reports; None: the mode
    selects it. An `exact` question searches every vector instead of the approximate indexes.
    `at` selects an earlier version of the graph: its number, the token of a change, or a token of publishing. `options`
    are checked options of the mode.
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
    exact: bool = False
    at: str = ""
    options: Options = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """A cited passage; `title` is that of its document, `place` where the passage is in it.

    `number` is the `[n]` of the answer. `quote` is the cited sentence or row, without line breaks; it is
    `text[start:end]`.
    """

    doc_id: str
    chunk_id: str
    text: str
    title: str = ""
    place: Place = NO_PLACE
    number: int = 0
    quote: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A retrieved passage, with the title of its document and its place in it."""

    doc_id: str
    chunk_id: str
    score: float
    text: str
    title: str = ""
    place: Place = NO_PLACE


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls and tokens of the language model; `cost` is the cost of all models, None without prices."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its context. `answer` is empty when only the context was requested.

    `trace` holds the retrieval steps when `explain` is set; `context_parts` the context other than passages;
    `mode_reason` the reason why mode `auto` selected `mode`.
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
    context_parts: tuple[ContextPart, ...] = ()
    mode_reason: str = ""


@dataclass(frozen=True, slots=True)
class AnswerChunk:
    """The next piece of a streamed answer's text."""

    text: str
