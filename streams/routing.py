"""Routes: which partition of `extractions` a graph's records belong to.

A graph is bound to a partition by its first commit, for ever, so a binding that was seen once is kept. A graph without
one goes by its key; the consolidator that meets a record of a graph which is bound elsewhere forwards it there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

Bindings = Callable[[Sequence[str]], Awaitable[Mapping[str, int]]]
"""GraphStore.bindings."""


async def unbound(_: Sequence[str]) -> Mapping[str, int]:
    """The bindings of a log with one partition: nobody needs to know."""
    return {}


class Routes:
    """The bindings that this process has seen. Memory: a number for each graph."""

    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self._known: dict[str, int] = {}

    async def of(self, graph: str) -> int | None:
        """The partition that the graph is bound to, None as long as it has none. Cost: nothing once it is known."""
        return (await self.induced_edges([graph])).get(graph)

    async def induced_edges(self, graphs: Sequence[str]) -> Mapping[str, int]:
        """The bindings of these graphs; those without one are left out, and looked up again the next time."""
        unknown = [graph for graph in graphs if graph not in self._known]
        if unknown:
            self._known.update(await self._bindings(unknown))
        return {graph: self._known[graph] for graph in graphs if graph in self._known}
