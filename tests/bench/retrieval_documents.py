"""Losses and learned weights of modes `dynagrag` and `nakg`: `python -m tests.bench.retrieval_documents`.

Prints, over the MuSiQue corpus with exact indexes: the number of ego-graphs that a document changes, and the loss from
examining only the centres of a question; whether learned edges separate pairs that were not learned from; the other
documents of a chain, found by learned weights and by shared entities; and the variants of propagation on both halves of
the questions. It asserts nothing.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from graphtide.graph.relatedness import Weights
from graphtide.graph.relatedness.features import SCALE, whole_cosines
from graphtide.graph.relatedness.pairs import Pair
from graphtide.graph.relatedness.statistics import UNTRAINED, SufficientStatistics, fit_weights, pair_is_titled
from graphtide.graph.retrieval import Question
from graphtide.graph.retrieval.dynagrag import Dynagrag
from graphtide.graph.retrieval.dynagrag.egographs import EgoGraph, EgoGraphs
from graphtide.graph.retrieval.dynagrag.embedding import cosines, gather, total_embeddings
from graphtide.graph.retrieval.dynagrag.selection import EgoGraphSelection, select
from graphtide.graph.retrieval.nakg import Related, related_documents
from graphtide.graph.retrieval.scoring.candidates import NEAR
from graphtide.graph.retrieval.scoring.links import entities_of
from graphtide.graph.retrieval.seeds import find_seeds
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView
from tests.bench.retrieval_ablations import VARIANTS, mode
from tests.bench.retrieval_asking import Asked, Method, answered, documents
from tests.bench.retrieval_graph import DIMENSIONS, Shipped, build, copies, extractions
from tests.support.bench_data import MultiHop, corpus, questions, recall

EVERY = 10_000  # more than the number of documents related to any one


def main() -> None:
    shipped, asked = Shipped.read(), questions()
    view = build(copies(extractions(corpus(), shipped), 1), lambda: ExactIndex(DIMENSIONS))
    ego_graphs(view, [Question(one.question, shipped.vectors[shipped.rows[one.question]]) for one in asked])
    learned(view)
    chains(view, asked)
    halves(view, Asked(asked, [shipped.vectors[shipped.rows[one.question]] for one in asked]))


def ego_graphs(view: LiveView, asked: list[Question]) -> None:
    around, before = EgoGraphs(view, None, Dynagrag().caps), time.thread_time()
    egos = [around.around(node) for node in sorted(view.entities, key=view.entity_id)]
    totals = total_embeddings(egos, gather(view, egos))
    each_ms = 1000 * (time.thread_time() - before) / len(egos)
    touched = list(touching(view, egos))
    print(f"{len(egos)} ego-graphs of {np.mean([len(ego.nodes) for ego in egos]):.1f} entities, {each_ms:.2f} ms each")
    print(f"a document touches {np.mean(touched):.0f} of them, at most {max(touched)}")
    found, lost = [], []
    for question in asked:
        similarity = cosines(totals, question.vector.astype(np.float64))
        best = np.argsort(-similarity, kind="stable")[: Dynagrag().subgraphs]
        taken = chosen(view, question, diversity=False).chosen
        centres = {one.ego.centre for one in taken}
        found.append(len(centres & {egos[place].centre for place in best}) / len(best))
        lost.append(similarity[best].mean() - np.mean([one.similarity for one in taken]))
    print(f"of the best of all, looked at: {np.mean(found):.2f}; mean similarity lost: {np.mean(lost):.3f}")
    for on in (True, False):
        shared = [value for question in asked for value in overlaps(chosen(view, question, diversity=on))]
        print(f"entities that two chosen subgraphs share, diversity {on}: {np.mean(shared):.2f}")


def touching(view: LiveView, egos: list[EgoGraph]) -> Iterator[int]:
    """Return for each passage the number of ego-graphs that hold an entity of it."""
    holding: dict[int, set[int]] = defaultdict(set)
    for place, ego in enumerate(egos):
        for node in ego.nodes:
            holding[node].add(place)
    for chunk in view.chunks:
        yield len(set().union(*(holding[node] for node in entities_of(view, chunk))))


def chosen(view: LiveView, question: Question, *, diversity: bool) -> EgoGraphSelection:
    seeds = find_seeds(view, question.vector, None, NEAR)
    return select(view, question.vector, seeds, None, Dynagrag(diversity=diversity))


def overlaps(choice: EgoGraphSelection) -> Iterator[float]:
    """Return the Jaccard similarity of every two."""
    held = [set(one.ego.nodes) for one in choice.chosen]
    for place, one in enumerate(held):
        yield from (len(one & other) / len(one | other) for other in held[place + 1 :])


def learned(view: LiveView, seed: int = 0) -> None:
    """Learn from four fifths of the pairs and rank the rest: the share of (related, chance) ranked rightly."""
    rng = np.random.default_rng(seed)
    examples, train, held = view.relatedness.examples(), [], []
    for pairs in examples:
        order = rng.permutation(len(pairs)).tolist()
        cut = len(order) * 4 // 5
        kind = SufficientStatistics()
        kind.add([pairs[place] for place in order[:cut]])
        train.append(kind)
        held.append([pairs[place] for place in order[cut:]])
    fit = fit_weights(*train)
    print(fit)
    print(f"held-out pairs ranked rightly: learned {area(fit, held):.3f}, by cosine {area(UNTRAINED, held):.3f}")


def area(weights: Weights, kinds: list[list[Pair]]) -> float:
    """Return the area under the ROC curve of the first kind of pairs against the second."""
    scores = []
    for pairs in kinds:
        cosine = whole_cosines([one.vector for one, _, _ in pairs], [other.vector for _, other, _ in pairs]) / SCALE
        scores.append(weights.log_odds(cosine, np.array([pair_is_titled(pair) for pair in pairs])))
    below = np.sort(scores[1])
    ranks = np.searchsorted(below, scores[0], "left") + np.searchsorted(below, scores[0], "right")
    return float(ranks.mean() / 2 / len(below))


def chains(view: LiveView, asked: list[MultiHop]) -> None:
    orders: dict[str, Callable[[Related], float]] = {
        "learned weight": lambda one: one.weight,
        "what is shared": lambda one: one.shared,
        "both": lambda one: one.score,
    }
    cases = [(doc_id, one.supporting - {doc_id}) for one in asked for doc_id in sorted(one.supporting)]
    related = {doc_id: related_documents(view, doc_id, EVERY) for doc_id, _ in cases}
    print(f"the others of a chain, {len(cases)} cases: recall@2, @5, @10")
    ranked = {name: {doc_id: by(found, value) for doc_id, found in related.items()} for name, value in orders.items()}
    ranked["cosine"] = {doc_id: by_cosine(view, doc_id) for doc_id in related}
    for name, orders_of in ranked.items():
        recalls = (np.mean([recall(orders_of[one], others, k) for one, others in cases]) for k in (2, 5, 10))
        print(f"{name:16}", *(f"{value:.3f}" for value in recalls))


def halves(view: LiveView, ask: Asked) -> None:
    methods: dict[str, Method] = {"vector": mode("vector"), **VARIANTS["nakg"]}
    cut = len(ask.questions) // 2
    print("recall@2, @5, @10, @20 of all questions, of the first half, of the second")
    for name, method in methods.items():
        recalls = ask.recalls(map(documents, answered(view, ask, method)))
        rows = (recalls, recalls[:cut], recalls[cut:])
        print(f"{name:40}", *("  ".join(f"{value:.3f}" for value in row.mean(axis=0)) + " |" for row in rows))


def by(found: tuple[Related, ...], value: Callable[[Related], float]) -> list[str]:
    return [one.doc_id for one in sorted(found, key=lambda one: (-value(one), one.doc_id))]


def by_cosine(view: LiveView, doc_id: str) -> list[str]:
    """Return the documents of the passages nearest to a document's first."""
    own = view.indexes.chunks.vectors(np.array(view.documents[doc_id].chunks[:1]))
    ids = view.indexes.chunks.search(own, 20).ids[0].tolist()
    return [name for name in dict.fromkeys(view.chunks[number].doc_id for number in ids) if name != doc_id]


if __name__ == "__main__":
    main()
