"""Losses and learned weights of modes `dynagrag` and `nakg`: `python -m tests.bench.retrieval_documents`.

Prints, over the MuSiQue corpus with exact indexes: the number of ego-graphs that a document changes, and the loss from
examining only the centres of a question; how the masks of `dynagrag` separate what supporting passages mention, without
having learned from these; whether learned edges separate pairs that were not learned from; the other
documents of a chain, found by learned weights and by shared entities; and the variants of propagation on both halves of
the questions. It asserts nothing.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from graphtide.graph.learning import fit_discriminant
from graphtide.graph.relatedness import Weights
from graphtide.graph.relatedness.features import SCALE, whole_cosines
from graphtide.graph.relatedness.pairs import Pair
from graphtide.graph.relatedness.statistics import UNTRAINED, SufficientStatistics, fit_weights, pair_is_titled
from graphtide.graph.retrieval.dynagrag.egographs import EgoGraph, EgoGraphs
from graphtide.graph.retrieval.dynagrag.embedding import cosines, gather, total_embeddings
from graphtide.graph.retrieval.dynagrag.learning import MaskModel, MaskWeights
from graphtide.graph.retrieval.dynagrag.learning.mask_model import PASSAGES
from graphtide.graph.retrieval.dynagrag.learning.pseudo_questions import NodeReads, pseudo_example, two_hop_path
from graphtide.graph.retrieval.dynagrag.learning.sample import PassageSample
from graphtide.graph.retrieval.dynagrag.mode import pruned_subgraphs
from graphtide.graph.retrieval.dynagrag.selection import EgoGraphSelection, select, widened
from graphtide.graph.retrieval.dynagrag.settings import Dynagrag
from graphtide.graph.retrieval.nakg.related import Related, related_documents
from graphtide.graph.retrieval.question_vector import QuestionVector
from graphtide.graph.retrieval.scoring.candidates import NEAR
from graphtide.graph.retrieval.scoring.links import entities_of
from graphtide.graph.retrieval.seeds import find_seeds
from graphtide.graph.retrieval.types import Question
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView
from tests.bench.retrieval_ablations import VARIANTS, mode
from tests.bench.retrieval_asking import Asked, Method, answered, documents
from tests.bench.retrieval_graph import DIMENSIONS, Shipped, build, copies, extractions
from tests.support.bench_data import MultiHop, corpus, questions, recall

Marked = tuple[list[float], list[bool]]
"""Scores, and which of them are of what a question is about."""

EVERY = 10_000  # more than the number of documents related to any one


def main() -> None:
    shipped, asked = Shipped.read(), questions()
    view = build(copies(extractions(corpus(), shipped), 1), lambda: ExactIndex(DIMENSIONS))
    ego_graphs(view, [Question(one.question, shipped.vectors[shipped.rows[one.question]]) for one in asked])
    masks(view, asked, [shipped.vectors[shipped.rows[one.question]] for one in asked])
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
    node_sets = [set(one.ego.nodes) for one in choice.chosen]
    for place, one in enumerate(node_sets):
        yield from (len(one & other) / len(one | other) for other in node_sets[place + 1 :])


def masks(view: LiveView, asked: list[MultiHop], vectors: list[QuestionVector]) -> None:
    """Compare masks by the area under the ROC curve: over all subgraphs of all questions, and within each subgraph."""
    gold = {number for one in asked for doc_id in one.supporting for number in view.documents[doc_id].chunks}
    learned = mask_weights(view, gold)
    areas: dict[str, tuple[list[Marked], list[Marked]]] = defaultdict(lambda: ([], []))
    for one, vector in zip(asked, vectors, strict=True):
        question = Question(one.question, vector)
        choice = widened(view, None, chosen(view, question, diversity=True), Dynagrag())
        supporting = {number for doc_id in one.supporting for number in view.documents[doc_id].chunks}
        wanted = {node for number in supporting for node in entities_of(view, number)}
        for name, weights in (("fixed", None), ("learned", learned)):
            for each in pruned_subgraphs(choice, question, Dynagrag(), weights):
                numbers = [relation.statement for relation in each.ego.relations]
                stated = [not supporting.isdisjoint(view.statements[number].chunks) for number in numbers]
                areas[name][0].append((each.nodes.tolist(), [node in wanted for node in each.ego.nodes]))
                areas[name][1].append((each.relations.tolist(), stated))
    print(f"learned from {learned.entities.trained_on} entities, {learned.relations.trained_on} relations")
    for name, (entities, relations) in areas.items():
        within = [value for each in entities if (value := marked_area([each])) is not None]
        print(f"mask {name:8} entities {marked_area(entities):.3f}, within a subgraph {np.mean(within):.3f}", end="; ")
        print(f"relations {marked_area(relations):.3f}")


def mask_weights(view: LiveView, without: set[int]) -> MaskWeights:
    """Return the weights that fit pseudo-questions over other passages than these."""
    members = [number for number in PassageSample(len(view.chunks)).members(view.chunks) if number not in without]
    entities, relations = MaskModel().entities, MaskModel().relations
    for number in members[:PASSAGES]:
        path = two_hop_path(view, number, NodeReads(view))
        if path is not None and without.isdisjoint(view.statements[path.second].chunks):
            example = pseudo_example(view, number)
            entities, relations = entities + example.entities, relations + example.relations
    of_entities, of_relations = fit_discriminant(entities), fit_discriminant(relations)
    assert of_entities is not None
    assert of_relations is not None
    return MaskWeights(of_entities, of_relations)


def marked_area(rows: list[Marked]) -> float | None:
    """Return the area under the ROC curve of marked scores, or None where all have one mark."""
    scores = np.array([score for values, _ in rows for score in values])
    marks = np.array([mark for _, marked in rows for mark in marked], bool)
    if marks.all() or not marks.any():
        return None
    below = np.sort(scores[~marks])
    ranks = np.searchsorted(below, scores[marks], "left") + np.searchsorted(below, scores[marks], "right")
    return float(ranks.mean() / 2 / len(below))


def learned(view: LiveView, seed: int = 0) -> None:
    """Learn from four fifths of the pairs and rank the rest: the share of (related, chance) ranked rightly."""
    rng = np.random.default_rng(seed)
    examples, train, holdout = view.relatedness.examples(), [], []
    for pairs in examples:
        order = rng.permutation(len(pairs)).tolist()
        cut = len(order) * 4 // 5
        kind = SufficientStatistics()
        kind.add([pairs[place] for place in order[:cut]])
        train.append(kind)
        holdout.append([pairs[place] for place in order[cut:]])
    fit = fit_weights(*train)
    print(fit)
    print(f"held-out pairs ranked rightly: learned {area(fit, holdout):.3f}, by cosine {area(UNTRAINED, holdout):.3f}")


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
