"""Merging of whole communities where it raises their partition's modularity; moves of single units cannot do it.

Without merging, a growing graph keeps the communities of its early size, because the resolution limit of modularity
grows with the total weight (Fortunato & Barthelemy 2007). Louvain adds a level instead; here the number of levels is
fixed. Only siblings merge, so no coarser partition changes, and each merge is a strict gain: the lexicographic order of
`local_moving` still rises.
"""

from graphtide.graph.communities.levels import Levels
from graphtide.graph.communities.local_moving import RESOLUTION, ROUNDS, gather, transfer


def merge(state: Levels, h: int) -> bool:
    """Merge each due community of partition ``h`` with its best sibling until none gains; return True if any merged.

    Cost: the neighbours of the due communities, and the members of those that are absorbed.
    """
    above = state.levels[h + 1]
    queue = [unit for unit in state.touched[h + 1] if state.due(h + 1, unit)]
    done = False
    for _ in range(ROUNDS):
        again: set[int] = set()
        for unit in sorted(queue, key=lambda u: above.ident[u]):
            other = partner(state, h, unit) if above.ident[unit] else -1
            if other >= 0:
                done = True
                small, large = sorted((unit, other), key=lambda u: (above.size[u], -above.ident[u]))
                absorb(state, h, small, large)
                again.add(large)
        if not again:
            break
        queue = sorted(again)
    return done


def partner(state: Levels, h: int, unit: int) -> int:
    """Return the sibling whose merger with the community gains most (ties: the smaller id), or -1."""
    above, twice = state.levels[h + 1], 2 * state.total_weight
    scaled = above.degree[unit] * RESOLUTION[h]
    best, best_gain = -1, 0
    for other, weight in above.adjacency[unit].items():
        if above.community[other] != above.community[unit]:
            continue
        gain = weight * twice - scaled * above.degree[other]
        if gain > best_gain or (gain == best_gain and best >= 0 and above.ident[other] < above.ident[best]):
            best, best_gain = other, gain
    return best


def absorb(state: Levels, h: int, small: int, large: int) -> None:
    """Move every member of one community of partition ``h`` into another."""
    for unit in sorted(state.levels[h + 1].members[small], key=lambda u: state.key(h, u)):
        state.touch(h, unit, state.levels[h].degree[unit])
        transfer(state, h, unit, large, gather(state, h, unit))
