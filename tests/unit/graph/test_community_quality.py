"""Modularity of the streamed communities, and the guard that compares it with Leiden's."""

import threading
from itertools import combinations
from random import Random

import numpy as np
import pytest

from graphtide.graph.communities import Communities, build
from graphtide.graph.communities.drift import DriftGuard, Partition, leiden, modularity_gap
from graphtide.graph.communities.types import Int32
from tests.model.communities_oracle import EdgeLedger, violations
from tests.support.bench_data import bench_data
from tests.support.community_walks import batch


def planted(seed: int, blocks: int, size: int) -> Int32:
    """Return edges in random order: dense inside equal blocks, sparse between."""
    random = Random(seed)
    nodes = blocks * size
    edges = {(u, v) for u, v in combinations(range(nodes), 2) if u // size == v // size and random.random() < 0.5}
    edges |= {(u, v) for u, v in combinations(range(nodes), 2) if random.random() < 0.01}
    shuffled = sorted(edges)
    random.shuffle(shuffled)
    return np.array(shuffled, dtype=np.int32)


@pytest.mark.thorough
def test_modularity_stays_with_leiden_when_streamed_from_nothing() -> None:
    """Streamed edge by edge in batches of 30, the coarsest level is within 0.01 of a fresh Leiden run."""
    print("seed 7")
    edges = planted(7, 12, 20)
    ones = np.ones(len(edges), dtype=np.int64)
    communities = Communities()
    for start in range(0, len(edges), 30):
        communities.update(edges[start : start + 30], ones[start : start + 30])
    assert modularity_gap(communities.modularity(), leiden(edges, ones)) <= 0.01
    assert communities.modularity(0) < communities.modularity(1) < communities.modularity(2)


def real_graph(name: str) -> Int32:
    """Return a real graph's edges, or skip with a message when it is missing."""
    path = bench_data() / "graphs" / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{name} is not there; GRAPHTIDE_BENCH_DATA names the folder of the benchmark data")
    edges: Int32 = np.load(path)["edges"].astype(np.int32)
    return np.random.default_rng(1).permutation(edges)


def test_modularity_stays_with_leiden_when_a_tenth_of_a_real_graph_is_streamed() -> None:
    """On ca-GrQc the gap is at most 0.005 after the last tenth; after another tenth is deleted the invariants hold."""
    edges = real_graph("ca-GrQc")
    ones = np.ones(len(edges), dtype=np.int64)
    last = len(edges) * 9 // 10
    communities = build(edges[:last], ones[:last])
    for start in range(last, len(edges), 30):
        communities.update(edges[start : start + 30], ones[start : start + 30])
    assert modularity_gap(communities.modularity(), leiden(edges, ones)) <= 0.005
    for start in range(0, len(edges) - last, 30):
        communities.update(edges[start : start + 30], -ones[start : start + 30])
    ledger = EdgeLedger()
    ledger.update(*communities.edges())
    assert violations(communities, ledger) == []


def test_leiden_is_repeatable_when_run_in_a_thread_with_the_same_seed() -> None:
    """One thread and one seed give one partition, from the main thread or from another."""
    edges = planted(9, 6, 15)
    ones = np.ones(len(edges), dtype=np.int64)
    found: list[Partition] = []
    thread = threading.Thread(target=lambda: found.append(leiden(edges, ones, seed=5)))
    thread.start()
    thread.join()
    again = leiden(edges, ones, seed=5)
    assert np.array_equal(found[0].labels, again.labels)
    assert found[0].modularity == again.modularity


def test_leiden_reports_the_modularity_of_its_partition_when_nodes_have_gaps() -> None:
    """Node ids may have gaps; the figure is the recount's."""
    edges, weights = batch([(10, 500), (500, 7), (7, 10), (7, 90), (90, 91), (91, 92), (92, 90)], 3)
    fresh = leiden(edges, weights)
    ledger = EdgeLedger()
    ledger.update(edges, weights)
    assert fresh.nodes.tolist() == [7, 10, 90, 91, 92, 500]
    labels = dict(zip(fresh.nodes.tolist(), fresh.labels.tolist(), strict=True))
    assert fresh.modularity == pytest.approx(ledger.modularity(labels), abs=1e-12)
    assert leiden(*batch([])).modularity == 0.0


def test_guard_is_due_when_a_share_of_the_weight_has_changed() -> None:
    """Insertions and deletions both count, and a check resets the count."""
    guard = DriftGuard(share=0.1, tolerance=0.01, minimum_weight=10)
    guard.note(np.array([40, -40]))
    assert not guard.due(1_000)
    guard.note(np.array([-20]))
    assert guard.due(1_000)
    guard.started()
    assert not guard.due(1_000)


def test_guard_adopts_only_when_the_gap_passes_the_tolerance() -> None:
    """Equal or slightly better partitions do not justify new ids for every report."""
    guard = DriftGuard(tolerance=0.01)
    fresh = Partition(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64), 0.7)
    assert guard.adopts(0.68, fresh)
    assert not guard.adopts(0.695, fresh)
    assert not guard.adopts(0.75, fresh)
