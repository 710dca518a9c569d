"""What a process depends on, and how that adds up to ready or not.

Not the checks themselves: whoever owns a dependency fills a `Dependency`. The invariant: a process is ready exactly
when every dependency that it needs is well; what it can do without is named all the same.
"""

from __future__ import annotations

from services.application import Health


def in_outline(health: Health) -> Health:
    """The same without what names graphs, documents or addresses: for probes, which bring no credential."""
    return Health(
        health.ready, {name: said if said in _PLAIN else "see its log" for name, said in health.parts.items()}
    )


_PLAIN = frozenset({"running", "open"})
