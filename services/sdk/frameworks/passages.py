"""Questions of frameworks: the same options and the same metadata of a passage in each of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from graphtide.services.application import Answer, Filters, RankedPassage
from graphtide.services.sdk import interface
from graphtide.services.sdk.blocking import Graph as BlockingGraph
from graphtide.streams.errors import Invalid


@dataclass(frozen=True, slots=True)
class PassageOptions:
    """Options of a search for passages; see `graphtide.Graph.ask`."""

    k: int = 5
    mode: str = "auto"
    filters: Filters | None = None
    as_of: str = ""

    def arguments(self, after: str = "") -> dict[str, Any]:
        """Return the arguments of `ask` for the passages alone."""
        options = {"mode": self.mode, "top_k": self.k, "filters": self.filters, "as_of": self.as_of, "after": after}
        return {**options, "generate": False}


def blocking(graph: object) -> BlockingGraph:
    """Return a graph for calls that block. Raises Invalid for one of an event loop."""
    if not isinstance(graph, BlockingGraph):
        raise Invalid("graph", "is one of an event loop; pass a graph of graphtide.sync, or use the methods with a")
    return graph


async def search(graph: object, question: str, arguments: dict[str, Any], aside: Aside) -> Answer:
    """Return the answer of a graph of either kind; `aside` runs a blocking call in a thread."""
    if isinstance(graph, BlockingGraph):
        return await aside(lambda: graph.ask(question, **arguments))
    asked: interface.Graph = graph  # type: ignore[assignment]  # the protocol has no class to check
    return await asked.ask(question, **arguments)


Aside = Callable[[Callable[[], Answer]], Awaitable[Answer]]


def metadata_of(graph: str, passage: RankedPassage, answer: Answer) -> dict[str, Any]:
    """Return what a framework keeps beside the text of a passage. Values are strings and numbers."""
    named = {"graph": graph, "doc_id": passage.doc_id, "chunk_id": passage.chunk_id, "title": passage.title}
    return {**named, "place": passage.place.path, "version": answer.version, "mode": answer.mode}
