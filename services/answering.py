"""From what was retrieved to what is answered: context for the generator, citations, the parts of an `Answer`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from graph.retrieval import Retrieved
from graph.retrieval.request import Step
from graph.view import LiveView
from services.application import Answer, Citation, RankedPassage, Usage
from streams.models import ContextPassage, Generated


def context(view: LiveView, retrieved: Retrieved) -> list[ContextPassage]:
    """The retrieved passages as a generator reads them. Call under `view.lock.read()`."""
    return [
        ContextPassage(
            passage.text,
            view.documents[passage.doc_id].info.title,
            passage.doc_id,
            passage.chunk_id,
            tuple(_facts(view, view.chunk_numbers[passage.chunk_id])),
        )
        for passage in retrieved.passages
    ]


def _facts(view: LiveView, chunk: int) -> Iterator[str]:
    for row in view.chunks[chunk].evidence:
        subject, object_ = view.ends(row.statement)
        predicate = view.statements[row.statement].predicate
        yield f"{view.entities[subject].name} {predicate} {view.entities[object_].name}"


def answer(retrieved: Retrieved, passages: Sequence[ContextPassage], generated: Generated | None) -> Answer:
    """The answer's parts. Without generation there is no text, and nothing is cited."""
    text = Generated("") if generated is None else generated
    cited = [passages[index] for index in text.cited]
    return Answer(
        text.text,
        tuple(Citation(one.doc_id, one.chunk_id, one.text) for one in cited),
        tuple(RankedPassage(one.doc_id, one.chunk_id, one.score, one.text) for one in retrieved.passages),
        retrieved.subgraph.nodes,
        retrieved.subgraph.edges,
        retrieved.version,
        retrieved.mode,
        Usage(text.llm_calls, text.prompt_tokens, text.completion_tokens),
        None if retrieved.trace is None else tuple(_step(step) for step in retrieved.trace.steps),
    )


def _step(step: Step) -> Mapping[str, object]:
    items = [{"id": item.id, "name": item.name, "score": item.score, "parts": dict(item.parts)} for item in step.items]
    return {"step": step.name, "about": step.about, "items": items}
