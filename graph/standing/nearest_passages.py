"""Evaluations in the mode `vector` without filters: those that a commit affects are made together.

The evidence of such a question is the `top_k` passages nearest to it. A commit that added or changed passages near it
is merged into the passages before; one that leaves less than `top_k` of them as near as the last one needs a search.
Both are made for all affected questions at once: one matrix product finds the pairs of a question and a passage, one
search the rest.

Invariant: the evidence of a slot is that of `retrieve` with `exact` at the last version. The passages that are kept
are all whose similarity reaches that of the last one of the evidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphtide.graph.retrieval.question_vector import QuestionVector
from graphtide.graph.retrieval.seeds import TIES, Hit, by_name, nearest_with_ties
from graphtide.graph.retrieval.time_limits import is_time_limited
from graphtide.graph.retrieval.types import Filters, Question
from graphtide.graph.standing.bounds import BoundedVectors
from graphtide.graph.standing.changed_rows import ChangedRows
from graphtide.graph.standing.types import Evidence, EvidencePassage
from graphtide.graph.vector_index import PADDING, VectorIndex, Vectors
from graphtide.graph.view import LiveView

Ranked = tuple[float, str, int, EvidencePassage]
"""Negative similarity, chunk id, number and passage: ascending order is the order of the evidence."""
SEARCHED = 256
"""Questions of one search."""


@dataclass(slots=True)
class _Kept:
    """A question and the passages nearest to it, with all that are as similar as the last one."""

    vector: QuestionVector
    top_k: int
    ranked: tuple[Ranked, ...] = ()

    def evidence(self) -> Evidence:
        return tuple(each[3] for each in self.ranked[: self.top_k])

    def bound(self) -> float:
        """Return the similarity that another passage must reach."""
        return -self.ranked[self.top_k - 1][0] if len(self.ranked) >= self.top_k else -np.inf


class NearestPassages:
    """The evaluations by slot, a small number of the caller. Every method is called under `view.lock.read()`."""

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}
        self._bounds = BoundedVectors()
        self._by_row: dict[int, set[int]] = {}

    def __len__(self) -> int:
        """Return the number of slots in use."""
        return len(self._kept)

    def admits(self, question: Question) -> bool:
        """Return True for a question that may have a slot: its result depends on similarity alone."""
        if question.mode != "vector" or question.filters != Filters() or question.options or is_time_limited(question):
            return False
        same_length = self._bounds.dimensions in (0, question.vector.size)
        return same_length and bool(np.any(question.vector))

    def put(self, view: LiveView, questions: Mapping[int, Question]) -> dict[int, Evidence]:
        """Evaluate admitted questions, each in a slot that is free, and return the evidence."""
        for slot, question in questions.items():
            self._kept[slot] = _Kept(question.vector, question.top_k)
            self._bounds.put(slot, question.vector, -np.inf)
        return self._search(view, questions)

    def drop(self, slot: int) -> None:
        """Free a slot; one that is not in use is ignored."""
        kept = self._kept.pop(slot, None)
        if kept is not None:
            self._unlink(slot, (each[2] for each in kept.ranked))
            self._bounds.drop(slot)

    def advance(self, view: LiveView, changed: ChangedRows) -> dict[int, Evidence]:
        """Return the evidence of each slot that the commit can affect.

        Cost: slots * new passages * dimensions for the product; for an affected slot its passages, and a search if one
        of them changed.
        """
        if not self._kept:
            return {}
        if changed.whole:
            return self._search(view, list(self._kept))
        near = self._near(view, changed.added)
        found, anew = dict[int, Evidence](), list[int]()
        for slot in near.keys() | {slot for number in changed.chunks for slot in self._by_row.get(number, ())}:
            if self._merge(slot, near.get(slot, ()), changed.chunks):
                found[slot] = self._kept[slot].evidence()
            else:
                anew.append(slot)
        return found | self._search(view, sorted(anew))

    def _near(self, view: LiveView, added: Iterable[int]) -> dict[int, list[Ranked]]:
        """Return the new passages whose similarity to a question may reach its bound, by slot."""
        index = view.exact_indexes().chunks
        numbers = np.array(sorted(number for number in added if number in index), np.int64)
        found: dict[int, list[Ranked]] = defaultdict(list)
        if not numbers.size:
            return found
        vectors = index.vectors(numbers)
        if vectors.shape[1] != self._bounds.dimensions:
            raise ValueError(
                f"passages have {vectors.shape[1]} dimensions, and questions {self._bounds.dimensions};"
                " embed the questions again"
            )
        passages = [(number, _passage(view, number)) for number in numbers.tolist()]
        for slots, rows, cosines in self._bounds.pairs(vectors):
            for slot, row, cosine in zip(slots.tolist(), rows.tolist(), cosines.tolist(), strict=True):
                if cosine >= self._kept[slot].bound():
                    number, passage = passages[row]
                    found[slot].append(_ranked(number, passage, cosine))
        return found

    def _merge(self, slot: int, near: Sequence[Ranked], changed: Collection[int]) -> bool:
        """Merge the changed passages that are near into those of the slot. Return False if a search is necessary.

        Every other passage is farther than the last one was, so `top_k` passages as near as that are the result.
        """
        kept = self._kept[slot]
        bound = -kept.bound()
        ranked = [each for each in kept.ranked if each[2] not in changed]
        ranked += [each for each in near if each[0] <= bound]
        if len(ranked) < kept.top_k and len(kept.ranked) >= kept.top_k:
            return False
        ranked.sort()
        self._set(slot, kept, ranked)
        return True

    def _search(self, view: LiveView, slots: Collection[int]) -> dict[int, Evidence]:
        """Search for the passages of each slot. Cost: the passages of the graph for each."""
        by_count: dict[int, list[int]] = defaultdict(list)
        for slot in slots:
            by_count[self._kept[slot].top_k].append(slot)
        index, passages = view.exact_indexes().chunks, dict[int, EvidencePassage]()
        for count, some in by_count.items():
            for start in range(0, len(some), SEARCHED):
                portion = some[start : start + SEARCHED]
                vectors = np.stack([self._kept[slot].vector for slot in portion])
                for slot, hits in zip(portion, _nearest(view, index, vectors, count), strict=True):
                    for hit in hits:
                        if hit.number not in passages:
                            passages[hit.number] = _passage(view, hit.number)
                    ranked = [_ranked(hit.number, passages[hit.number], hit.cosine) for hit in hits]
                    self._set(slot, self._kept[slot], ranked)
        return {slot: self._kept[slot].evidence() for slot in slots}

    def _set(self, slot: int, kept: _Kept, ranked: list[Ranked]) -> None:
        """Keep the first `top_k` of the passages, and those that are as similar as the last of them."""
        count = len(ranked)
        if count > kept.top_k:
            last = ranked[kept.top_k - 1][0]
            while ranked[count - 1][0] > last:
                count -= 1
        before, after = [each[2] for each in kept.ranked], [each[2] for each in ranked[:count]]
        kept.ranked = tuple(ranked[:count])
        self._bounds.move(slot, kept.bound())
        if before != after:
            self._unlink(slot, set(before).difference(after))
            for number in set(after).difference(before):
                self._by_row.setdefault(number, set()).add(slot)

    def _unlink(self, slot: int, numbers: Iterable[int]) -> None:
        for number in numbers:
            slots = self._by_row[number]
            slots.discard(slot)
            if not slots:
                del self._by_row[number]


def _passage(view: LiveView, number: int) -> EvidencePassage:
    """Return a passage without a score."""
    chunk = view.chunks[number]
    return EvidencePassage(chunk.doc_id, chunk.chunk_id, 0.0)


def _ranked(number: int, passage: EvidencePassage, cosine: float) -> Ranked:
    return -cosine, passage.chunk_id, number, EvidencePassage(passage.doc_id, passage.chunk_id, cosine)


def _nearest(view: LiveView, index: VectorIndex, vectors: Vectors, count: int) -> Iterator[list[Hit]]:
    """Yield the hits of `nearest_with_ties` for each of the vectors, by one search."""
    if not len(index):
        yield from ([] for _ in vectors)
        return

    def key(number: int) -> str:
        return view.chunks[number].chunk_id

    found = index.search(vectors.astype(np.float32), count + TIES)
    for vector, ids, cosines in zip(vectors, found.ids, found.similarities, strict=True):
        if cosines[-1] == cosines[count - 1] > -np.inf:  # more may be as similar than the search returned
            yield list(nearest_with_ties(index, vector, count, key, None))
            continue
        rows = zip(ids.tolist(), cosines.tolist(), strict=True)
        last = float(cosines[count - 1])
        hits = [Hit(number, key(number), cosine) for number, cosine in rows if number != PADDING and cosine >= last]
        yield list(by_name(hits))
