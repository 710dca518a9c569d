"""Connectivity of communities: a community that has become disconnected is split, in every partition.

The search relies on this invariant: when a community stops being connected, each of its parts holds a member that lost
a link inside it (a part without such a member was disconnected before). The search therefore starts from those members
only, from all of them in turn. Its cost is bounded by the smaller parts or by the detour around the lost link, and not
by the size of the community.
"""

from collections import deque

from graphtide.graph.communities.levels import Levels
from graphtide.graph.communities.local_moving import gather, transfer


def parts(state: Levels, h: int, community: int, seeds: list[int]) -> list[set[int]]:
    """Return the components of a community of partition ``h``, given a member of each; one, possibly incomplete, if
    connected.

    The searches from the seeds take turns and merge when they meet. The last remaining search is completed only if its
    part could be smaller than a finished part, because the largest part need not be listed.
    """
    level = state.levels[h]
    group = {seed: seed for seed in seeds}  # member -> seed whose search reached it
    root = {seed: seed for seed in seeds}
    found = {seed: [seed] for seed in seeds}
    fringe = {seed: deque([seed]) for seed in seeds}

    def find(seed: int) -> int:
        while root[seed] != seed:
            root[seed] = root[root[seed]]
            seed = root[seed]
        return seed

    def expand(seed: int) -> None:
        unit = fringe[seed].popleft()
        for other in level.adjacency[unit]:
            if level.community[other] != community:
                continue
            if other not in group:
                group[other] = seed
                found[seed].append(other)
                fringe[seed].append(other)
            elif (met := find(group[other])) != seed:
                small, large = sorted((seed, met), key=lambda r: len(found[r]))
                root[small] = large
                found[large] += found.pop(small)
                fringe[large] += fringe.pop(small)
                seed = large

    while len(active := [seed for seed in fringe if fringe[seed]]) > 1:
        for seed in active:
            if fringe.get(seed):
                expand(seed)
    for seed in active:
        while len(found) > 1 and fringe[seed]:
            expand(seed)
    return [set(units) for units in found.values()]


def split(state: Levels, h: int) -> bool:
    """Split every community of partition ``h`` that is marked as disconnected into its components; return True if any
    was split.

    The part with the most level-0 nodes keeps the community. The others become new sibling communities, largest first.
    """
    level, done = state.levels[h], False
    loosened, state.loosened[h] = state.loosened[h], {}
    for community in sorted(loosened, key=lambda c: state.levels[h + 1].ident[c]):
        seeds = [unit for unit in loosened[community] if level.community[unit] == community]
        if len(seeds) < 2:
            continue
        pieces = parts(state, h, community, seeds)
        pieces.sort(key=lambda units: (-sum(level.size[u] for u in units), min(state.key(h, u) for u in units)))
        for units in pieces[1:]:
            done = True
            detach(state, h, community, sorted(units, key=lambda u: state.key(h, u)))
    return done


def detach(state: Levels, h: int, community: int, units: list[int]) -> None:
    """Move units of a community into a new community under the same parent, which may become disconnected in turn."""
    parent = state.levels[h + 1].community[community]
    target = state.open_community(h, parent)
    if parent >= 0:  # a unit without a link to the others leaves no vanishing edge that would mark it
        state.mark_disconnected(h + 1, parent, community, target)
    for unit in units:
        state.touch(h, unit, state.levels[h].degree[unit])
        transfer(state, h, unit, target, gather(state, h, unit))
