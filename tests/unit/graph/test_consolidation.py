"""The law of consolidation: after any history the graph is a function of its live documents."""

from __future__ import annotations

import hashlib
import itertools
import random
from dataclasses import replace

import pytest

from graphtide.graph.communities.drift import DriftGuard, leiden
from graphtide.graph.consolidation import Consolidator, KernelWork
from graphtide.graph.digest import canonical_lines, differences, digest
from graphtide.graph.records import DocumentChange, DocumentInfo, Extraction, GraphDelta, Removals
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView, VectorIndexes
from tests.model.graph_oracle import GraphOracle
from tests.support.extractions import random_extraction, unit

DIMENSIONS = 16


class World:
    """A writer, a follower and the live extractions, with changes applied to all of them."""

    def __init__(self) -> None:
        self.writer = Consolidator("world")
        self.view = new_view()
        self.live: dict[str, Extraction] = {}
        self.revision = 0

    def change(self, *news: Extraction | str) -> GraphDelta:
        """Apply new revisions, or deletions by document id, as one batch."""
        changes = []
        for new in news:
            doc_id = new if isinstance(new, str) else new.doc_id
            changes.append(DocumentChange(doc_id, self.live.get(doc_id), None if isinstance(new, str) else new))
        delta = self.writer.apply(changes)
        with self.view.lock.write():
            self.view.apply(delta)
        for change in changes:
            self.live.pop(change.doc_id, None)
            if change.new is not None:
                self.live[change.doc_id] = change.new
        return delta

    def step(self, rng: random.Random) -> GraphDelta:
        """Apply one random insert, edit or deletion, or several as one batch."""
        news: dict[str, Extraction | str] = {}
        for _ in range(rng.choice((1, 1, 1, 3))):
            doc_id = f"d{rng.randint(1, 8)}"
            self.revision += 1
            if doc_id in self.live and rng.random() < 0.4:
                news[doc_id] = doc_id
            else:
                news[doc_id] = random_extraction(rng, doc_id, self.revision, self.live.get(doc_id))
        return self.change(*news.values())


@pytest.mark.thorough
def test_effort_grows_with_a_document_and_not_with_the_graph() -> None:
    """The same document costs the kernels as many triangles, units and links with 40 strangers as with 400."""
    took = []
    for strangers in (40, 400):
        writer, revision = Consolidator("g"), itertools.count(1)
        for number in range(strangers):
            writer.apply([DocumentChange(f"s{number}", None, _clique(f"s{number}", next(revision)))])
        before = writer.kernel_work()
        writer.apply([DocumentChange("d", None, _clique("d", next(revision)))])
        took.append(writer.kernel_work().since(before))
        assert writer.kernel_work().since(writer.kernel_work()) == KernelWork(0, 0, 0)
    assert took[0].triangles == took[1].triangles > 0
    assert 0 < took[1].community_units <= 2 * took[0].community_units
    assert 0 < took[1].community_links <= 2 * took[0].community_links


def _clique(doc_id: str, revision: int) -> Extraction:
    """Return a document that relates four entities of its own, with unique names, each to each."""
    names = [hashlib.sha256(f"{doc_id} {number}".encode()).hexdigest()[:16] for number in range(4)]
    facts = [(one, "knows", other) for one, other in itertools.combinations(range(4), 2)]
    passage = unit(f"{doc_id}.", [(name, "", "") for name in names], facts)
    return Extraction(doc_id, revision, DocumentInfo("", "", "", ()), (passage,))


def new_view() -> LiveView:
    return LiveView("world", VectorIndexes(ExactIndex(DIMENSIONS), ExactIndex(DIMENSIONS), ExactIndex(DIMENSIONS)))


def rebuilt(live: dict[str, Extraction]) -> GraphDelta:
    """Return a snapshot built from nothing, all documents in one batch, in another order."""
    writer = Consolidator("world")
    delta = writer.apply([DocumentChange(d, None, live[d]) for d in sorted(live, reverse=True)])
    return replace(delta, snapshot=True, communities=writer.hierarchy())


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(12))
def test_graph_equals_rebuilt_and_oracle_after_every_step_of_a_random_walk(seed: int) -> None:
    """After inserts, edits, deletions, merges and splits the digest is a clean build's, its lines the oracle's."""
    print(f"seed {seed}")
    rng, world = random.Random(seed), World()
    for step in range(40):
        world.step(rng)
        rows = world.view.rows()
        assert differences(rows, rebuilt(world.live)) == (), f"seed {seed}, step {step}"
        assert sorted(canonical_lines(rows)) == GraphOracle(world.live.values()).lines(), f"seed {seed}, step {step}"
        assert world.writer.violations() == []


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_view_and_indexes_hold_exactly_the_live_rows_after_a_random_walk(seed: int) -> None:
    """No deleted row is left in any table or index, and no live row is missing."""
    print(f"seed {seed}")
    rng, world = random.Random(seed), World()
    for _ in range(60):
        world.step(rng)
    view = world.view
    assert set(view.indexes.chunks.live_ids().tolist()) == set(view.chunks)
    assert set(view.indexes.entities.live_ids().tolist()) == set(view.entities)
    assert set(view.indexes.statements.live_ids().tolist()) == set(view.statements)
    assert view.entity_nodes == {entity.id: node for node, entity in view.entities.items()}
    fresh = new_view()
    fresh.apply(rebuilt(world.live))
    assert set(view.entity_nodes) == set(fresh.entity_nodes)
    assert walk_weights(view) == walk_weights(fresh)
    world.change(*list(world.live))
    tables = (view.documents, view.chunks, view.labels, view.statements, view.entities, view.neighbours, view.same_as)
    assert not any(tables)
    assert not len(view.indexes.chunks) + len(view.indexes.entities) + len(view.indexes.statements)


def walk_weights(view: LiveView) -> dict[tuple[str, str], float]:
    """Return the walk graph by canonical names: entity to entity and entity to passage."""
    found = {}
    for node, entity in view.entities.items():
        for chunk in entity.chunks:
            found[view.entity_id(node), view.chunks[chunk].chunk_id] = float(entity.times(chunk))
        for other, edge in view.neighbours.get(node, {}).items():
            found[view.entity_id(node), view.entity_id(other)] = float(edge.weight)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_restored_writer_goes_on_as_if_never_interrupted(seed: int) -> None:
    """A writer restored from a snapshot at any step gives the same graph from then on."""
    print(f"seed {seed}")
    rng, world = random.Random(seed), World()
    for step in range(30):
        world.step(rng)
        if step % 5 == 4:
            snapshot = replace(rebuilt(world.live), version=world.writer.version)
            world.writer = Consolidator.restore(snapshot)
            world.view = new_view()
            world.view.apply(snapshot)
    assert digest(world.view.rows()) == digest(rebuilt(world.live))


def test_batch_equals_one_by_one_in_any_order() -> None:
    """All documents at once, one at a time, and one at a time backwards give one digest."""
    rng = random.Random(7)
    documents = [random_extraction(rng, f"d{n}", n) for n in range(12)]
    digests = set()
    for order in (documents, documents[::-1], rng.sample(documents, len(documents))):
        world = World()
        for document in order:
            world.change(document)
        digests.add(digest(world.view.rows()))
    world = World()
    world.change(*documents)
    assert digests == {digest(world.view.rows())}


def test_same_content_again_changes_nothing_but_the_document() -> None:
    """A new revision with equal content leaves every other row unchanged."""
    world, rng = World(), random.Random(3)
    first = random_extraction(rng, "d", 1)
    world.change(first, random_extraction(rng, "e", 2))
    delta = world.change(replace(first, revision=5))
    assert [row.revision for row in delta.documents] == [5]
    assert delta.gone == Removals()
    assert not any((delta.chunks, delta.labels, delta.mentions, delta.statements, delta.evidence))
    assert not any((delta.entities, delta.edges, delta.same_as, bool(delta.communities)))


def test_edit_of_one_passage_leaves_the_other_passages_rows_alone() -> None:
    """Only the differing rows of an edited document change."""
    world = World()
    kept = unit("Kept.", [("Ada Lovelace", "person", ""), ("London", "", "")], [(0, "lived in", 1)])
    old = unit("Old.", [("Charles Babbage", "person", ""), ("London", "", "")], [(0, "lived in", 1)])
    new = unit("New.", [("Charles Babbage", "person", ""), ("Royal Society", "", "")], [(0, "member of", 1)])
    first = Extraction("d", 1, replace(random_extraction(random.Random(1), "x", 1).info), (kept, old))
    world.change(first)
    delta = world.change(replace(first, revision=2, units=(kept, new)))
    assert [row.text for row in delta.chunks] == ["New."]
    touched = {row.name for row in delta.labels}
    assert "ada lovelace" not in touched
    assert {row.predicate for row in delta.statements} == {"member of"}


def test_apply_refuses_an_old_revision_it_does_not_hold() -> None:
    """A change whose old revision differs from the graph's is refused with nothing changed."""
    world, rng = World(), random.Random(5)
    first = random_extraction(rng, "d", 1)
    world.change(first)
    before = digest(world.view.rows())
    with pytest.raises(ValueError, match="does not hold"):
        world.writer.apply([DocumentChange("d", None, first)])
    world.change(replace(first, revision=2))
    assert digest(world.view.rows()) == before


def test_view_refuses_a_delta_that_does_not_follow() -> None:
    """A gap is detected, and nothing of the delta is applied."""
    world, rng = World(), random.Random(5)
    world.change(random_extraction(rng, "d", 1))
    late = new_view()
    delta = world.change(random_extraction(rng, "e", 2))
    with pytest.raises(ValueError, match="does not follow"):
        late.apply(delta)
    assert late.version == 0 and not late.documents


def test_adopting_fresh_communities_changes_the_hierarchy_and_no_row() -> None:
    """A drift check that adopts gives followers the writer's hierarchy, and leaves the digest unchanged."""
    world, rng = World(), random.Random(9)
    world.writer = Consolidator("world", DriftGuard(share=0.0, tolerance=-2.0, minimum_weight=1))
    for _ in range(25):
        world.step(rng)
    before = digest(world.view.rows())
    check = world.writer.drift_check()
    assert check is not None
    assert world.writer.drift_check() is None, "a check that has begun is not due again"
    delta = world.writer.adopt(check, leiden(check.edges, check.weights))
    assert delta is not None
    world.view.apply(delta)
    kept, seen = world.writer.hierarchy(), world.view.hierarchy.hierarchy()
    assert kept.nodes.tolist() == seen.nodes.tolist()
    assert kept.communities.tolist() == seen.communities.tolist()
    assert kept.parents.tolist() == seen.parents.tolist()
    assert digest(world.view.rows()) == before
    world.step(rng)
    assert differences(world.view.rows(), rebuilt(world.live)) == ()


def test_verdict_on_a_borderline_pair_is_input_that_a_rebuild_repeats() -> None:
    """Each verdict changes only its pair's effects: the graph is that of the documents and the verdicts."""
    world, rng = World(), random.Random(2)
    description = "a baseball team of the old city league since 1901"
    names = [
        ("Red Sox", "", description),
        ("Boston Red Sox", "", description),
        ("Cubs", "", description),
        ("Chicago Cubs", "", description),
    ]
    for number, name in enumerate(names):
        near = [(name[0], name[1], name[2]), ("Ada Lovelace", "person", "")]
        piece = unit(f"Passage {number}.", near, [(0, "knew", 1)])
        world.change(Extraction(f"n{number}", number, DocumentInfo(), (piece,)))
    pairs = [question.pair for question in world.writer.borderline(10)]
    assert pairs, "the names were chosen to be left to a judge"
    verdicts = {pair: bool(number % 2 == 0) for number, pair in enumerate(pairs)}
    before = len(world.view.entities)
    for pair, same in verdicts.items():
        delta = world.writer.decide(pair, same)
        assert delta is not None
        world.view.apply(delta)
    assert world.writer.borderline(10) == []
    assert len(world.view.entities) < before
    fresh = Consolidator("world", verdicts=verdicts)
    built = replace(fresh.apply([DocumentChange(d, None, e) for d, e in world.live.items()]), snapshot=True)
    assert differences(world.view.rows(), built) == ()
    restored = Consolidator.restore(
        replace(built, version=world.writer.version, communities=fresh.hierarchy()), verdicts=verdicts
    )
    assert restored.borderline(10) == []
    world.change(*[random_extraction(rng, "later", 99)])
    gone = world.writer.decide(pairs[0], True)
    assert gone is not None and not gone.gone.entities, "the same verdict again changes nothing"
    world.view.apply(gone)
    world.change("n0", "n1", "n2", "n3")
    assert world.writer.decide(pairs[0], True) is None
