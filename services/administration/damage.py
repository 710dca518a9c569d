"""Damage of stored graphs that a check has found, for health and log, until a later check finds none.

Invariants: a graph is named here from the check that found damage to its deletion, or to the check or the rebuild that
proves it sound; no message contains a row, since rows have texts of documents.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from graphtide.services.component_state import ComponentState, degraded
from graphtide.streams.errors import Broken

log = logging.getLogger("graphtide")


class Damage:
    """The damaged graphs and their messages. False while there are none."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def components(self) -> Mapping[str, ComponentState]:
        """Return the health components: for each damaged graph what is wrong and how to repair it."""
        return {f"graph {graph}": degraded(message) for graph, message in sorted(self._found.items())}

    @contextmanager
    def noted(self, graph: str) -> Iterator[None]:
        """Record a Broken that a check of the graph raises, and raise it again."""
        try:
            yield
        except Broken as error:
            self._note(graph, str(error))
            raise

    def note_differences(self, graph: str, differences: Sequence[str]) -> None:
        """Record the differences that a check has found; no differences prove the graph sound."""
        if differences:
            found = f"damaged: {len(differences)} differences between stored rows and documents"
            self._note(
                graph,
                f"{found}; `graphtide verify --graph {graph}` lists them, `graphtide rebuild --graph {graph}` repairs",
            )
        else:
            self.repaired(graph)

    def keep(self, exists: Callable[[str], bool]) -> None:
        """Remove the graphs that no longer exist."""
        self._found = {graph: message for graph, message in self._found.items() if exists(graph)}

    def repaired(self, graph: str) -> None:
        """Remove the graph: it is sound."""
        if self._found.pop(graph, None):
            log.info("graph %s: the damage found earlier is repaired", graph)

    def _note(self, graph: str, message: str) -> None:
        self._found[graph] = message
        log.error("graph %s: %s", graph, message)
