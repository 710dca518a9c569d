"""The digest of a view follows changes at their cost, and equals the digest of a clean build."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import struct
import threading
from collections.abc import Iterator

import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import PREFIX, digest, elements, has_digest, live, multiset_hash, sorted_digest
from graphtide.graph.digest.multiset_hash import MultisetHash
from graphtide.graph.records import DocumentChange, DocumentInfo, Extraction, GraphDelta
from graphtide.graph.view import LiveView
from tests.support.extractions import unit
from tests.support.seeds import seeds
from tests.support.worlds import RandomWorld, empty_view, snapshot_of

STEPS = int(os.environ.get("GRAPHTIDE_DIGEST_STEPS", "25"))


@pytest.mark.parametrize("seed", seeds(1, 6))
@pytest.mark.parametrize("often", [1.0, 0.2])
def test_digest_equals_that_of_a_clean_build_after_every_reading(seed: int, often: float) -> None:
    """After each of many changes, or of several changes at once: merges, splits and reused numbers included."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    world, view = RandomWorld(rng), empty_view()
    for _ in range(STEPS):
        view.apply(world.step())
        if rng.random() < often:
            assert view.digests.read(view) == (view.version, digest(snapshot_of(world.live)))
            assert view.digests.read(view)[1] == digest(view.rows())


def test_digest_is_that_of_the_empty_graph_after_all_is_deleted() -> None:
    """The hash of what was removed is exactly the hash of what was added."""
    world, view = RandomWorld(random.Random(1)), empty_view()
    empty = view.digests.read(view)[1]
    for _ in range(5):
        view.apply(world.step())
        assert view.digests.read(view)[1] != empty
    view.apply(world.change(*list(world.live)))
    assert view.digests.read(view)[1] == empty == digest(GraphDelta("world", 0))


def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which every text that is hashed from now on is added."""
    texts: list[str] = []
    expanded = multiset_hash._expanded

    def counting(text: str) -> bytes:
        texts.append(text)
        return expanded(text)

    monkeypatch.setattr(multiset_hash, "_expanded", counting)
    return texts


def test_reading_costs_the_change_and_not_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same document costs as many hashes beside 60 documents as beside 15; a reading without a change, none."""
    texts, counts = hashed(monkeypatch), []
    for documents in (15, 60):
        writer, view = Consolidator("world"), empty_view()
        others = [clique(f"d{number}") for number in range(documents)]
        view.apply(writer.apply([DocumentChange(other.doc_id, None, other) for other in others]))
        view.digests.read(view)
        texts.clear()
        view.apply(writer.apply([DocumentChange("new", None, clique("new"))]))
        view.digests.read(view)
        counts.append(len(texts))
        texts.clear()
        view.digests.read(view)
        assert not texts
    assert 0 < counts[1] == counts[0]


def clique(doc_id: str) -> Extraction:
    """Return a document that relates four entities of its own, with unique names, each to each."""
    names = [hashlib.sha256(f"{doc_id} {number}".encode()).hexdigest()[:16] for number in range(4)]
    facts = [(one, "knows", other) for one, other in itertools.combinations(range(4), 2)]
    return Extraction(doc_id, 1, DocumentInfo(), (unit(f"{doc_id}.", [(name, "", "") for name in names], facts),))


def test_reading_recounts_after_more_changes_than_it_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """After too many changes the view drops the rows that it kept of the past, and the next reading is a recount."""
    monkeypatch.setattr(live, "MIN_CHANGES", 3)
    world, view = RandomWorld(random.Random(3)), empty_view()
    for _ in range(12):
        view.apply(world.step())
        view.apply(world.step())
        assert view.digests.read(view) == (view.version, digest(snapshot_of(world.live)))
    for _ in range(12):
        view.apply(world.step())
    assert view.digests.read(view) == (view.version, digest(snapshot_of(world.live)))


def test_changes_during_a_reading_are_in_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit between the reading of the rows and their hashes belongs to the next reading: no change is lost."""
    world, view = RandomWorld(random.Random(4)), empty_view()
    view.apply(world.step())
    real = elements

    def slow(rows: GraphDelta, *more: object) -> Iterator[str]:
        committing = threading.Thread(target=commit, args=(view, world))
        committing.start()
        committing.join()
        monkeypatch.setattr(live, "elements", real)
        return real(rows)

    monkeypatch.setattr(live, "elements", slow)
    first = digest(snapshot_of(world.live))
    assert view.digests.read(view) == (1, first)
    assert view.digests.read(view) == (2, digest(snapshot_of(world.live)))


def commit(view: LiveView, world: RandomWorld) -> None:
    with view.lock.write():
        view.apply(world.step())


def test_failed_reading_is_repeated_as_a_recount(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error while changes are hashed leaves no wrong state behind."""
    world, view = RandomWorld(random.Random(5)), empty_view()
    view.apply(world.step())
    view.digests.read(view)
    view.apply(world.step())
    with monkeypatch.context() as broken:
        broken.setattr(MultisetHash, "add", _raise)
        with pytest.raises(MemoryError):
            view.digests.read(view)
    assert view.digests.read(view) == (2, digest(snapshot_of(world.live)))


def _raise(*_: object) -> None:
    raise MemoryError


def test_recorded_digests_of_both_constructions_are_recognised() -> None:
    """A digest is compared in the construction that its form names."""
    world, view = RandomWorld(random.Random(6)), empty_view()
    view.apply(world.step())
    rows = view.rows()
    assert digest(rows).startswith(PREFIX) and len(sorted_digest(rows)) == 64
    assert has_digest(rows, digest(rows)) and has_digest(rows, sorted_digest(rows))
    assert not has_digest(rows, PREFIX + sorted_digest(rows)) and not has_digest(rows, digest(rows)[len(PREFIX) :])


def test_multiset_hash_is_lthash16_on_shake128() -> None:
    """The construction is fixed, since digests are recorded: lanes are added modulo 2^16 in any order, and removed."""
    texts = [f"text {number} é" for number in range(300)]
    lanes = [0] * 1024
    for text in texts:
        more = struct.unpack("<1024H", hashlib.shake_128(text.encode()).digest(2048))
        lanes = [(lane + each) % 65536 for lane, each in zip(lanes, more, strict=True)]
    wanted = hashlib.sha256(b"tag\0" + struct.pack("<1024H", *lanes)).hexdigest()
    random.Random(2).shuffle(texts)
    assert MultisetHash().add(texts).sha256("tag") == wanted
    assert MultisetHash().add(["other", *texts]).remove(["other"]).sha256("tag") == wanted
    assert MultisetHash().add(texts[1:]).sha256("tag") != wanted
    assert digest(GraphDelta("g", 0)) == PREFIX + hashlib.sha256(b"graphtide digest 2\0" + bytes(2048)).hexdigest()
