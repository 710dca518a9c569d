"""The passages a question may be answered with, and the entities that lead from one to another.

Not a ranking. Invariant: candidates are in the order of their chunk ids, so that whatever is ranked afterwards with a
stable order breaks its ties by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graph.retrieval import terms
from graph.retrieval.evidence import DECADES, Candidates, Positions, Scores, Weighting, singles
from graph.retrieval.filters import Admits
from graph.retrieval.request import Question
from graph.retrieval.seeds import Seeds
from graph.vector_index import similarities
from graph.view import LiveView, walk_chunk

NEAR = 100
WALKED = 100
HUB = 20  # an entity of more passages leads nowhere in particular, and would make every question dear


@dataclass(frozen=True, slots=True)
class Bridge:
    """The most specific entity that two passages share."""

    strength: float
    node: int


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates by position: their numbers in the view, what each is worth by itself, the words they were judged by.

    `firsts` are the positions of those that open a pair, and `led_to[i]` the passages that firsts[i] leads to.
    """

    numbers: tuple[int, ...]
    candidates: Candidates
    worth: Scores
    words: tuple[str, ...]
    firsts: Positions
    led_to: tuple[dict[int, Bridge], ...]

    def bridge_strengths(self, row: int) -> Scores:
        """How strongly firsts[row] leads to each candidate, (n,) in [0, 1]."""
        led_to = self.led_to[row]
        return np.array([led_to[number].strength if number in led_to else 0.0 for number in self.numbers])


def gather(
    view: LiveView, question: Question, seeds: Seeds, mass: Mapping[int, float], admits: Admits | None
) -> Pool | None:
    """The nearest passages, the walk's best, and what the best of both lead to. None when there is none at all.

    `seeds` and `mass` hold admitted passages only.

    Cost: reads at most NEAR + WALKED + firsts * entities of a passage * HUB passages, whatever the graph's size.
    """
    weighting = Weighting()
    found = {hit.number for hit in seeds.passages} | _walked(view, mass, max(WALKED, question.top_k))
    near = _in_order(view, found)
    if not near:
        return None
    scale = (seeds.passages[-1].cosine, seeds.passages[0].cosine) if seeds.passages else (0.0, 1.0)
    opening = _measured(view, question, near, mass, scale)
    chosen = best_first(singles(opening, weighting), weighting.firsts)
    led_to = {near[position]: bridges(view, near[position], admits) for position in chosen}
    numbers = _in_order(view, found.union(*led_to.values()))
    asked, held = terms.occurrences(question.text, [titled(view, number) for number in numbers])
    measured = _measured(view, question, numbers, mass, scale)
    candidates = replace(measured, held=held, words=terms.weights(held))
    firsts = np.array([position for position, number in enumerate(numbers) if number in led_to], dtype=np.intp)
    bridged = tuple(led_to[numbers[position]] for position in firsts)
    return Pool(numbers, candidates, singles(candidates, weighting), tuple(asked), firsts, bridged)


def bridges(view: LiveView, number: int, admits: Admits | None) -> dict[int, Bridge]:
    """The passages that share an entity with this one, and by which. Entities of more than HUB passages lead nowhere.

    An entity of n passages has strength 1 / (1 + ln n): 0.59 when it is in these two alone.
    """
    reached: dict[int, Bridge] = {}
    shared = [node for node in entities_of(view, number) if 2 <= len(view.entities[node].chunks) <= HUB]
    # The most specific first, so that the first to lead somewhere is the strongest.
    for node in sorted(shared, key=lambda node: (len(view.entities[node].chunks), view.entity_id(node))):
        chunks = view.entities[node].chunks
        bridge = Bridge(1 / (1 + math.log(len(chunks))), node)
        for chunk in chunks:
            if chunk != number and (admits is None or admits(chunk)):
                reached.setdefault(chunk, bridge)
    return reached


def entities_of(view: LiveView, chunk: int) -> set[int]:
    """The entities a passage mentions."""
    return {view.labels[mention.label].node for mention in view.chunks[chunk].mentions}


def best_first(values: Scores, count: int) -> Positions:
    """Positions of the `count` highest values, equal ones in the order they stand."""
    return np.argsort(-values, kind="stable")[:count]


def _walked(view: LiveView, mass: Mapping[int, float], count: int) -> set[int]:
    """The passages where the walk stays most, as far down as its scale reaches."""
    reached = {node // 2: share for node, share in mass.items() if node % 2}
    least = max(reached.values(), default=0.0) * 10.0**-DECADES
    within = (n for n, share in reached.items() if share > least)
    best = sorted(within, key=lambda n: (-reached[n], view.chunks[n].chunk_id))
    return set(best[:count])


def _in_order(view: LiveView, numbers: Iterable[int]) -> tuple[int, ...]:
    """The numbers that have a vector, by chunk id."""
    return tuple(sorted((n for n in numbers if n in view.indexes.chunks), key=lambda n: view.chunks[n].chunk_id))


def _measured(
    view: LiveView,
    question: Question,
    numbers: Sequence[int],
    mass: Mapping[int, float],
    scale: tuple[float, float],
) -> Candidates:
    """Candidates with their similarity and the walk's mass, and no words looked at yet."""
    vectors = view.indexes.chunks.vectors(np.array(numbers, dtype=np.int64))
    unit = question.vector / np.float32(np.linalg.norm(question.vector) or 1)
    cosine = similarities(unit.astype(np.float32), vectors).astype(np.float64)
    walk = np.array([mass.get(walk_chunk(number), 0.0) for number in numbers])
    return Candidates(cosine, walk, vectors, np.zeros((len(numbers), 0), dtype=bool), np.zeros(0), scale)


def titled(view: LiveView, number: int) -> str:
    """A passage's text under the title of its document, which it does not repeat."""
    chunk = view.chunks[number]
    document = view.documents.get(chunk.doc_id)
    return f"{document.info.title}\n{chunk.text}" if document else chunk.text
