"""Models of one view that are created when a question first needs them, and follow its changes from then on.

Invariant: a follower receives every delta that the view applies after its creation. A view without such questions has
no follower, and its commits cost nothing here.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Protocol, TypeVar, cast

from graphtide.graph.records import GraphDelta


class Follower(Protocol):
    """A model that follows a view."""

    def follow(self, delta: GraphDelta, touched: Collection[int]) -> None:
        """Note a delta that the view's tables hold already; `touched` are the entities whose row, relations or
        passages it changed. Called under the view's write lock.
        """


Model = TypeVar("Model", bound=Follower)


class Followers:
    """The followers of one view, one of each class. Readers call `get`, in any thread; the view's writer the rest."""

    def __init__(self) -> None:
        self._followers: dict[type[Follower], Follower] = {}
        self._creating = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._followers)

    def get(self, kind: type[Model]) -> Model:
        """Return the model of a class. Call under the view's read lock."""
        with self._creating:
            return cast(Model, self._followers.setdefault(kind, kind()))

    def follow(self, delta: GraphDelta, touched: Collection[int]) -> None:
        """Pass a delta to every model. A snapshot drops them: its numbers have nothing to do with the old ones."""
        if delta.snapshot:
            self._followers.clear()
        for model in self._followers.values():
            model.follow(delta, touched)
