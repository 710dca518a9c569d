"""Candidate passages of a question: the nearest, the walk's best, those about things that it names, and linked ones.

Invariant: candidates are in the order of their chunk ids, so that a later stable ranking breaks its ties by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.options.fields import settings_from
from graphtide.graph.retrieval.options.settings import PairSettings
from graphtide.graph.retrieval.scoring import terms
from graphtide.graph.retrieval.scoring.about_links import PassageLinks, asked_names, strongest
from graphtide.graph.retrieval.scoring.pair_scoring import (
    DECADES,
    WEIGHTING,
    Candidates,
    Links,
    Positions,
    Scores,
    Weighting,
    products,
    unary_scores,
    worth,
)
from graphtide.graph.retrieval.search.walk_mass import WalkMass
from graphtide.graph.retrieval.seeds import Seeds
from graphtide.graph.retrieval.types import Question
from graphtide.graph.vector_index import Vectors, unit_halves
from graphtide.graph.vector_sum import vector_of
from graphtide.graph.view import LiveView, walk_chunks

NEAR = 100
"""The number of nearest passages in modes without an option for it."""


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """Candidates by position: their numbers in the view, their scores as openings of a pair, and the words that weigh
    them.

    `opening` (n,) scores them as firsts of a pair, `second` (n,) as seconds, but for the first. `firsts` are the
    positions of those that open a pair, ascending, `links` the links from each of them, `mean` their mean. `names` are
    the question's spans, `expanded` the passages that links were followed from, by number.
    """

    numbers: tuple[int, ...]
    candidates: Candidates
    opening: Scores
    second: Scores
    words: tuple[str, ...]
    firsts: Positions
    links: tuple[Links, ...]
    mean: Links
    names: frozenset[str]
    expanded: tuple[int, ...]
    _links: PassageLinks
    _places: Mapping[int, int]

    def links_from(self, place: int) -> Links:
        """Return the links from the candidate at a position to all of them."""
        at = np.searchsorted(self.firsts, place)
        if at < len(self.links) and self.firsts[at] == place:
            return self.links[at]
        return _links_from(self._links, (self.numbers[place],), self.numbers, self._places, self.candidates.named)[0]


def gather(
    view: LiveView,
    question: Question,
    seeds: Seeds,
    mass: WalkMass,
    admits: ChunkPredicate | None = None,
    weighting: Weighting = WEIGHTING,
) -> CandidatePool | None:
    """Return the candidates of a question, with the links between them. None when there is none at all.

    `seeds` and `mass` hold admitted passages only.

    Cost: reads at most `near + walked + named + 2 * injected` passages (PairSettings), and the links of 2 * firsts
    passages, whatever the graph's size.
    """
    if not seeds.passages:
        return None
    settings = settings_from(PairSettings, question.options)
    scale, names = (seeds.passages[-1].cosine, seeds.passages[0].cosine), asked_names(question.text)
    links = PassageLinks(view, admits)
    strengths = links.named(names)
    named = {number: strengths[number] for number in strongest(view, strengths, settings.named)}
    walked = _walked(view, mass, max(settings.walked, question.top_k) if settings.walked else 0)
    base = score_passages(view, question, walked.union(named, (hit.number for hit in seeds.passages)))
    features = base.candidates(mass, scale, named)
    best = best_first(worth(features) + features.named, weighting.firsts).tolist()
    expanded = tuple(base.numbers[place] for place in best)
    kinds = (links.about, links.mentioning)
    more = set().union(*(_injected(view, base.numbers, expanded, kind, settings.injected) for kind in kinds))
    found = base.joined(score_passages(view, question, more))
    asked, contained = _occurrences(view, question, found.numbers)
    candidates = replace(found.candidates(mass, scale, named), contained=contained, words=terms.weights(contained))
    opening, second = (unary_scores(candidates, weights) for weights in (weighting.first, weighting.second))
    firsts = np.sort(best_first(opening, weighting.firsts))
    places = {number: place for place, number in enumerate(found.numbers)}
    opening_numbers = [found.numbers[place] for place in firsts.tolist()]
    read = _links_from(links, opening_numbers, found.numbers, places, candidates.named)
    mean = Links.mean(read)
    return CandidatePool(
        found.numbers, candidates, opening, second, tuple(asked), firsts, read, mean, names, expanded, links, places
    )


def _occurrences(view: LiveView, question: Question, numbers: Sequence[int]) -> tuple[list[str], terms.Occurrences]:
    """Return the question's words that occur, and (passages, words) which passage has which, in its text or title."""
    chunks = [view.chunks[number] for number in numbers]
    documents = [view.documents.get(chunk.doc_id) for chunk in chunks]
    titles = [document.info.title if document else "" for document in documents]
    asked, contained = terms.occurrences(question.text, [*titles, *(chunk.text for chunk in chunks)])
    return asked, contained[: len(chunks)] | contained[len(chunks) :]


def _links_from(
    links: PassageLinks, numbers: Sequence[int], others: Sequence[int], places: Mapping[int, int], named: Scores
) -> tuple[Links, ...]:
    """Return the links from each of some passages to the candidates `others`, which are at `places`."""
    about = np.zeros((len(numbers), len(others)))
    for row, number in zip(about, numbers, strict=True):
        strengths = links.about(number)
        for other in strengths.keys() & places.keys():  # the larger of the two is not read whole
            row[places[other]] = strengths[other]
    about *= named == 0
    return tuple(map(Links, links.shared(numbers, others), about))


def best_first(values: Scores, count: int) -> Positions:
    """Return the positions of the `count` highest values, equal ones in their order."""
    return np.argsort(-values, kind="stable")[:count]


def _injected(
    view: LiveView,
    present: tuple[int, ...],
    expanded: tuple[int, ...],
    links: Callable[[int], dict[int, float]],
    count: int,
) -> set[int]:
    """Return the first `count` new passages that links lead to, from the best passage on, strongest links first."""
    known, found = set(present), set[int]()
    for number in expanded:
        if len(found) == count:
            break
        new = {n: strength for n, strength in links(number).items() if n not in known and n not in found}
        found.update(new if len(found) + len(new) <= count else strongest(view, new, count - len(found)))
    return found


def _walked(view: LiveView, mass: WalkMass, count: int) -> set[int]:
    """Return the `count` passages with most of the walk's mass, down to the end of its scale.

    Of equal ones the first by chunk id. Cost: linear in the nodes that the walk reached.
    """
    passages = mass.nodes % 2 == 1
    numbers, shares = mass.nodes[passages] // 2, mass.mass[passages]
    if not count or not len(numbers):
        return set()
    within = shares > shares[0] * 10.0**-DECADES
    if within.sum() > count:
        within &= shares >= shares[count - 1]
    found: list[int] = numbers[within].tolist()
    if len(found) > count:
        ranked = zip(shares[within].tolist(), found, strict=True)
        best = sorted(ranked, key=lambda hit: (-hit[0], view.chunks[hit[1]].chunk_id))
        found = [number for _, number in best[:count]]
    return set(found)


@dataclass(frozen=True, slots=True)
class ScoredPassages:
    """Passages that have a vector, by chunk id, with their vectors and their similarity to the question."""

    numbers: tuple[int, ...]
    chunk_ids: tuple[str, ...]
    vectors: Vectors
    cosine: Scores

    def joined(self, others: ScoredPassages) -> ScoredPassages:
        """Return both together; fetching a vector costs more than copying it."""
        if not others.numbers:
            return self
        numbers, names = self.numbers + others.numbers, self.chunk_ids + others.chunk_ids
        order = sorted(range(len(numbers)), key=names.__getitem__)
        vectors, cosine = np.concatenate((self.vectors, others.vectors)), np.concatenate((self.cosine, others.cosine))
        in_order = tuple(numbers[place] for place in order), tuple(names[place] for place in order)
        return ScoredPassages(*in_order, vectors[order], cosine[order])

    def candidates(
        self, mass: WalkMass, scale: tuple[float, float], named: Mapping[int, float] | None = None
    ) -> Candidates:
        """Return candidates with their similarity, the walk's mass and their names, and no words yet."""
        walk = mass.of(walk_chunks(self.numbers))
        names = np.array([named.get(number, 0.0) for number in self.numbers]) if named else np.zeros(len(self.numbers))
        contained = np.zeros((len(self.numbers), 0), dtype=bool)
        return Candidates(self.cosine, walk, names, self.vectors, contained, np.zeros(0), scale)


def score_passages(view: LiveView, question: Question, found: Iterable[int]) -> ScoredPassages:
    """Return the passages that have a vector, with their similarity to the question. Cost: linear in them."""
    rows = [(row.chunk_id, number, row.vector_bytes) for number in found if (row := view.chunks[number]).vector_bytes]
    if not rows:
        return ScoredPassages((), (), np.zeros((0, view.indexes.chunks.dimensions), np.float32), np.zeros(0))
    rows.sort()
    names, numbers, parts = zip(*rows, strict=True)
    vectors = unit_halves(vector_of(b"".join(parts)).reshape(len(rows), -1))
    unit = question.vector / np.float32(np.linalg.norm(question.vector) or 1)
    return ScoredPassages(numbers, names, vectors, products(vectors, unit.astype(np.float32)))


def titled(view: LiveView, number: int) -> str:
    """Return a passage's text under the title of its document."""
    chunk = view.chunks[number]
    document = view.documents.get(chunk.doc_id)
    return f"{document.info.title}\n{chunk.text}" if document else chunk.text
