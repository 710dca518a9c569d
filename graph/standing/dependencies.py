"""The index from changed rows to the evaluations that they can affect.

Invariant: an evaluation that is not in `affected(changed)` would return the same evidence after the commit as before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.retrieval.question_vector import QuestionVector
from graphtide.graph.retrieval.seeds import Seeds
from graphtide.graph.standing.bounds import BoundedVectors
from graphtide.graph.standing.changed_rows import ChangedRows
from graphtide.graph.standing.evaluation import NAME_PLACES, NEVER, Dependencies, Numbers, name_places

Marks = NDArray[np.bool_]


class DependencyIndex:
    """Dependencies by slot, a small number of the caller.

    Memory: the vectors; for `vector` some ten rows, for modes that walk some thousand nodes for each slot.
    """

    def __init__(self) -> None:
        self._dependencies: dict[int, Dependencies] = {}
        self._chunks, self._entities, self._statements = BoundedVectors(), BoundedVectors(), BoundedVectors()
        self._by_row: dict[int, set[int]] = {}
        self._walks: dict[int, Numbers] = {}
        self._everything: set[int] = set()

    def __len__(self) -> int:
        """Return the number of slots in use."""
        return len(self._dependencies)

    def put(self, slot: int, vector: QuestionVector, dependencies: Dependencies) -> None:
        """Set the dependencies of a slot."""
        self._forget(slot)
        self._dependencies[slot] = dependencies
        self._everything.add(slot) if dependencies.everything else self._everything.discard(slot)
        if dependencies.everything:
            self._drop_bounds(slot)
            return
        self._chunks.put(slot, vector, dependencies.bounds.chunks)
        for number in dependencies.rows:
            self._by_row.setdefault(number, set()).add(slot)
        if dependencies.nodes is not None:
            self._walks[slot] = dependencies.nodes
            self._entities.put(slot, vector, dependencies.bounds.entities)
            self._statements.put(slot, vector, dependencies.bounds.statements)

    def drop(self, slot: int) -> None:
        """Forget a slot."""
        self._forget(slot)
        self._everything.discard(slot)
        self._drop_bounds(slot)

    def affected(self, changed: ChangedRows) -> dict[int, Seeds | None]:
        """Return the slots whose evidence the commit can change, each with the hits of its searches if these are valid.

        Cost: slots * changed vectors, and the walks.
        """
        if changed.whole:
            return dict.fromkeys(self._dependencies)
        searched = set(self._everything)
        searched.update(self._chunks.reached(changed.chunk_vectors).tolist())
        found = set(searched)
        for number in changed.chunks:
            found.update(self._by_row.get(number, ()))
        if self._walks:
            searched.update(self._entities.reached(changed.entity_vectors).tolist())
            searched.update(self._statements.reached(changed.statement_vectors).tolist())
            found |= searched
            found.update(self._walked(changed, found))
        return {
            slot: None if slot in searched else _still_valid(self._dependencies[slot], changed)
            for slot in found & self._dependencies.keys()
        }

    def _walked(self, changed: ChangedRows, found: set[int]) -> set[int]:
        left = [slot for slot in self._walks if slot not in found]
        wide = [slot for slot in left if self._dependencies[slot].wide]
        narrow = [slot for slot in left if not self._dependencies[slot].wide]
        names = np.zeros(NAME_PLACES, np.bool_)
        names[name_places(changed.names)] = True
        reached = self._near(narrow, changed.lowered_neighbours, changed, names)
        return reached | self._near(wide, changed.neighbours, changed, names)

    def _near(
        self, slots: list[int], nodes: Callable[[], frozenset[int] | None], changed: ChangedRows, names: Marks
    ) -> set[int]:
        near = nodes() if slots else frozenset()
        if near is None:
            return set(slots)
        marks = np.zeros(max(near, default=0) + 2, np.bool_)
        marks[list(near)] = True
        return {slot for slot in slots if self._reads(slot, changed, marks, names)}

    def _reads(self, slot: int, changed: ChangedRows, marks: Marks, names: Marks) -> bool:
        own, nodes = self._dependencies[slot], self._walks[slot]
        return (
            not own.statements.isdisjoint(changed.statements)
            or not own.documents.isdisjoint(changed.documents)
            or bool(marks[nodes[nodes < len(marks)]].any())
            or (own.names is not None and bool(names[own.names].any()))
        )

    def _drop_bounds(self, slot: int) -> None:
        for vectors in (self._chunks, self._entities, self._statements):
            vectors.drop(slot)

    def _forget(self, slot: int) -> None:
        dropped = self._dependencies.pop(slot, None)
        self._walks.pop(slot, None)
        for number in dropped.rows if dropped is not None and not dropped.everything else ():
            slots = self._by_row[number]
            slots.discard(slot)
            if not slots:
                del self._by_row[number]
        if dropped is not None and dropped.nodes is not None:
            self._drop_bounds(slot)


__all__ = ["NEVER", "DependencyIndex"]


def _still_valid(dependencies: Dependencies, changed: ChangedRows) -> Seeds | None:
    """Return the hits of an evaluation that no changed row entered; None if one of them changed."""
    searched = dependencies.searched
    if (
        searched is None
        or not dependencies.ends.isdisjoint(changed.nodes)
        or not dependencies.statements.isdisjoint(changed.statements)
    ):
        return None
    return None if any(hit.number in changed.chunks for hit in searched.passages) else searched
