"""Fingerprints of communities: exact after every change of the graph, and a measure of change."""

from __future__ import annotations

import random
from array import array

import pytest

from graphtide.graph.records import Extraction
from graphtide.graph.reports.community_sums import BUCKETS
from graphtide.graph.reports.fingerprint import Fingerprint
from graphtide.graph.view import LiveView
from tests.model.memory.rows import Rows
from tests.support.worlds import RandomWorld, empty_view


def fingerprints(view: LiveView) -> dict[int, Fingerprint]:
    """Return the maintained fingerprint of every community."""
    found = {}
    for community in view.hierarchy.hierarchy().ids.tolist():
        fingerprint = view.contents.fingerprint(community)
        assert fingerprint is not None
        found[community] = fingerprint
    return found


def members(view: LiveView, community: int) -> int:
    """Count the entities of a community by walking down to them."""
    below = view.hierarchy.members(community).tolist()
    return len(below) if view.hierarchy.level(community) == 0 else sum(members(view, child) for child in below)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(12))
def test_contents_equal_those_of_a_view_built_from_the_rows_after_any_walk(seed: int) -> None:
    """After edits, deletions, moves of entities and of communities each community's sums are those of its rows."""
    print("seed", seed)
    world, view, rows = RandomWorld(random.Random(seed)), empty_view(), Rows("world")
    for _ in range(30):
        delta = world.step()
        view.apply(delta)
        rows.apply(delta)
    fresh = empty_view()
    fresh.apply(rows.snapshot())
    assert fingerprints(view) == fingerprints(fresh)
    for community, fingerprint in fingerprints(view).items():
        assert fingerprint.entities == members(view, community)


@pytest.mark.parametrize("seed", range(4))
def test_contents_forget_what_came_and_went(seed: int) -> None:
    """A document that is added and deleted leaves every fingerprint as before, where communities did not move."""
    print("seed", seed)
    rng = random.Random(seed)
    world, view = RandomWorld(rng), empty_view()
    for _ in range(8):
        view.apply(world.step())
    before, tree = fingerprints(view), view.hierarchy.hierarchy()
    documents = dict(world.live)
    delta = world.step()
    view.apply(delta)
    back: list[Extraction | str] = []
    for doc_id in world.live.keys() | documents.keys():
        if doc_id not in documents:
            back.append(doc_id)
        elif world.live.get(doc_id) != documents[doc_id]:
            back.append(documents[doc_id])
    view.apply(world.change(*back))
    after = view.hierarchy.hierarchy()
    where = dict(zip(tree.nodes.tolist(), tree.communities.tolist(), strict=True))
    if where == dict(zip(after.nodes.tolist(), after.communities.tolist(), strict=True)):
        finest = set(where.values())
        assert {c: f for c, f in fingerprints(view).items() if c in finest} == {c: before[c] for c in finest}


@pytest.mark.parametrize("seed", range(3))
def test_change_since_a_fingerprint_is_that_between_the_two_fingerprints(seed: int) -> None:
    """Communities stayed equal, changed or were removed; the change is 1 for a removed one."""
    print("seed", seed)
    world, view = RandomWorld(random.Random(seed)), empty_view()
    for _ in range(6):
        view.apply(world.step())
    before = fingerprints(view)
    for _ in range(4):
        view.apply(world.step())
    after = fingerprints(view)
    found = {community: view.contents.changed(community, written) for community, written in before.items()}
    assert found == {c: written.changed(after[c]) if c in after else 1.0 for c, written in before.items()}
    assert all((community in view.contents) == (community in after) for community in before | after)
    assert any(found.values())


def _fingerprint(items: list[int]) -> Fingerprint:
    """Return the fingerprint of content with these digests."""
    counts = [0] * BUCKETS
    for item in items:
        counts[item % BUCKETS] += 1 if item & BUCKETS else -1
    return Fingerprint(len(items), sum(items) % 2**64, array("i", counts).tobytes())


def test_change_is_none_for_equal_content_and_all_for_other_content() -> None:
    """The scale ends at 0 and 1; content that is no longer known counts as completely changed."""
    rng = random.Random(3)
    one = _fingerprint([rng.getrandbits(64) for _ in range(10)])
    assert one.changed(one) == 0.0
    assert one.changed(_fingerprint([])) > 0.5
    again = Fingerprint.decode(one.encode())
    assert again == one
    assert Fingerprint.decode("0123456789abcdef") is None


@pytest.mark.parametrize("size", [20, 200, 2000])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.8])
def test_change_is_the_share_of_entities_that_differ(size: int, share: float) -> None:
    """Over many draws the mean is within a tenth of the share, and each draw within the sketch's error bound."""
    print("seed", size)
    rng = random.Random(size)
    found = []
    for _ in range(60):
        items = [rng.getrandbits(64) for _ in range(size)]
        other = [rng.getrandbits(64) if at < share * size else item for at, item in enumerate(items)]
        found.append(_fingerprint(items).changed(_fingerprint(other)))
    exact = len(range(int(share * size))) / size
    assert sum(found) / len(found) == pytest.approx(exact, rel=0.1, abs=0.01)
    assert max(found) <= exact * 2.2 + 0.02
