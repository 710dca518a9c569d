"""Groups of predicates with one meaning, as a view shows them: the components of the links between predicates.

Invariant: groups are a function of the set of links alone. A predicate without a link is its own name.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping

from graphtide.graph.resolution.predicates.pairs import PredicatePair
from graphtide.graph.view_state.overlay import Overlay, Writing


class PredicateGroups:
    """The groups of one view. Memory: the linked predicates."""

    def __init__(self, links: Iterable[PredicatePair] = ()) -> None:
        self._links: MutableMapping[str, set[str]] = {}
        self._groups: MutableMapping[str, tuple[str, ...]] = {}
        self.apply(links, ())

    def fork(self, writing: Writing) -> PredicateGroups:
        """Return groups over these, for a fork of their view (view_state/overlay.py)."""
        forked = PredicateGroups()
        forked._links, forked._groups = Overlay(self._links, writing, set), Overlay(self._groups, writing)
        return forked

    def apply(self, added: Iterable[PredicatePair], removed: Iterable[PredicatePair]) -> None:
        """Add and remove links. Cost: the groups of their predicates."""
        touched = set[str]()
        for a, b in removed:
            for one, other in ((a, b), (b, a)):
                self._links.get(one, set[str]()).discard(other)
                touched.update(self.members(one))
        for a, b in added:
            for one, other in ((a, b), (b, a)):
                self._links.setdefault(one, set()).add(other)
                touched.update(self.members(one))
        for name in touched:
            self._groups.pop(name, None)
            if not self._links.get(name):
                self._links.pop(name, None)
        for name in touched:
            if name in self._links and name not in self._groups:
                group = tuple(sorted(self._component(name), key=_plainness))
                self._groups.update(dict.fromkeys(group, group))

    def name(self, predicate: str) -> str:
        """Return the name under which a predicate is shown: the shortest of its group, of equally short ones the first
        by alphabet.
        """
        return self._groups[predicate][0] if predicate in self._groups else predicate

    def members(self, predicate: str) -> tuple[str, ...]:
        """Return the predicates with the meaning of this one, itself included, the one that is shown first."""
        return self._groups.get(predicate, (predicate,))

    def links(self) -> tuple[PredicatePair, ...]:
        """Return all links, sorted."""
        return tuple(sorted((a, b) for a, others in self._links.items() for b in others if a < b))

    def links_of(self, predicate: str) -> tuple[PredicatePair, ...]:
        """Return the links of a predicate's whole group, sorted."""
        group = self.members(predicate)
        return tuple(sorted((a, b) for a in group for b in self._links.get(a, ()) if a < b))

    def has(self, pair: PredicatePair) -> bool:
        """Return whether two predicates are linked directly."""
        return pair[1] in self._links.get(pair[0], ())

    def __len__(self) -> int:
        """Return the number of links."""
        return sum(map(len, self._links.values())) // 2

    def _component(self, name: str) -> set[str]:
        found, waiting = {name}, [name]
        while waiting:
            for other in self._links[waiting.pop()] - found:
                found.add(other)
                waiting.append(other)
        return found


def _plainness(predicate: str) -> tuple[int, str]:
    return len(predicate), predicate
