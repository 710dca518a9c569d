"""Memory of consolidation: vectors, strings, weights and neighbours of leaves, which write model and view hold once."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.consolidation.stored_rows import ViewVectors
from graphtide.graph.records import GraphDelta
from graphtide.graph.resolution.similarity import quantise
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


@pytest.mark.usefixtures("vector_form")
def test_the_resolver_holds_no_vector_of_a_label_whose_mentions_have_one() -> None:
    """Entity resolution computes such a label's mean from the sum's own vector, with the bits of a stored one."""
    world, _ = grown(4)
    labels, features = world.writer._tables.labels, world.writer._resolver._profiles
    alike = [number for number, label in labels.items() if label.same is not None]
    assert alike and len(features) == len(labels)
    for number in alike:
        mean, feature = labels[number].mean(), features[number]
        assert feature.vector_source is labels[number].same
        vector = feature.vector
        assert (vector is None) == (mean is None)
        assert vector is None or mean is None or np.array_equal(vector, quantise(mean))


@pytest.mark.usefixtures("vector_form")
def test_sums_and_means_of_mentions_that_differ_are_stored_bytes() -> None:
    """Those of the write model and those that entity resolution compares, wherever vectors are."""
    world, _ = grown(4)
    form, features = type(stored(b"vector")), world.writer._resolver._profiles
    sums = {number: label for number, label in world.writer._tables.labels.items() if label.same is None}
    assert sums
    for number, label in sums.items():
        mean, source = label.mean(), features[number].vector_source
        assert type(label._wide) is form
        assert (source is None) == (mean is None)
        if mean is not None:
            assert isinstance(source, np.ndarray) and isinstance(source.base, form)
            assert np.array_equal(source, quantise(mean))


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
