"""The policy: who may do what to which graph. One pure function judges for HTTP and gRPC alike.

Not authentication: whoever comes here is known, or is None. The invariants: nothing is allowed unless it was given by
name, no action implies another, and a refusal does not depend on whether the graph exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase

from graphtide.services.api.schema.errors import Forbidden, Unauthenticated
from graphtide.streams.errors import QueryError

EVERY_GRAPH = "*"


class Action(StrEnum):
    """What can be done. `metrics`: read /metrics and the details of /readyz, which name graphs and documents."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    METRICS = "metrics"


@dataclass(frozen=True, slots=True)
class Quota:
    """How much the graphs that one caller may write hold together, whoever wrote it. 0: no limit."""

    documents: int = 0
    size_bytes: int = 0
    """UTF-8 bytes of the documents' text."""
    graphs: int = 0
    """Graphs that hold a document."""

    def __bool__(self) -> bool:
        return bool(self.documents or self.size_bytes or self.graphs)


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much one caller may ask for. 0: no limit of its own."""

    requests_per_second: float = 0.0
    burst: int = 0
    """Requests that may come at once; 0: one second's worth, at least one."""
    max_body_bytes: int = 0
    quota: Quota = Quota()


@dataclass(frozen=True, slots=True)
class Principal:
    """A known caller: its name for the log, and what it was given."""

    name: str
    graphs: tuple[str, ...]
    """Names, or patterns with * and ?."""
    actions: frozenset[Action]
    allowance: Allowance = field(default_factory=Allowance)

    def reaches(self, graph: str) -> bool:
        """Whether the graph is one of those that were given. EVERY_GRAPH is no graph's name: only `*` reaches it."""
        if graph == EVERY_GRAPH:
            return EVERY_GRAPH in self.graphs
        return any(fnmatchcase(graph, pattern) for pattern in self.graphs)


ANYONE = Principal("", (EVERY_GRAPH,), frozenset(Action))
"""Whoever calls a service that asks for no credentials."""

STRANGER = Principal("", (), frozenset())
"""Whoever reads an open page of a service that does ask."""


def refusal(who: Principal | None, action: Action, graph: str | None) -> QueryError | None:
    """None when `who` may do `action` to `graph`, else the error that says so. `graph` None: to no graph of its own.

    Pure, and O(patterns of the principal). What a listing shows is cut down by `visible`.
    """
    if who is None:
        return Unauthenticated("credentials are needed: send Authorization: Bearer …, or X-API-Key")
    if action not in who.actions:
        return Forbidden(f"{who.name} was not given the action {action.value}")
    if graph is not None and not who.reaches(graph):
        return Forbidden(f"{who.name} was not given the graph {graph[:80]!r}")
    return None


def visible(who: Principal, graphs: Iterable[str]) -> list[str]:
    """Those of `graphs` that `who` may read, in their order."""
    return [graph for graph in graphs if refusal(who, Action.READ, graph) is None]
