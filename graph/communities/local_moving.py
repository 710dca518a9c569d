"""Asynchronous label propagation whose move rule is the modularity gain, started from touched units only.

LPAm (Barber & Clark 2009) as the local moving phase of a maintained hierarchy (Blondel et al. 2008), with two
deviations. Each level has a resolution of its own (below), so that the levels differ in granularity however the graph
grew. And a unit chooses its community from the coarsest partition downwards: it moves where the coarsest modularity
gains most, and only among equals (same coarsest community) does the next finer partition decide, and so on. This is the
multilevel refinement of Rotta & Noack (2011) folded into the move itself. It gives termination: each move raises
(Q_top, ..., Q_0) lexicographically.

The result is deterministic: a tie with the present community keeps the unit there, the smaller community id wins among
equal best, and units move in the order of their idents. All comparisons are integer: weight to the community x total
degree against own degree x the community's degree.
"""

from graphtide.graph.communities.levels import Levels

# Resolution of each partition, finest first (Reichardt & Bornholdt 2006): a community of one level has some tens of
# times the weight of a community of the level below. The coarsest is plain modularity; the fine resolutions keep the
# units small, and so mobile.
RESOLUTION = (1024, 32, 1)
DEPTH = len(RESOLUTION)
ROUNDS = 32  # maximum of rounds per propagation; a safeguard, because every move is a strict gain

Sums = list[dict[int, int]]  # per partition from the unit's level upwards: community slot -> weight from the unit to it


def gather(state: Levels, h: int, unit: int) -> Sums:
    """Return the weight from a unit to each neighbouring community, at its own partition and every coarser one;
    O(degree).
    """
    level = state.levels[h]
    state.visit(h, unit)
    sums: Sums = [{}]
    for other, weight in level.adjacency[unit].items():
        community = level.community[other]
        sums[0][community] = sums[0].get(community, 0) + weight
    for s in range(h + 1, state.top):
        coarser: dict[int, int] = {}
        for community, weight in sums[-1].items():
            parent = state.levels[s].community[community]
            coarser[parent] = coarser.get(parent, 0) + weight
        sums.append(coarser)
    return sums


def best_of(state: Levels, s: int, sums: dict[int, int], degree: int, stay: int, parent: int) -> int:
    """Return the community of partition ``s`` under ``parent`` (-1: any) with the highest score, or -1 for a new one.

    ``stay`` is the unit's present community, -1 if it has left the branch. Score: w(u, C) * 2m - resolution * k_u *
    K_C, K without u.
    """
    units = state.levels[s + 1]
    twice = 2 * state.total_weight
    scaled = degree * RESOLUTION[s]
    best, best_score = -1, 0
    if stay >= 0:
        score = sums.get(stay, 0) * twice - scaled * (units.degree[stay] - degree)
        if score >= 0:
            best, best_score = stay, score
    for community, weight in sums.items():
        if community == stay or (parent >= 0 and units.community[community] != parent):
            continue
        score = weight * twice - scaled * units.degree[community]
        if score > best_score or (
            score == best_score and best not in {-1, stay} and units.ident[community] < units.ident[best]
        ):
            best, best_score = community, score
    return best


def choose(state: Levels, h: int, unit: int, sums: Sums) -> int:
    """Return the community of partition ``h`` for the unit by the rule above; open a new one if that is better."""
    own = state.chain(h, state.levels[h].community[unit])
    degree = state.levels[h].degree[unit]
    parent, home = -1, True
    for s in range(state.top - 1, h - 1, -1):
        best = best_of(state, s, sums[s - h], degree, own[s - h] if home else -1, parent)
        if best < 0:
            return state.open_chain(h, s, parent)
        home = home and best == own[s - h]
        parent = best
    return parent


def transfer(state: Levels, h: int, unit: int, target: int, sums: Sums) -> None:
    """Move a unit into another community of partition ``h`` and carry the weights upwards until the branches meet."""
    level = state.levels[h]
    source = level.community[unit]
    degree, size = level.degree[unit], level.size[unit]
    state.record(h, unit)
    level.community[unit] = target
    state.levels[h + 1].members[source].discard(unit)
    state.levels[h + 1].members[target].add(unit)
    for s, a, b in zip(range(h, state.top), state.chain(h, source), state.chain(h, target), strict=True):
        if a == b:
            break
        above = state.levels[s + 1]
        weights = sums[s - h]
        state.levels[s].inside += weights.get(b, 0) - weights.get(a, 0)
        state.add_degree(s + 1, a, -degree)
        state.add_degree(s + 1, b, degree)
        above.size[a] -= size
        above.size[b] += size
        if s + 1 < state.top or state.tracked_top:
            for other, weight in weights.items():
                state.touch(s + 1, other, weight)
                if other != a:
                    state.add_edge(s + 1, a, other, -weight)
                if other != b:
                    state.add_edge(s + 1, b, other, weight)
    state.close_if_empty(h, source)


def move(state: Levels, h: int, unit: int, target: int, sums: Sums) -> None:
    """Transfer a unit, and note the former neighbours in the community that only the unit may have connected.

    A leaf connects no other units. But if it represented its part of a community marked as disconnected, its single
    neighbour represents that part now.
    """
    level = state.levels[h]
    source = level.community[unit]
    if sums[0].get(source, 0):
        left = [other for other in level.adjacency[unit] if level.community[other] == source]
        if len(left) > 1 or source in state.loosened[h]:
            state.mark_disconnected(h, source, *left)
    transfer(state, h, unit, target, sums)


def propagate(state: Levels, h: int) -> bool:
    """Examine the due units of a level in order, mark the neighbours of those that move; return True if any moved."""
    level = state.levels[h]
    queue = sorted((u for u in state.touched[h] if state.due(h, u)), key=lambda u: state.key(h, u))
    moved = False
    for _ in range(ROUNDS):
        waiting, woken = set(queue), set[int]()
        for unit in queue:
            waiting.discard(unit)
            state.touched[h].pop(unit, None)
            if level.community[unit] < 0:
                continue
            sums = gather(state, h, unit)
            target = choose(state, h, unit, sums)
            if target == level.community[unit]:
                continue
            moved = True
            move(state, h, unit, target, sums)
            for other, weight in level.adjacency[unit].items():
                if level.community[other] != target:
                    state.touch(h, other, weight)
                    if other not in waiting and state.due(h, other):
                        woken.add(other)
        if not woken:
            break
        queue = sorted(woken, key=lambda u: state.key(h, u))
    return moved
