"""The learned mask of mode `dynagrag`: exact sums over pseudo-questions of the live graph, and what fits them."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from graphtide.graph.learning.discriminant import MIN_ROWS, SCALE, fit_discriminant, row_sums
from graphtide.graph.records import GraphDelta
from graphtide.graph.retrieval.dynagrag.egographs import EgoGraph, EgoGraphs
from graphtide.graph.retrieval.dynagrag.embedding import gather
from graphtide.graph.retrieval.dynagrag.learning import MaskModel
from graphtide.graph.retrieval.dynagrag.learning.features import ego_features
from graphtide.graph.retrieval.dynagrag.learning.pseudo_questions import HUB, NodeReads, pseudo_example, two_hop_path
from graphtide.graph.retrieval.dynagrag.learning.sample import PassageSample
from graphtide.graph.retrieval.dynagrag.mode import pruned_subgraphs, retrieve_dynagrag
from graphtide.graph.retrieval.dynagrag.selection import Candidate, EgoGraphSelection
from graphtide.graph.retrieval.dynagrag.settings import Dynagrag, EgoGraphLimits, Mask
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.types import Question
from graphtide.graph.view import LiveView
from tests.model.small_views import SmallDocument, bag_of_words, random_documents, small_view
from tests.support.seeds import seeds
from tests.support.worlds import RandomWorld, empty_view, snapshot_of

FEW = 4  # fewer than the passages of the worlds below, so that members enter and leave the sample
STEPS = int(os.environ.get("GRAPHTIDE_WALK_STEPS", "24"))
"""Changes of a random walk; set the variable for longer ones."""

Values = NDArray[np.float64]


def assert_equals_one_of_the_live_graph(model: MaskModel, view: LiveView, passages: int) -> None:
    """Compare sums and weights with those of a model that sees the graph for the first time."""
    fresh = MaskModel(passages)
    assert model.weights(view) == fresh.weights(view)
    assert np.array_equal(model.entities, fresh.entities)
    assert np.array_equal(model.relations, fresh.relations)


@pytest.mark.parametrize("passages", [FEW, 20])
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_sums_equal_those_of_a_new_model_after_every_change(seed: int, passages: int) -> None:
    """Inserts, edits, deletions, merges and splits leave no trace in the sums, whether or not a question was asked."""
    print("seed", seed)
    world, view = RandomWorld(random.Random(seed), documents=14), empty_view()
    model = MaskModel(passages)
    view.followers._followers[MaskModel] = model
    for step in range(STEPS):
        view.apply(world.step())
        if step % 3:
            assert_equals_one_of_the_live_graph(model, view, passages)
    assert model.entities.any()


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_weights_are_bit_by_bit_those_of_a_view_filled_at_once(seed: int) -> None:
    """The order of arrival and deleted documents have no effect on the weights."""
    print("seed", seed)
    world, view = RandomWorld(random.Random(seed), documents=30), empty_view()
    model = view.followers.get(MaskModel)
    for step in range(STEPS):
        view.apply(world.step())
        if step % 5 == 0:
            model.weights(view)
    rebuilt = empty_view()
    rebuilt.apply(replace(snapshot_of(world.live), version=view.version))
    other = rebuilt.followers.get(MaskModel)
    assert model.weights(view) == other.weights(rebuilt)
    assert np.array_equal(model.entities, other.entities)
    assert np.array_equal(model.relations, other.relations)


def test_nothing_is_left_when_every_document_is_deleted() -> None:
    """The sums return to zero, and no weights fit them."""
    world, view = RandomWorld(random.Random(5)), empty_view()
    model = view.followers.get(MaskModel)
    for _ in range(20):
        view.apply(world.step())
        model.weights(view)
    view.apply(world.change(*list(world.live)))
    assert model.weights(view) is None
    assert not model.entities.any()
    assert not model.relations.any()
    assert not model._readers
    assert not model._hub_readers


def chain(topic: str, number: int) -> SmallDocument:
    """Return a passage that states one relation of a chain of its own topic."""
    triple = (f"{topic} {number}", "near", f"{topic} {number + 1}")
    return SmallDocument(f"{topic}{number}", " ".join(triple), (), (triple,))


def test_a_changed_entity_recomputes_only_the_examples_that_read_it() -> None:
    """In a chain of thirty passages an example reads few entities, and one entity is read by few examples."""
    view = small_view([chain("amber", number) for number in range(30)])
    model = view.followers.get(MaskModel)
    model.weights(view)
    assert model.evaluated == 30
    assert max(len(pseudo_example(view, chunk).reads) for chunk in view.chunks) < 12
    assert max(map(len, model._readers.values())) < 12 < len(view.entities)


def test_changed_entities_that_no_example_reads_are_not_kept() -> None:
    """A view that is asked once and grows afterwards keeps no list of its new entities."""
    view = small_view([chain("amber", number) for number in range(30)])
    model = view.followers.get(MaskModel)
    model.weights(view)
    model.follow(GraphDelta("world", 2), range(10_000))
    assert model._touched == model._readers.keys() | model._hub_readers.keys()


def test_a_hub_that_stays_one_recomputes_nothing() -> None:
    """An entity of more than HUB neighbours is not read; when it falls to HUB, the examples beside it are computed."""
    spokes = [SmallDocument(f"d{n}", "hub", (), (("hub", "near", f"leaf {n}"),)) for n in range(HUB + 2)]
    tails = [SmallDocument(f"t{n}", "leaf", (), ((f"leaf {n}", "of", f"end {n}"),)) for n in range(HUB + 2)]
    view = small_view([*spokes, *tails])
    model = view.followers.get(MaskModel)
    model.weights(view)
    hub = next(node for node, entity in view.entities.items() if entity.name == "hub")
    assert hub not in model._readers
    assert model._hub_readers[hub]
    assert not set(model._depending(view, hub))
    for other in list(view.neighbours[hub])[:2]:
        view.neighbours.disconnect(hub, other)
    assert set(model._depending(view, hub)) == model._hub_readers[hub]


@pytest.mark.parametrize("seed", range(4))
def test_sample_is_that_of_the_live_passages_after_every_change(seed: int) -> None:
    """Under random insertions, deletions and renumberings the members are those of a new sample, in its order."""
    print("seed", seed)
    rng = random.Random(seed)
    kept, live = PassageSample(5), dict[int, str]()
    kept.members({})
    for step in range(400):
        growing = step % 200 < 120
        gone = rng.sample(sorted(live), min(len(live), rng.randint(0, 1 if growing else 3)))
        for number in gone:
            del live[number]
        changed = {
            rng.randint(0, 60): f"d{rng.randint(0, 10**6)}#0" for _ in range(rng.randint(0, 3 if growing else 1))
        }
        live |= changed
        kept.follow(gone, changed.items())
        chunks = {number: _Chunk(name) for number, name in live.items()}
        assert kept.members(chunks) == PassageSample(5).members(chunks)  # type: ignore[arg-type]
        assert len(kept._keys or ()) <= 20


class _Chunk:
    def __init__(self, chunk_id: str) -> None:
        self.chunk_id = chunk_id


@pytest.mark.parametrize("seed", range(3))
def test_features_equal_their_definitions(seed: int) -> None:
    """Cosines and means over neighbours equal those of plain loops."""
    print("seed", seed)
    view = small_view(random_documents(random.Random(seed), 60))
    question = bag_of_words("amber grove near cedar").astype(np.float64)
    for centre in sorted(view.entities, key=view.entity_id)[:8]:
        ego = EgoGraphs(view, None, EgoGraphLimits()).around(centre)
        found = ego_features(ego, gather(view, [ego]), question)
        assert found.entities == pytest.approx(slow_entities(view, ego, question), abs=1e-4)


def slow_entities(view: LiveView, ego: EgoGraph, question: Values) -> Values:
    def cosine(vector: NDArray[np.float16]) -> float:
        row = vector.astype(np.float64)
        return float(row @ question / np.linalg.norm(row) / np.linalg.norm(question))

    count = len(ego.nodes)
    beside = [{place} for place in range(count)]
    best = [0.0] * count
    for relation in ego.relations:
        value = cosine(view.statements[relation.statement].vector)
        for place, other in ((relation.subject, relation.object), (relation.object, relation.subject)):
            beside[place].add(other)
            best[place] = max(best[place], value)
    columns = [[cosine(view.entities[node].vector) for node in ego.nodes], best]
    for source in (0, 2, 1, 4):
        columns.append([float(np.mean([columns[source][other] for other in row])) for row in beside])
    return np.array([columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]]).T


def test_path_shares_the_entity_of_fewest_neighbours_and_leaves_the_passage() -> None:
    """The path continues over the rarer of two entities, and never over a statement of the same passage."""
    documents = [
        SmallDocument("a", "birch", (), (("amber", "near", "birch"), ("birch", "near", "cedar"))),
        SmallDocument("b", "birch", (), (("birch", "near", "delta"),)),
        SmallDocument("c", "birch", (), (("birch", "near", "ember"),)),
        SmallDocument("d", "birch", (), (("amber", "near", "frost"),)),
    ]
    view = small_view(documents)
    path = two_hop_path(view, view.chunk_numbers["a#0"], NodeReads(view))
    assert path is not None
    names = [view.entities[node].name for node in (path.start, path.bridge, path.end)]
    assert names == ["birch", "amber", "frost"]
    lone = small_view(documents[:1])
    assert two_hop_path(lone, lone.chunk_numbers["a#0"], NodeReads(lone)) is None


@pytest.mark.parametrize("seed", range(3))
def test_discriminant_equals_its_definition_over_the_rows(seed: int) -> None:
    """The closed form over integer sums equals means and covariances of the rows; a retracted row leaves no trace."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    rows = np.rint(rng.normal(size=(400, 3)) * SCALE) / SCALE
    positive = rng.random(400) < 1 / (1 + np.exp(-2 * rows[:, 0]))
    sums = row_sums(rows, positive)
    found = fit_discriminant(sums)
    assert found is not None
    kinds = rows[~positive], rows[positive]
    assert found.trained_on == (len(kinds[0]), len(kinds[1]))
    within = sum(np.cov(kind.T, bias=True) for kind in kinds) / 2
    regular = within + np.diag(0.01 * np.diag(within) + 1e-4)
    weights = np.linalg.solve(regular, kinds[1].mean(axis=0) - kinds[0].mean(axis=0))
    assert found.weights == pytest.approx(weights, abs=1e-9)
    more = rng.normal(size=(30, 3))
    assert np.array_equal(sums + row_sums(more, more[:, 0] > 0) - row_sums(more, more[:, 0] > 0), sums)
    probability = found.probabilities(rows)
    assert probability[positive].mean() > probability[~positive].mean() + 0.1
    few = row_sums(rows[: MIN_ROWS - 1], np.ones(MIN_ROWS - 1, bool))
    assert fit_discriminant(few) is None


def topical(rng: random.Random, count: int) -> list[SmallDocument]:
    """Return passages of chains: what a passage states shares words with the passage that continues it."""
    words = [f"{a}{b}" for a in ("amber", "birch", "cedar", "delta", "ember") for b in ("ine", "ow", "ax", "ul", "est")]
    found = []
    for number in range(count):
        topic, verb = words[number % 25], rng.choice(("near", "feeds", "owns", "built"))
        at = rng.randint(0, 6)
        triples = [(f"{topic} {at}", verb, f"{topic} {at + 1}")]
        triples += [(f"{topic} {at}", rng.choice(("knows", "sees")), f"{rng.choice(words)} {rng.randint(0, 7)}")] * 2
        found.append(SmallDocument(f"d{number}", " ".join(triples[0]), (), tuple(dict.fromkeys(triples))))
    return found


def area(scores: Values, positive: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve."""
    below, above = np.sort(scores[~positive]), scores[positive]
    ranks = np.searchsorted(below, above, "left") + np.searchsorted(below, above, "right")
    return float(ranks.mean() / 2 / len(below))


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_learned_mask_is_comparable_across_subgraphs(seed: int) -> None:
    """Over the subgraphs of held-out paths pooled, it separates the entities of the passages better than the fixed."""
    print("seed", seed)
    documents = topical(random.Random(seed), 130)
    view = small_view(documents)
    learned = MaskModel(passages=64).weights(view)
    assert learned is not None
    members = PassageSample(130).members(view.chunks)[64:]
    masks: dict[Mask, list[float]] = {Mask.LEARNED: [], Mask.FIXED: []}
    gold: list[bool] = []
    for chunk in members:
        path = two_hop_path(view, chunk, NodeReads(view))
        if path is None:
            continue
        text = " ".join((view.chunks[chunk].text, view.statements[path.second].predicate))
        question = Question(text, bag_of_words(text), mode="dynagrag")
        around = EgoGraphs(view, None, EgoGraphLimits())
        egos = [around.around(node) for node in dict.fromkeys((*path[2:], *list(view.entities)[:2]))]
        choice = EgoGraphSelection(tuple(Candidate(ego, 1.0, ego.centre) for ego in egos), 0, gather(view, egos))
        wanted = {view.labels[m.label].node for m in view.chunks[chunk].mentions} | {path.end}
        gold += [node in wanted for ego in egos for node in ego.nodes]
        for mask, weights in ((Mask.LEARNED, learned), (Mask.FIXED, None)):
            for each in pruned_subgraphs(choice, question, Dynagrag(), weights):
                masks[mask] += each.nodes.tolist()
    areas = {mask: area(np.array(values), np.array(gold)) for mask, values in masks.items()}
    print(areas)
    assert areas[Mask.LEARNED] >= 0.75
    assert areas[Mask.LEARNED] > areas[Mask.FIXED]


def test_learned_masks_are_probabilities_and_change_the_result() -> None:
    """No mask is 0, and none is scaled to 1; a small graph uses the fixed mask."""
    view = small_view(topical(random.Random(3), 80))
    question = Question("amberine 3 near birchow", bag_of_words("amberine 3 near birchow"), 8, "dynagrag", explain=True)
    learned, fixed = (retrieve_dynagrag(view, question, Dynagrag(mask=mask)) for mask in Mask)
    assert view.followers.get(MaskModel).weights(view) is not None
    assert learned != fixed
    assert all(0 < node.score < 1 for node in learned.subgraph.nodes)
    assert learned.trace is not None
    assert "learned from" in learned.trace.steps[1].about
    small = small_view(topical(random.Random(3), 4))
    assert retrieve_dynagrag(small, question) == retrieve_dynagrag(small, question, Dynagrag(mask=Mask.FIXED))


def test_results_by_learned_weights_do_not_depend_on_the_order_of_documents() -> None:
    """Two graphs of the same passages, in another order, give the same weights, parts, passages and trace."""
    documents = topical(random.Random(0), 70)
    shuffled = random.Random(0).sample(documents, len(documents))
    one, other = small_view(documents), small_view(shuffled)
    weights = one.followers.get(MaskModel).weights(one)
    assert weights is not None
    assert weights == other.followers.get(MaskModel).weights(other)
    question = Question("amberine 3 near birchow", bag_of_words("amberine 3 near birchow"), 8, "dynagrag", explain=True)
    assert retrieve(one, question) == retrieve(other, question)


def test_results_are_as_rebuilt_while_questions_and_changes_alternate() -> None:
    """A view asked after every change answers as one filled at once."""
    world, view = RandomWorld(random.Random(0), documents=14), empty_view()
    vector = np.random.default_rng(0).normal(size=16).astype(np.float32)
    question = Question("what is there", vector, 8, "dynagrag", explain=True)
    found = None
    for _ in range(STEPS):
        view.apply(world.step())
        found = retrieve(view, question)
    rebuilt = empty_view()
    rebuilt.apply(replace(snapshot_of(world.live), version=view.version))
    assert found == retrieve(rebuilt, question)
