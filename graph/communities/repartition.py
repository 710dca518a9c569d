"""Adoption of an external partition, preserving the finer levels of the hierarchy and the ids.

The partition becomes the coarsest level, and every finer community is cut along it. Deviation from replacing level 0: a
partition of best modularity is coarse, while reports and drill-down use the fine levels.
"""

import numpy as np

from graphtide.graph.communities.types import CommunityChange, Hierarchy, Int32, Int64


def ancestors(tree: Hierarchy) -> list[Int64]:
    """Return the community of each node at each level, finest first, (n,) each."""
    if not len(tree.nodes):
        return []
    chains = [tree.communities]
    while (above := tree.parents[np.searchsorted(tree.ids, chains[-1])]).any():
        chains.append(above)
    return chains


def refine_by(tree: Hierarchy, nodes: Int32, labels: Int64) -> Hierarchy:
    """Cut the hierarchy along a partition: community x label at every level but the coarsest, where the labels alone
    count.

    A node unknown to the partition (added since) is a block of its own. The largest piece keeps an id; at the coarsest
    level ids go by best overlap. Pieces may be disconnected: the core splits them. O(nodes log nodes) per level.
    """
    chains = ancestors(tree)
    if not chains:
        return tree
    block = blocks(tree.nodes, nodes, labels)
    next_id = tree.next_id
    ids: list[Int64] = []
    pieces = [np.unique(np.column_stack((chain, block)), axis=0, return_inverse=True)[1] for chain in chains[:-1]]
    for chain, piece in zip(chains, [*pieces, block], strict=True):
        named, next_id = name(chain, np.unique(piece, return_inverse=True)[1], next_id)
        ids.append(named)
    parents = {0: np.zeros(0, dtype=np.int64)}
    rows = []
    for level, own in enumerate(ids):
        unique, first = np.unique(own, return_index=True)
        parents[level] = ids[level + 1][first] if level + 1 < len(ids) else np.zeros(len(unique), dtype=np.int64)
        rows.append((unique, np.full(len(unique), level, dtype=np.int32), parents[level]))
    all_ids, levels, above = (np.concatenate(columns) for columns in zip(*rows, strict=True))
    order = np.argsort(all_ids)
    return Hierarchy(tree.nodes, ids[0], all_ids[order], levels[order], above[order], next_id)


def blocks(nodes: Int32, known: Int32, labels: Int64) -> Int64:
    """Return a label for each of ``nodes``, dense from 0; unknown nodes get a label of their own."""
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known[order], nodes), max(len(known) - 1, 0))
    hit = known[order][place] == nodes if len(known) else np.zeros(len(nodes), dtype=bool)
    block = np.zeros(len(nodes), dtype=np.int64)
    if hit.any():
        block[hit] = np.unique(labels[order][place][hit], return_inverse=True)[1]
        block[~hit] = block[hit].max() + 1
    block[~hit] += np.arange(int((~hit).sum()))
    return block


def name(chain: Int64, piece: Int64, next_id: int) -> tuple[Int64, int]:
    """Return an id for each node's piece (dense labels): of the old community with most overlap, each id once, or a
    fresh one.

    The largest overlap chooses first; ties go to the smaller id, then to the piece with the smaller first node.
    """
    pairs, shared = np.unique(np.column_stack((chain, piece)), axis=0, return_counts=True)
    first = np.full(piece.max() + 1, len(piece))
    np.minimum.at(first, piece, np.arange(len(piece)))
    order = np.lexsort((first[pairs[:, 1]], pairs[:, 0], -shared))
    ids = np.zeros(len(first), dtype=np.int64)
    taken: set[int] = set()
    for ident, target in pairs[order].tolist():
        if not ids[target] and ident not in taken:
            ids[target] = ident
            taken.add(ident)
    fresh = np.flatnonzero(ids == 0)
    fresh = fresh[np.argsort(first[fresh])]
    ids[fresh] = next_id + np.arange(len(fresh))
    return ids[piece], next_id + len(fresh)


def compare(before: Hierarchy, after: Hierarchy) -> CommunityChange:
    """Return the change between two hierarchies of the same nodes; O(n)."""
    moved = before.communities != after.communities
    place = np.minimum(np.searchsorted(before.ids, after.ids), max(len(before.ids) - 1, 0))
    if len(before.ids):
        same = (before.ids[place] == after.ids) & (before.parents[place] == after.parents)
    else:
        same = np.zeros(len(after.ids), dtype=bool)
    return CommunityChange(
        after.nodes[moved],
        after.communities[moved],
        after.ids[~same],
        after.levels[~same],
        after.parents[~same],
        np.setdiff1d(before.ids, after.ids),
    )
