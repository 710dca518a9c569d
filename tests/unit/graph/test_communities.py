"""Communities: random walks compared with a recount after every step, and with recorded results."""

import hashlib
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from graphtide.graph.communities import Communities, HierarchyReplica, build
from tests.model.communities_oracle import EdgeLedger, same, violations
from tests.support.community_walks import batch, cliques, walk


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(25))
def test_communities_equal_their_recount_after_every_step_of_a_walk(seed: int) -> None:
    """Weights, modularity, connectivity and tree hold, and a follower equals the writer, after each batch."""
    print(f"seed {seed}")
    communities, ledger, follower = Communities(), EdgeLedger(), HierarchyReplica()
    for edges, deltas in walk(seed, 40):
        follower.apply(communities.update(edges, deltas))
        ledger.update(edges, deltas)
        assert violations(communities, ledger) == []
        assert same(follower.hierarchy(), communities.hierarchy())


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(25, 35))
def test_communities_go_on_as_if_never_stopped_when_restored(seed: int) -> None:
    """An object restored from a snapshot at each step makes the same next step as the original."""
    print(f"seed {seed}")
    communities, ledger = Communities(), EdgeLedger()
    for edges, deltas in walk(seed, 40):
        restored = build(*ledger.arrays(), snapshot=communities.hierarchy())
        assert same(restored.hierarchy(), communities.hierarchy())
        communities.update(edges, deltas)
        restored.update(edges, deltas)
        ledger.update(edges, deltas)
        assert same(restored.hierarchy(), communities.hierarchy())
        assert restored.hierarchy().next_id == communities.hierarchy().next_id
        assert violations(restored, ledger) == []


# SHA-256 of every change, modularity and work of the walks below, adoptions included. Another value means other
# communities, and so other reports, for the same documents.
RECORDED = "68f4db6056ee6db41a9afb00bcf1fb33bc6479614051a1802e16a5df51b30a4b"


def test_walks_give_the_recorded_changes() -> None:
    """The algorithm is deterministic: fifteen walks report, to the last bit, the changes they reported before."""
    digest = hashlib.sha256()
    for seed in range(35, 50):
        random, communities = Random(seed), Communities()
        for edges, deltas in walk(seed, 50):
            changes = [communities.update(edges, deltas)]
            nodes = communities.hierarchy().nodes
            if random.random() < 0.1 and len(nodes):
                changes.append(communities.adopt(nodes, np.array([random.randrange(3) for _ in nodes], np.int64)))
            for change in changes:
                for name in ("nodes", "communities", "children", "levels", "parents", "removed"):
                    column = getattr(change, name)
                    digest.update(len(column).to_bytes(8, "little") + column.astype("<i8").tobytes())
            work = communities.work()
            digest.update(f"{communities.modularity()} {work.units} {work.links}\n".encode())
    assert digest.hexdigest() == RECORDED


def test_build_holds_its_invariants_when_the_graph_is_random() -> None:
    """A build from scratch gives a correct hierarchy."""
    random = Random(3)
    edges = batch(sorted({(u, u + random.randint(1, 30)) for u in range(400) for _ in range(4)}))
    ledger = EdgeLedger()
    ledger.update(*edges)
    assert violations(build(*edges), ledger) == []


def test_update_ignores_the_order_when_a_batch_is_shuffled() -> None:
    """A document's edges are a set: order, direction and repetition inside a batch change no result."""
    edges = [*cliques(5, 6, 4), (0, 7), (6, 12)]
    one, other = Communities(), Communities()
    one.update(*batch(edges, 2))
    flipped = [(v, u) for u, v in reversed(edges)]
    other.update(*batch(flipped + flipped))
    assert same(one.hierarchy(), other.hierarchy())


@pytest.mark.parametrize(
    ("edges", "deltas"),
    [([(0, 1), (1, 2)], [1, -2]), ([(0, 1), (3, 3)], [1, 1]), ([(0, 1), (-1, 2)], [1, 1]), ([(8, 9)], [-1])],
)
def test_update_changes_nothing_when_refused(edges: list[tuple[int, int]], deltas: list[int]) -> None:
    """A weight below zero, a loop or a negative node rejects the whole batch."""
    communities = build(*batch(cliques(4, 4)))
    before = communities.hierarchy()
    with pytest.raises(ValueError, match="edge"):
        communities.update(*batch(edges, deltas))
    assert same(before, communities.hierarchy())
    assert communities.total_weight == 12


def test_update_refuses_a_weight_beyond_the_exact_range() -> None:
    """Sums stay exact because the total weight is bounded; large weights below the bound are kept exactly."""
    communities, ledger = Communities(), EdgeLedger()
    for update in (batch([(0, 1), (1, 2)], 2**40), batch([(0, 1), (2, 3)], [1, 2**31]), batch([(0, 1)], -(2**40))):
        communities.update(*update)
        ledger.update(*update)
        assert violations(communities, ledger) == []
    with pytest.raises(ValueError, match="total weight"):
        communities.update(*batch([(0, 1)], 2**57))


def test_communities_are_gone_when_every_edge_is_deleted() -> None:
    """Deletion is the inverse of insertion: the hierarchy is empty, and the change lists every removal."""
    edges = [*cliques(6, 7, 5), (0, 8), (7, 14)]
    communities = Communities()
    inserted = communities.update(*batch(edges))
    deleted = communities.update(*batch(edges, -1))
    assert len(communities.hierarchy().nodes) == len(communities.hierarchy().ids) == 0
    assert np.array_equal(deleted.removed, inserted.children)
    assert not deleted.communities.any()
    assert communities.total_weight == 0
    assert communities.modularity() == 0.0
    assert communities.community(3) == 0


def test_update_reports_nothing_when_nothing_changes() -> None:
    """An empty batch and one that cancels itself leave every node in its community: no oscillation."""
    communities = build(*batch([*cliques(2, 5, 5), (2, 7)]))
    assert not communities.update(*batch([]))
    assert not communities.update(*batch([(0, 1), (0, 1)], [4, -4]))


def test_community_keeps_its_id_when_a_few_edges_change() -> None:
    """Rewiring one edge of a clique changes no id, so reports can be reused."""
    communities = build(*batch([*cliques(8, 8, 8, 8), (0, 8), (16, 24)]))
    before = [communities.community(node, 2) for node in range(32)]
    assert len(set(before)) == 4
    communities.update(*batch([(0, 1), (0, 9), (3, 30)], [-1, 1, 1]))
    assert [communities.community(node, 2) for node in range(32)] == before


def test_larger_part_keeps_the_id_when_a_community_splits() -> None:
    """Cutting a bridge leaves the id with the part that has more nodes, at every level."""
    star = [(0, leaf) for leaf in range(1, 9)]
    communities = build(*batch([*star, (9, 10), (8, 9)]))
    communities.adopt(np.arange(11, dtype=np.int32), np.zeros(11, dtype=np.int64))
    old = communities.community(0, 2)
    assert communities.community(10, 2) == old
    communities.update(*batch([(8, 9)], -1))
    assert communities.community(0, 2) == old
    assert communities.community(10, 2) not in {0, old}


def test_larger_community_keeps_its_id_when_two_merge() -> None:
    """The merged community carries the larger one's id, whichever came first."""
    for sizes, large in (((12, 5, 9, 9), 0), ((5, 12, 9, 9), 5)):
        communities = build(*batch(cliques(*sizes)))
        kept = communities.community(large, 2)
        links = [(u, v) for u in range(sizes[0]) for v in range(sizes[0], sizes[0] + sizes[1])]
        communities.update(*batch(links, 3))
        assert {communities.community(node, 2) for node in range(17)} == {kept}


def test_no_community_is_disconnected_when_its_hub_leaves() -> None:
    """The leaves of a star that loses its hub's edges do not remain one community."""
    ledger, communities = EdgeLedger(), Communities()
    spokes = [(0, leaf) for leaf in range(1, 41)]
    pairs = [(leaf, leaf + 1) for leaf in range(1, 41, 2)]
    for update in (batch(spokes, 5), batch(pairs), batch(spokes[:37], -5)):
        communities.update(*update)
        ledger.update(*update)
        assert violations(communities, ledger) == []


def test_no_community_is_disconnected_when_its_link_leaves_as_a_whole() -> None:
    """Two cliques, connected by a third at the coarsest level, separate when the third joins another community.

    The cliques themselves are not examined (a weight of 1 in 57 changed), so only the split check can detect it.
    """
    first, second, link, other = range(8), range(8, 16), range(16, 20), range(20, 36)
    edges = [*cliques(8, 8, 4, 16), (first[0], link[0]), (second[0], link[1])]
    start = batch([*edges, (50, 51)], [*[1] * len(edges), 3_800])
    communities, ledger = build(*start), EdgeLedger()
    ledger.update(*start)
    assert len({communities.community(node, 2) for node in (first[1], second[1], link[3])}) == 1
    drawn = batch([(link[0], other[0]), (link[1], other[1]), (link[2], other[2])])
    communities.update(*drawn)
    ledger.update(*drawn)
    assert communities.community(link[3], 2) == communities.community(other[3], 2)
    assert communities.community(first[1], 2) != communities.community(second[1], 2)
    assert violations(communities, ledger) == []


def test_no_community_is_disconnected_when_the_finest_splits() -> None:
    """A path that is one community at every level, cut in two, is two at every level."""
    start = batch([(0, 1), (1, 2), (2, 3), (3, 4), (8, 9)], [1, 1, 1, 1, 10**7])
    communities, ledger = build(*start), EdgeLedger()
    ledger.update(*start)
    whole = [communities.community(0, level) for level in range(3)]
    assert whole == [communities.community(4, level) for level in range(3)]
    cut = batch([(1, 2)], -1)
    communities.update(*cut)
    ledger.update(*cut)
    assert [communities.community(4, level) for level in range(3)] == whole
    assert not set(whole) & {communities.community(0, level) for level in range(3)}
    assert violations(communities, ledger) == []


def test_ids_are_never_used_twice_when_communities_come_and_go() -> None:
    """Over a walk, an id that was reported as removed is never reported again."""
    print("seed 50")
    communities, gone = Communities(), set[int]()
    for edges, deltas in walk(50, 60):
        change = communities.update(edges, deltas)
        assert not gone & set(change.children.tolist())
        gone |= set(change.removed.tolist())
    assert gone


def test_adopt_takes_the_partition_as_coarsest_level_when_it_is_better() -> None:
    """The hierarchy has the adopted partition or a better one, every invariant holds, and the follower agrees."""
    edges = batch([(u, (u + k) % 60) for u in range(60) for k in (1, 2, 3)])
    communities, ledger = build(*edges), EdgeLedger()
    ledger.update(*edges)
    follower = HierarchyReplica(communities.hierarchy())
    nodes, labels = np.arange(60, dtype=np.int32), np.arange(60, dtype=np.int64) // 10
    follower.apply(communities.adopt(nodes, labels))
    assert communities.modularity() >= ledger.modularity(dict(enumerate(labels.tolist()))) - 1e-12
    assert violations(communities, ledger) == []
    assert same(follower.hierarchy(), communities.hierarchy())


def test_adopt_keeps_the_ids_when_the_partition_is_its_own() -> None:
    """Adopting the current partition changes nothing."""
    communities = build(*batch([*cliques(8, 8, 8), (0, 8), (9, 16)]))
    nodes = communities.hierarchy().nodes
    labels = np.array([communities.community(node, 2) for node in nodes.tolist()], dtype=np.int64)
    assert not communities.adopt(nodes, labels)


def test_adopt_places_a_node_when_the_partition_does_not_know_it() -> None:
    """Nodes added during the check join their neighbours; labels of removed nodes are ignored."""
    communities = build(*batch(cliques(8, 8)))
    known = np.array([*range(15), 99], dtype=np.int32)
    communities.adopt(known, (known >= 8).astype(np.int64))
    assert communities.community(15, 2) == communities.community(8, 2) != communities.community(0, 2)


def test_build_refuses_when_a_snapshot_does_not_fit() -> None:
    """A snapshot of other nodes, or a broken tree, is refused and not repaired."""
    communities = build(*batch(cliques(4, 4)))
    snapshot = communities.hierarchy()
    with pytest.raises(ValueError, match="other nodes"):
        build(*batch(cliques(4, 5)), snapshot=snapshot)
    snapshot.parents[0] = 10**6
    with pytest.raises(ValueError, match="parents"):
        build(*batch(cliques(4, 4)), snapshot=snapshot)
    childless = build(*batch(cliques(4, 4))).hierarchy()
    with pytest.raises(ValueError, match="without members"):
        build(
            *batch(cliques(4, 4)),
            snapshot=replace(
                childless,
                ids=np.append(childless.ids, childless.next_id),
                levels=np.append(childless.levels, np.int32(2)),
                parents=np.append(childless.parents, 0),
                next_id=childless.next_id + 1,
            ),
        )
    with pytest.raises(ValueError, match="positive"):
        build(*batch([(0, 1)], 0))


def test_unknown_names_raise_when_asked_for() -> None:
    """KeyError for an unknown community, IndexError for an unknown level, 0 for an unknown node."""
    communities = build(*batch(cliques(3)))
    with pytest.raises(KeyError):
        communities.members(10**9)
    with pytest.raises(KeyError):
        communities.parent(10**9)
    with pytest.raises(IndexError):
        communities.community(0, 3)
    with pytest.raises(IndexError):
        communities.modularity(3)
    assert communities.community(10**6, 1) == 0


def test_notes_of_a_large_update_are_freed_with_it() -> None:
    """They would be two fifths of the kernel's memory, and nothing reads them until the next update clears them."""
    rng = np.random.default_rng(5)
    edges = np.unique(np.sort(rng.integers(0, 4_000, (9_000, 2)), axis=1), axis=0).astype(np.int32)
    edges = edges[edges[:, 0] < edges[:, 1]]
    communities = Communities()
    communities.update(edges, np.ones(len(edges), np.int64))
    after_large = communities._kernel.memory_bytes()
    communities.update(edges[:1], np.ones(1, np.int64))
    assert after_large < 1.1 * communities._kernel.memory_bytes()
