"""From what was retrieved to what is answered: context for the generator, citations, the parts of an `Answer`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph.retrieval import Retrieved
from graph.retrieval.request import Step
from graph.view import LiveView
from services.application import Answer, Citation, RankedPassage
from services.synthesis import Material, Written
from streams.models import ContextPart, ContextPassage


def material(view: LiveView, retrieved: Retrieved) -> Material:
    """What was retrieved as a generator reads it. Call under `view.lock.read()`. Cost: the passages and the sources."""
    return Material(
        tuple(_passage(view, one.chunk_id) for one in retrieved.passages),
        tuple(
            ContextPart(part.title, part.text, tuple(_passage(view, source) for source in part.sources))
            for part in retrieved.parts
        ),
        retrieved.synthesis,
    )


def _passage(view: LiveView, chunk_id: str) -> ContextPassage:
    number = view.chunk_numbers[chunk_id]
    chunk = view.chunks[number]
    title = view.documents[chunk.doc_id].info.title
    return ContextPassage(chunk.text, title, chunk.doc_id, chunk_id, tuple(_facts(view, number)))


def _facts(view: LiveView, chunk: int) -> Iterator[str]:
    for row in view.chunks[chunk].evidence:
        subject, object_ = view.ends(row.statement)
        predicate = view.statements[row.statement].predicate
        yield f"{view.entities[subject].name} {predicate} {view.entities[object_].name}"


def answer(retrieved: Retrieved, written: Written | None) -> Answer:
    """The answer's parts. Without generation there is no text, and nothing is cited.

    `[n]` in the text names `passages[n - 1]`: what is cited beyond what was retrieved as a passage stands behind it.
    """
    given = Written("") if written is None else written
    return Answer(
        given.text,
        tuple(Citation(one.doc_id, one.chunk_id, one.text) for one in given.cited),
        (
            *(RankedPassage(one.doc_id, one.chunk_id, one.score, one.text) for one in retrieved.passages),
            *(RankedPassage(one.doc_id, one.chunk_id, 0.0, one.text) for one in given.beyond),
        ),
        retrieved.subgraph.nodes,
        retrieved.subgraph.edges,
        retrieved.version,
        retrieved.mode,
        given.usage,
        None if retrieved.trace is None else tuple(_step(step) for step in retrieved.trace.steps),
        retrieved.parts,
        retrieved.chosen,
    )


def _step(step: Step) -> Mapping[str, object]:
    items = [{"id": item.id, "name": item.name, "score": item.score, "parts": dict(item.parts)} for item in step.items]
    return {"step": step.name, "about": step.about, "items": items}
