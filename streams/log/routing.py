"""Routing of a graph's records to its partition of `extractions`.

A graph is bound permanently to a partition by its first commit, so a binding that was read once is cached. The records
of a graph without a binding are partitioned by key; a consolidator that reads a record of a graph bound to another
partition forwards it there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

Bindings = Callable[[Sequence[str]], Awaitable[Mapping[str, int]]]
"""The signature of GraphStore.bindings."""


async def unbound(_: Sequence[str]) -> Mapping[str, int]:
    """Return no bindings: a log with one partition needs none."""
    return {}


class Routes:
    """Cache of the bindings that this process has read. Memory: one number per graph."""

    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self._known: dict[str, int] = {}

    async def of(self, graph: str) -> int | None:
        """Return the partition that the graph is bound to, None without a binding. Cost: none once it is known."""
        return (await self.bindings_of([graph])).get(graph)

    async def bindings_of(self, graphs: Sequence[str]) -> Mapping[str, int]:
        """Return the bindings of these graphs; graphs without one are left out, and read again the next time."""
        unknown = [graph for graph in graphs if graph not in self._known]
        if unknown:
            self._known.update(await self._bindings(unknown))
        return {graph: self._known[graph] for graph in graphs if graph in self._known}
