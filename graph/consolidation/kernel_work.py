"""Counters of the kernels' work, in units that are the same on every machine.

They measure no time and are not part of the graph's state: no decision uses them, and a restored graph starts at zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphtide.graph.algorithms.trussness import Trussness
from graphtide.graph.communities import Communities


@dataclass(frozen=True, slots=True)
class KernelWork:
    """Work counters: ``triangles`` listed by the trussness kernel; units examined by the communities, and the links
    they read.
    """

    triangles: int
    community_units: int
    community_links: int

    def since(self, before: KernelWork) -> KernelWork:
        """Return the work added since ``before``."""
        return KernelWork(
            self.triangles - before.triangles,
            self.community_units - before.community_units,
            self.community_links - before.community_links,
        )


def kernel_work_of(trussness: Trussness, communities: Communities) -> KernelWork:
    """Return the counters of both kernels; O(1)."""
    work = communities.work()
    return KernelWork(trussness.work(), work.units, work.links)
