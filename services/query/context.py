"""Conversion of retrieval results: context for the generator, citations, the fields of an `Answer`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from graphtide.graph.retrieval.types import RetrievalResult, TraceStep
from graphtide.graph.validity.intervals import ValidityInterval, ValidityReader
from graphtide.graph.view import LiveView
from graphtide.services.application import Answer, RankedPassage
from graphtide.services.query.citations import citations
from graphtide.services.query.generate import AnswerContext, WrittenAnswer
from graphtide.streams.model_ports import ContextPart, ContextPassage


def build_context(
    view: LiveView,
    retrieved: RetrievalResult,
    as_of: str = "",
    background: Sequence[str] = (),
    *,
    with_facts: bool = True,
) -> AnswerContext:
    """Return the retrieval result as context for the generator, with facts valid at `as_of`, or now.

    `background` are the ids of further passages. Without `with_facts`, for an answer that no generator writes, the
    passages have neither facts nor outdated sentences.

    Call under `view.lock.read()`. Cost: the passages and the sources; with facts, the claims that compete with theirs.
    """
    validity = ValidityReader(view, as_of) if with_facts else None
    return AnswerContext(
        tuple(_passage(view, passage.chunk_id, validity) for passage in retrieved.passages),
        tuple(
            ContextPart(part.title, part.text, tuple(_passage(view, source, validity) for source in part.sources))
            for part in retrieved.parts
        ),
        retrieved.synthesis,
        tuple(_passage(view, chunk_id, validity) for chunk_id in background),
    )


def _passage(view: LiveView, chunk_id: str, validity: ValidityReader | None) -> ContextPassage:
    number = view.chunk_numbers[chunk_id]
    chunk = view.chunks[number]
    info = view.documents[chunk.doc_id].info
    facts = tuple(_facts(view, number, validity)) if validity else ()
    outdated = _outdated(view, number, validity) if validity else ()
    return ContextPassage(
        chunk.text, info.title, chunk.doc_id, chunk_id, facts, outdated, chunk.place, info.occurred_at, chunk.ordinal
    )


def _facts(view: LiveView, chunk: int, validity: ValidityReader) -> Iterator[str]:
    for row in filter(validity.in_force, view.chunks[chunk].evidence):
        subject, object_ = view.ends(row.statement)
        predicate = view.predicate_of(row.statement)
        fact = f"{view.entities[subject].name} {predicate} {view.entities[object_].name}"
        yield fact + _times(validity.of_support(row))


def _outdated(view: LiveView, chunk: int, validity: ValidityReader) -> tuple[str, ...]:
    """Return the sentences that state no valid fact; the whole passage if its supplied facts have no sentences."""
    valid: dict[str, bool] = {}
    for row in view.chunks[chunk].evidence:
        over = not validity.in_force(row) if validity.asked else validity.of_support(row).ended_by is not None
        valid[row.sentence] = valid.get(row.sentence, False) or not over
    if valid == {"": False}:
        return (view.chunks[chunk].text,)
    return tuple(sorted(sentence for sentence, is_valid in valid.items() if sentence and not is_valid))


def _times(interval: ValidityInterval) -> str:
    """Return the validity of a fact in words, "" if unknown."""
    times = [f"from {interval.valid_from}"] if interval.valid_from else []
    times += [f"until {interval.valid_to}"] if interval.valid_to else []
    times += [f"no longer true, it is {interval.superseding_value} now"] if interval.ended_by else []
    return f" ({', '.join(times)})" if times else ""


def compose_answer(retrieved: RetrievalResult, used: AnswerContext, written: WrittenAnswer | None) -> Answer:
    """Return the answer. Without generation it has no text and no citations. `used` is the context of the result.

    `[n]` in the text names `passages[n - 1]`: cited chunks that were not retrieved as passages follow the passages.
    """
    given = WrittenAnswer("") if written is None else written
    return Answer(
        given.text,
        citations(given.text, (*used.passages, *given.beyond)),
        (
            *(
                _ranked(passage, ranked.score)
                for ranked, passage in zip(retrieved.passages, used.passages, strict=True)
            ),
            *(_ranked(passage, 0.0) for passage in given.beyond),
        ),
        retrieved.subgraph.nodes,
        retrieved.subgraph.edges,
        retrieved.version,
        retrieved.mode,
        given.usage,
        None if retrieved.trace is None else tuple(_step(step) for step in retrieved.trace.steps),
        retrieved.parts,
        retrieved.mode_reason,
    )


def _ranked(passage: ContextPassage, score: float) -> RankedPassage:
    return RankedPassage(passage.doc_id, passage.chunk_id, score, passage.text, passage.title, passage.place)


def _step(step: TraceStep) -> Mapping[str, object]:
    items = [{"id": item.id, "name": item.name, "score": item.score, "parts": dict(item.parts)} for item in step.items]
    return {"step": step.name, "about": step.about, "items": items}
