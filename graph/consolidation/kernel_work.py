"""What keeping a graph's structure current took, in counts that are the same on every machine.

Not a clock, and no part of the graph's state: nothing is decided by it, and a restored graph begins at zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphtide.graph.communities import Communities
from graphtide.graph.trussness import Trussness


@dataclass(frozen=True, slots=True)
class KernelWork:
    """``triangles`` that the trussness kernel listed; units that the communities examined, and the links it read."""

    triangles: int
    community_units: int
    community_links: int

    def since(self, before: KernelWork) -> KernelWork:
        """What came on top of ``before``."""
        return KernelWork(
            self.triangles - before.triangles,
            self.community_units - before.community_units,
            self.community_links - before.community_links,
        )


def kernel_work_of(trussness: Trussness, communities: Communities) -> KernelWork:
    """What the two took so far; O(1)."""
    work = communities.work()
    return KernelWork(trussness.work(), work.units, work.links)
