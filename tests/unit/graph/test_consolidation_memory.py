"""Memory of consolidation: vectors, strings, weights and neighbours of leaves, which write model and view hold once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.consolidation.state import LabelState
from graphtide.graph.consolidation.stored_rows import ViewVectors
from graphtide.graph.records import GraphDelta
from graphtide.graph.resolution import Resolver
from graphtide.graph.vector_store import stored
from graphtide.graph.vector_sum import bytes_of
from graphtide.graph.view import LiveView
from graphtide.streams.follow.delta_codec import decode, encode
from tests.support.extractions import random_extraction
from tests.support.worlds import RandomWorld, empty_view, snapshot_of

DOCUMENTS = 12


def deltas(world: RandomWorld) -> Iterator[GraphDelta]:
    """Yield the deltas of new documents, one by one."""
    for number in range(DOCUMENTS):
        yield world.change(random_extraction(world.rng, f"d{number}", number + 1, None))


def grown(seed: int) -> tuple[RandomWorld, LiveView]:
    """Return a writer with some documents, and the view that follows it in the same process."""
    world, view = RandomWorld(random.Random(seed)), empty_view()
    for delta in deltas(world):
        view.apply(delta)
    return world, view


@pytest.mark.usefixtures("vector_form")
def test_view_and_write_model_hold_a_vector_once() -> None:
    """A row whose vector has the bits of the one in the sum holds that one; passages keep no other vectors alive."""
    world, view = grown(3)
    rows = [(row.vector_bytes, world.writer._tables.statements[n].same) for n, row in view.statements.items()]
    equal = [(shown, same) for shown, same in rows if shown == same]
    assert equal and all(shown is same for shown, same in equal)
    assert all(bytes_of(chunk.vector) is chunk.vector_bytes for chunk in view.chunks.values())


def test_equal_predicates_are_one_string() -> None:
    """In the statements of a write model, and in those of a view that follows decoded deltas."""
    world, view = RandomWorld(random.Random(8)), empty_view()
    for delta in deltas(world):
        view.apply(decode(encode(delta)))
    for predicates in (
        [statement.predicate for statement in world.writer._tables.statements.values()],
        [statement.predicate for statement in view.statements.values()],
    ):
        assert len(predicates) > len({id(predicate) for predicate in predicates}) == len(set(predicates))


def test_equal_names_of_labels_are_one_string() -> None:
    """In a view that follows a decoded delta, with its index of names; so are ids of documents, and passage vectors."""
    world, view = RandomWorld(random.Random(38)), empty_view()
    view.apply(decode(encode(world.change(random_extraction(world.rng, "d", 1, None)))))
    for number, chunk in view.chunks.items():
        assert chunk.doc_id is view.documents["d"].doc_id
        assert view.relatedness._passages[number].vector_bytes is chunk.vector_bytes
    names = [*(label.name for label in view.labels.values()), *view.names]
    assert "ada lovelace" in names and len(names) > len({id(name) for name in names}) == len(set(names))


def test_statements_and_evidence_of_one_weight_hold_it_once() -> None:
    """Weights above 256 would be an object for each row."""
    world = RandomWorld(random.Random(5))
    rows = [row for delta in deltas(world) for row in delta.evidence]
    sums = [statement.weight_milli for statement in world.writer._tables.statements.values()]
    for weights in ([row.weight_milli for row in rows], sums):
        assert len(weights) > len({id(weight) for weight in weights}) == len(set(weights))


def test_the_resolver_holds_the_labels_themselves() -> None:
    """It has no copy of a name or a vector, and no words: after changes and deletions, and after a restart."""
    world, _ = grown(4)
    world.change("d3", "d7")
    restored = Consolidator.restore(snapshot_of(world.live))
    for writer in (world.writer, restored):
        labels, resolver = writer._tables.labels, writer._resolver
        assert len(labels) == len(resolver._labels) > 10
        assert all(resolver._labels[number] is label for number, label in labels.items())


@pytest.mark.parametrize("seed", range(3))
def test_the_resolver_follows_labels_that_change(seed: int) -> None:
    """After each of some new documents, edits and deletions: the candidates and clusters of a new resolver."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    world = RandomWorld(rng)
    for revision in range(1, 25):
        name = f"d{rng.randrange(6)}"
        if name in world.live and rng.random() < 0.3:
            world.change(name)
        else:
            world.change(random_extraction(rng, name, revision, world.live.get(name)))
        labels, resolver, clean = world.writer._tables.labels, world.writer._resolver, Resolver()
        clean.update(dict(labels.items()))
        assert set(resolver.borderline()) == set(clean.borderline())
        for number in labels:
            assert resolver.cluster_of(number) == clean.cluster_of(number)
            assert resolver._blocks.candidates(number) == clean._blocks.candidates(number)


def test_a_label_holds_no_spelling_that_is_its_name_in_another_case() -> None:
    """A single spelling is the name itself or a function of it; counts are those given, whatever the spelling."""
    for name, form in (("ada lovelace", "Ada Lovelace"), ("a city", "A city"), ("ibm", "IBM"), ("straße", "STRASSE")):
        label = LabelState(0, (name, "person"))
        for spelling in (form, name, "ada LoveLace", "mcCall"):
            label._count = 3
            label.forms = Counter({spelling: 3})
            assert label.forms == {spelling: 3}
            label.forms = Counter({spelling: 2, "other": 1})
            assert label.forms == {spelling: 2, "other": 1}
        label.forms = Counter({form: 3})
        assert callable(label._forms)
        label.forms = Counter({bytes(name, "utf-8").decode(): 3})
        assert id(label._forms) == id(name)
        label._count = 0
        label.forms = Counter()
        assert label.forms == {}


@pytest.mark.usefixtures("vector_form")
def test_sums_of_mentions_that_differ_are_stored_bytes() -> None:
    """Those of the write model, wherever vectors are."""
    world, _ = grown(4)
    sums = [label for label in world.writer._tables.labels.values() if label.same is None]
    assert sums and all(type(label._wide) is type(stored(b"vector")) for label in sums)


@pytest.mark.usefixtures("vector_form")
def test_a_restored_write_model_refers_to_the_vectors_of_the_view() -> None:
    """After a restart, the view of the same rows and the write model hold a vector once."""
    world, _ = grown(6)
    rows, view = snapshot_of(world.live), empty_view()
    view.apply(rows)
    restored = Consolidator.restore(rows, vectors=ViewVectors.of(view))
    tables, weights = restored._tables, restored._entities.topology.weights
    pairs = [(row.vector_bytes, tables.statements[number].same) for number, row in view.statements.items()]
    pairs += [(row.vector_bytes, tables.labels[row.labels[0]].same) for row in view.entities.values()]
    equal = [(shown, same) for shown, same in pairs if shown == same]
    assert equal and all(shown is same for shown, same in equal)
    assert dict(weights) == {(row.u, row.v): row.weight for row in rows.edges} != {}
