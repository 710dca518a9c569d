"""The time that a request waits for a graph that must be loaded first, chosen by the process that sent the request.

A gateway that knows other holders of a graph need not wait for one that loads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum


class LoadPolicy(StrEnum):
    """The reaction of a request to a graph that is not in memory."""

    WAIT = "wait"
    """Load the graph and wait for it."""
    BRIEFLY = "briefly"
    """Load the graph and wait for a moment; then raise NotLoaded while the load continues."""
    NEVER = "never"
    """Raise NotLoaded at once and load nothing."""


LOAD_KEY = "graphtide-load"
"""Metadata of a call between processes: the policy of its request."""
LOAD_POLICY: ContextVar[LoadPolicy] = ContextVar("graphtide-load-policy", default=LoadPolicy.WAIT)
"""The policy of the current request."""
_POLICIES = {policy.value: policy for policy in LoadPolicy}


@contextmanager
def load_policy(metadata: Iterable[tuple[str, object]]) -> Iterator[None]:
    """Apply the policy in the metadata of a call to the block. Unknown ones, which a newer gateway may send, wait."""
    token = LOAD_POLICY.set(_POLICIES.get(str(dict(metadata).get(LOAD_KEY, "")), LoadPolicy.WAIT))
    try:
        yield
    finally:
        LOAD_POLICY.reset(token)
