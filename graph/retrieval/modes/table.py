"""The table of modes, and the one call that answers a question by its mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from graphtide.graph.retrieval.darag.mode import retrieve_da_rag
from graphtide.graph.retrieval.dynagrag.mode import retrieve_dynagrag
from graphtide.graph.retrieval.global_search.dynamic import retrieve_global_dynamic
from graphtide.graph.retrieval.global_search.static import retrieve_global
from graphtide.graph.retrieval.modes.auto import choose, with_choice
from graphtide.graph.retrieval.modes.bridge import retrieve_bridge
from graphtide.graph.retrieval.modes.local import retrieve_local
from graphtide.graph.retrieval.modes.passages import retrieve_passages
from graphtide.graph.retrieval.modes.pipeline import retrieve_pipeline
from graphtide.graph.retrieval.modes.vector import retrieve_vector
from graphtide.graph.retrieval.nakg.mode import retrieve_nakg
from graphtide.graph.retrieval.options.table import with_options
from graphtide.graph.retrieval.temporal import dated
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.view import LiveView

Method = Callable[[LiveView, Question], RetrievalResult]


def retrieve_auto(view: LiveView, question: Question) -> RetrievalResult:
    """Run mode `auto`: choose the question's mode, which is the result's `mode`; `mode_reason` gives the reason."""
    choice = choose(view, question.text, MODES)
    chosen = replace(question, mode=choice.mode)
    return with_choice(_explained(chosen, MODES[choice.mode](view, chosen)), choice)


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
    """An unknown mode; the message names the modes in `MODES`."""


def retrieve(view: LiveView, question: Question) -> RetrievalResult:
    """Answer a question by its mode. Call under `view.lock.read()`; the result holds no reference into the view.

    Returns no passages for an empty graph, or a question without similar content. Raises UnknownMode, and ValueError
    for `top_k` below 1, for a vector that is not finite or not of the index's length, and for an invalid date in a
    filter.
    """
    method = MODES.get(question.mode)
    if method is None:
        raise UnknownMode(f"unknown mode {question.mode!r}: use one of {', '.join(sorted(MODES))}")
    if question.top_k < 1:
        raise ValueError(f"top_k must be at least 1, got {question.top_k}")
    return concluded(view, question, method(view, question))


def concluded(view: LiveView, question: Question, found: RetrievalResult) -> RetrievalResult:
    """Return a mode's result with the validity of its relations, and in its trace the options of the mode."""
    return dated(view, _explained(question, found), question.filters.as_of)


def _explained(question: Question, found: RetrievalResult) -> RetrievalResult:
    return found if found.trace is None else replace(found, trace=with_options(found.trace, question))
