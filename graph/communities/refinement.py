"""Refinement: a community that has grown is divided where two communities fit better.

Moves of single units cannot divide it, and without refinement every early merger stays (of twelve planted blocks
streamed into an empty graph, one to three pairs stayed together). So a community whose degree has changed by an eighth
to a quarter is clustered again from single units, on a copy and inside itself only. It is divided if that raises its
partition's modularity. The parts are siblings, so no coarser partition changes, and the gain is strict: the
lexicographic order of `local_moving` still rises. Amortised over the change that made it due, the cost is a constant
per unit of weight.
"""

from dataclasses import dataclass

from graphtide.graph.communities.connectivity import detach
from graphtide.graph.communities.levels import Levels
from graphtide.graph.communities.local_moving import RESOLUTION, ROUNDS


@dataclass(slots=True)
class RefinementRegion:
    """The inside of one community: its units by position, in the order of their idents, and a grouping of them."""

    links: list[list[tuple[int, int]]]  # position -> (position, weight)
    degree: list[int]
    group: list[int]
    total: list[int]  # group -> degree
    twice: int  # total weight of the whole graph, twice
    resolution: int

    def regroup(self) -> None:
        """Move single units in order, each to the group that gains most; ties keep the unit, else the first wins."""
        for _ in range(ROUNDS):
            moved = False
            for unit, links in enumerate(self.links):
                sums: dict[int, int] = {}
                for other, weight in links:
                    sums[self.group[other]] = sums.get(self.group[other], 0) + weight
                own, scaled = self.group[unit], self.degree[unit] * self.resolution
                best, best_score = own, sums.get(own, 0) * self.twice - scaled * (self.total[own] - self.degree[unit])
                for group, weight in sums.items():
                    score = weight * self.twice - scaled * self.total[group]
                    if group != own and (score > best_score or (score == best_score and own != best > group)):
                        best, best_score = group, score
                if best != own:
                    moved = True
                    self.total[own] -= self.degree[unit]
                    self.total[best] += self.degree[unit]
                    self.group[unit] = best
            if not moved:
                return

    def between(self) -> dict[int, dict[int, int]]:
        """Return the weights between the groups."""
        weights: dict[int, dict[int, int]] = {group: {} for group in sorted(set(self.group))}
        for unit, links in enumerate(self.links):
            row = weights[self.group[unit]]
            for other, weight in links:
                if self.group[other] != self.group[unit]:
                    row[self.group[other]] = row.get(self.group[other], 0) + weight
        return weights

    def join_groups(self) -> None:
        """Merge pairs of groups, in order, each with the group that gains most, until none gains."""
        weights, into = self.between(), list(range(len(self.links)))
        for _ in range(ROUNDS):
            merged = False
            for group in sorted(weights):
                if group not in weights or (other := self.best_pair(group, weights[group])) < 0:
                    continue
                merged = True
                for third, weight in weights.pop(other).items():
                    del weights[third][other]
                    if third != group:
                        weights[group][third] = weights[third][group] = weights[group].get(third, 0) + weight
                self.total[group] += self.total[other]
                into[other] = group
            if not merged:
                break
        for unit in range(len(self.group)):
            while into[self.group[unit]] != self.group[unit]:
                self.group[unit] = into[self.group[unit]]

    def best_pair(self, group: int, row: dict[int, int]) -> int:
        """Return the group whose merger gains most (ties: the first), or -1."""
        best, best_gain = -1, 0
        for other, weight in row.items():
            gain = weight * self.twice - self.resolution * self.total[group] * self.total[other]
            if gain > best_gain or (gain == best_gain and 0 <= other < best):
                best, best_gain = other, gain
        return best

    def gain(self) -> int:
        """Return what dividing into the groups adds to the modularity, times the squared total degree."""
        cut = sum(w for u, links in enumerate(self.links) for v, w in links if self.group[u] != self.group[v])
        totals = [self.total[group] for group in set(self.group)]
        return self.resolution * (sum(totals) ** 2 - sum(t * t for t in totals)) - cut * self.twice

    def components(self) -> list[list[int]]:
        """Return the connected parts of the groups, by position; parts are in the order of their first unit."""
        seen: set[int] = set()
        parts: list[list[int]] = []
        for start in range(len(self.links)):
            if start in seen:
                continue
            seen.add(start)
            part, fringe = [start], [start]
            while fringe:
                unit = fringe.pop()
                for other, _ in self.links[unit]:
                    if other not in seen and self.group[other] == self.group[unit]:
                        seen.add(other)
                        part.append(other)
                        fringe.append(other)
            parts.append(sorted(part))
        return parts


def divide(state: Levels, h: int) -> bool:
    """Divide the communities of partition ``h`` that changed enough and gain by it; return True if any was divided."""
    above, done = state.levels[h + 1], False
    grown = [unit for unit in state.touched[h + 1] if state.regrown(h + 1, unit)]
    for community in sorted(grown, key=lambda u: above.ident[u]):
        units = sorted(above.members[community], key=lambda u: state.key(h, u))
        if len(units) < 2:
            continue
        region = inside(state, h, units)
        region.regroup()
        region.join_groups()
        if region.gain() <= 0:
            continue
        done = True
        parts = [[units[position] for position in part] for part in region.components()]
        parts.sort(key=lambda part: -sum(state.levels[h].size[u] for u in part))
        for part in parts[1:]:
            detach(state, h, community, part)
    return done


def inside(state: Levels, h: int, units: list[int]) -> RefinementRegion:
    """Return the region of a community's units, each a group of its own."""
    level = state.levels[h]
    position = {unit: place for place, unit in enumerate(units)}
    for unit in units:
        state.visit(h, unit)
    links = [[(position[v], w) for v, w in level.adjacency[u].items() if v in position] for u in units]
    degree = [level.degree[u] for u in units]
    return RefinementRegion(links, degree, list(range(len(units))), list(degree), 2 * state.total_weight, RESOLUTION[h])
