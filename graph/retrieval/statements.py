"""Statements between two entities, and the text of a statement."""

from __future__ import annotations

from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.seeds import statement_key
from graphtide.graph.view import LiveView


def between(view: LiveView, one: int, other: int, admits: ChunkPredicate | None) -> list[int]:
    """Return the statements that relate two entities in an admitted passage, the heaviest first, equal ones by name.

    Cost: the statements of the end that has fewer.
    """
    end = min((one, other), key=lambda node: sum(len(view.labels[n].statements) for n in view.entities[node].labels))
    both = {one, other}
    found = {number for number in view.statements_of(end) if set(view.ends(number)) == both}
    stated = (number for number in found if supporting_passages(view, number, admits))
    return sorted(stated, key=lambda number: (-view.statements[number].weight_milli, statement_key(view, number)))


def supporting_passages(view: LiveView, number: int, admits: ChunkPredicate | None) -> list[int]:
    """Return the admitted passages that support a statement, by chunk id."""
    admitted = (chunk for chunk in view.statements[number].chunks if admits is None or admits(chunk))
    return sorted(admitted, key=lambda chunk: view.chunks[chunk].chunk_id)


def verbalise(view: LiveView, number: int) -> str:
    """Return a statement as text, by the names of its entities."""
    subject, object_ = (view.entities[end].name for end in view.ends(number))
    return f"{subject} — {view.predicate_of(number)} → {object_}"


def listed(names: list[str]) -> str:
    """Return names as a list in a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
