"""DBSCAN by its definitions: a walk from each core in the order given, one neighbour at a time."""

from __future__ import annotations

from collections.abc import Sequence

NOISE = -1


def slow_dbscan(distance: Sequence[Sequence[float]], eps: float, min_samples: int) -> list[int]:
    """Return the cluster of each of n points from (n, n) distances; -1 for noise. Ester et al. 1996, section 3."""
    points = range(len(distance))
    near = {a: [b for b in points if a == b or distance[a][b] <= eps] for a in points}
    cores = [a for a in points if len(near[a]) >= min_samples]
    cluster = [NOISE] * len(distance)
    clusters = 0
    for first in cores:
        if cluster[first] != NOISE:
            continue
        walk = [first]
        while walk:
            point = walk.pop()
            if cluster[point] != NOISE:
                continue
            cluster[point] = clusters
            if point in cores:
                walk.extend(near[point])
        clusters += 1
    return cluster
