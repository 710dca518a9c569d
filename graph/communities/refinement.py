"""A community that has grown may have become two: what merged while the graph was small is taken apart again.

Single moves cannot do it, and without it every early merger stays (of twelve planted blocks streamed from nothing,
one to three pairs stayed together). So a community whose degree has changed by an eighth to a quarter is clustered
again from single units, on the side and inside itself only; it is divided if that raises its partition's modularity.
The parts are siblings, so no coarser partition changes, and the gain is strict: the order of `moving` still rises.
Amortised over the change that made it due, the cost is a constant per unit of weight.
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
        """Local moving from single units, in order, each to the group that gains most; ties stay, then the first."""
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
        """Weights between the groups."""
        weights: dict[int, dict[int, int]] = {group: {} for group in sorted(set(self.group))}
        for unit, links in enumerate(self.links):
            row = weights[self.group[unit]]
            for other, weight in links:
                if self.group[other] != self.group[unit]:
                    row[self.group[other]] = row.get(self.group[other], 0) + weight
        return weights

    def join_groups(self) -> None:
        """Merge pairs of groups, in order, each with the one that gains most, until none gains."""
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
        """The group whose merger gains most (ties: the first), or -1."""
        best, best_gain = -1, 0
        for other, weight in row.items():
            gain = weight * self.twice - self.resolution * self.total[group] * self.total[other]
            if gain > best_gain or (gain == best_gain and 0 <= other < best):
                best, best_gain = other, gain
        return best

    def gain(self) -> int:
        """What dividing into the groups adds to the modularity, times the squared total degree."""
        cut = sum(w for u, links in enumerate(self.links) for v, w in links if self.group[u] != self.group[v])
        totals = [self.total[group] for group in set(self.group)]
        return self.resolution * (sum(totals) ** 2 - sum(t * t for t in totals)) - cut * self.twice

    def components(self) -> list[list[int]]:
        """The connected parts of the groups, by position; parts in the order of their first unit."""
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
    """Divide the communities of partition ``h`` that have changed enough and gain by it; True if any was."""
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
    """The region of a community's units, each a group of its own."""
    level = state.levels[h]
    position = {unit: place for place, unit in enumerate(units)}
    for unit in units:
        state.visit(h, unit)
    links = [[(position[v], w) for v, w in level.adjacency[u].items() if v in position] for u in units]
    degree = [level.degree[u] for u in units]
    return RefinementRegion(links, degree, list(range(len(units))), list(degree), 2 * state.total_weight, RESOLUTION[h])
