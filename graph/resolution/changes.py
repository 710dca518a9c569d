"""Links with their evidence, and changed clusters, as a resolver reports them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SameAs:
    """A link between two labels, a < b, and its evidence: the rule that made it and its score in thousandths.

    A link that does not hold was proposed and then overruled, because one side is ambiguous or a cannot-link constraint
    forbade the union. It is stored because it may hold again when another label is removed.
    """

    a: int
    b: int
    rule: str
    score_milli: int
    holds: bool = True


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """Clusters before and after an update, disjoint on each side, and the links that differ.

    A new label forms at least a cluster of one; a removed label is in `dissolved` only. `links_removed` gives the links
    as they were; a link that stops or starts to hold is in both. All tuples are sorted.
    """

    dissolved: tuple[frozenset[int], ...] = ()
    formed: tuple[frozenset[int], ...] = ()
    links_added: tuple[SameAs, ...] = ()
    links_removed: tuple[SameAs, ...] = ()
