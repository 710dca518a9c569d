"""The graphs that an agent reaches, and its permissions.

The invariant: the policy of HTTP and gRPC decides (`services/access/policy.py`), for each call, with the caller of that
call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from graphtide.services.access.policy import Action, Principal, refusal
from graphtide.services.sdk.interface import Database, Graph


@dataclass(frozen=True, slots=True)
class AgentSession:
    """The graphs of one service. `who` returns the caller of the call in progress."""

    database: Database
    who: Callable[[], Principal]

    def permit(self, action: Action, graph: str | None) -> None:
        """Raise Forbidden when the caller may not perform `action` on `graph`."""
        error = refusal(self.who(), action, graph)
        if error is not None:
            raise error

    def may(self, action: Action) -> bool:
        """Return True if the caller may perform `action` on some graph."""
        who = self.who()
        return action in who.actions and bool(who.graphs)

    def graph(self, name: str) -> Graph:
        return self.database.graph(name)
