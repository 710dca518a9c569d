"""Retrieval from the live view: one table of modes, one call.

A mode is a function of a view and a question; it reads the view's tables and indexes, keeps nothing of its own, and
is deterministic: on equal graphs, built in whatever order, with exact indexes, it gives equal results.

    request.py     what goes in and what comes out
    vector.py      mode `vector`: by similarity alone
    local.py       mode `local`: by the graph, for a context
    passages.py    mode `passages`: by the graph, for recall
    bridge.py      mode `bridge`: how what the question names is related: recognition.py ─► roads.py ─► steiner.py
    pipeline.py    mode `pipeline`: breadth.py, phse.py, regions.py, walk, bridge and MMR, one after the other
    darag/         mode `da-rag`: communities searched for the question, put into words
    dynagrag/      mode `dynagrag`: ego-graphs, chosen to differ, pruned and put into words: a part each
    auto.py        mode `auto`: which of the others a question is for
    global_static.py, global_dynamic.py
                   modes `global`, `global-dynamic`: reports of communities, all of a level or what is rated relevant
    nakg/          mode `nakg`: the documents as a graph with learned edges; and the documents related to one
    paired.py      the course of `local` and `passages`, in these steps, each usable alone:
        seeds.py ─► walk.py ─► candidates.py ─► evidence.py ─► mmr.py
    terms.py, filters.py, subgraph.py, explain.py: words, filters, what is shown beside, why
    times.py: when the relations of any mode's subgraph held
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from graphtide.graph.retrieval.darag import retrieve_da_rag
from graphtide.graph.retrieval.dynagrag import retrieve_dynagrag
from graphtide.graph.retrieval.global_search.dynamic import retrieve_global_dynamic
from graphtide.graph.retrieval.global_search.static import retrieve_global
from graphtide.graph.retrieval.modes.auto import choose, with_choice
from graphtide.graph.retrieval.modes.bridge import retrieve_bridge
from graphtide.graph.retrieval.modes.local import retrieve_local
from graphtide.graph.retrieval.modes.passages import retrieve_passages
from graphtide.graph.retrieval.modes.pipeline import retrieve_pipeline
from graphtide.graph.retrieval.modes.vector import retrieve_vector
from graphtide.graph.retrieval.nakg import retrieve_nakg
from graphtide.graph.retrieval.temporal import dated
from graphtide.graph.retrieval.types import (
    ContextPart,
    Filters,
    Question,
    RetrievalResult,
    RetrievedPassage,
    Subgraph,
    Synthesis,
    Trace,
)
from graphtide.graph.view import LiveView

Method = Callable[[LiveView, Question], RetrievalResult]


def retrieve_auto(view: LiveView, question: Question) -> RetrievalResult:
    """Mode `auto`: as the mode that suits the question, which is the result's `mode`; `chosen` says why."""
    choice = choose(view, question.text, MODES)
    return with_choice(MODES[choice.mode](view, replace(question, mode=choice.mode)), choice)


MODES: Mapping[str, Method] = MappingProxyType(
    {
        "auto": retrieve_auto,
        "vector": retrieve_vector,
        "local": retrieve_local,
        "passages": retrieve_passages,
        "bridge": retrieve_bridge,
        "da-rag": retrieve_da_rag,
        "dynagrag": retrieve_dynagrag,
        "nakg": retrieve_nakg,
        "pipeline": retrieve_pipeline,
        "global": retrieve_global,
        "global-dynamic": retrieve_global_dynamic,
    }
)


class UnknownMode(ValueError):  # noqa: N818 - named for what is wrong, as elsewhere
    """A mode that is not in `MODES`; the message names those that are."""


def retrieve(view: LiveView, question: Question) -> RetrievalResult:
    """Answer a question by its mode. Call under `view.lock.read()`; the result holds no reference into the view.

    An empty graph, or a question near nothing, gives no passages. Raises UnknownMode, and ValueError for `top_k`
    below 1, for a vector that is not finite or not of the index's length, and for a filter's date that is none.
    """
    method = MODES.get(question.mode)
    if method is None:
        raise UnknownMode(f"mode {question.mode!r} is none of {', '.join(sorted(MODES))}")
    if question.top_k < 1:
        raise ValueError(f"top_k must be at least 1, got {question.top_k}")
    return dated(view, method(view, question), question.filters.as_of)


__all__ = [
    "MODES",
    "ContextPart",
    "Filters",
    "Method",
    "Question",
    "RetrievalResult",
    "RetrievedPassage",
    "Subgraph",
    "Synthesis",
    "Trace",
    "UnknownMode",
    "retrieve",
]
