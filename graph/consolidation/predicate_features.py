"""Features of the live predicates: a sample of the statements of each, and what the resolver compares.

The sample is the statements with the smallest hash values (bottom-k sampling, Cohen 1997), so it is a function of the
live set, and of n statements of a predicate the next one changes it with probability k/n.

Invariant: after `follow`, every live predicate is sampled over exactly the live statements, and the resolver has its
present features.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from hashlib import blake2b

from graphtide.graph.consolidation.label_contexts import CONTEXT_SIZE, statement_text
from graphtide.graph.consolidation.state import StatementState, Tables
from graphtide.graph.resolution.predicates.resolver import PredicateFeatures, PredicateResolver
from graphtide.graph.resolution.predicates.vectors import predicate_vector, residual
from graphtide.graph.resolution.synonyms.questions import Context

SAMPLE_SIZE = 8
_NUMBER_BITS = 32


class LivePredicates:
    """The statements of each predicate by hash value. Memory: an int for each statement."""

    def __init__(self, tables: Tables, resolver: PredicateResolver) -> None:
        """Create an index without statements: `follow` adds those of the tables."""
        self._tables = tables
        self.resolver = resolver
        self._ranked: dict[str, list[int]] = {}
        self._sampled: dict[str, frozenset[int]] = {}
        """The labels that a predicate's sample is about."""
        self._about: dict[int, set[str]] = {}

    def follow(self, changed: Iterable[int], gone: Iterable[int], labels: Iterable[int]) -> None:
        """Update the samples and the resolver. Call while the tables still hold what is gone.

        `changed` are statements with other sums, `gone` those of them that no fact states now, `labels` those with
        another mean. Cost: the changed statements, and the samples that they or the labels are in.
        """
        dead, stale = set(gone), set[str]()
        for number in changed:
            statement = self._tables.statements[number]
            if self._place(statement, present=number not in dead) < SAMPLE_SIZE:
                stale.add(statement.predicate)
        for label in labels:
            stale.update(self._about.get(label, ()))
        self.resolver.update({predicate: self._features(predicate) for predicate in sorted(stale)})

    def _place(self, statement: StatementState, *, present: bool) -> int:
        """Insert or remove a statement, and return its place among those of its predicate."""
        ranked = self._ranked.setdefault(statement.predicate, [])
        rank = self._rank(statement)
        place = bisect_left(ranked, rank)
        is_ranked = place < len(ranked) and ranked[place] == rank
        if present and not is_ranked:
            ranked.insert(place, rank)
        elif is_ranked and not present:
            del ranked[place]
        return place

    def _rank(self, statement: StatementState) -> int:
        subject, predicate, object_ = statement.key
        labels = self._tables.labels
        text = "\0".join((*labels[subject].key, predicate, *labels[object_].key)).encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(text, digest_size=12).digest()) << _NUMBER_BITS | statement.number

    def _features(self, predicate: str) -> PredicateFeatures | None:
        tables = self._tables
        sample = [rank & ((1 << _NUMBER_BITS) - 1) for rank in self._ranked[predicate][:SAMPLE_SIZE]]
        statements = [tables.statements[number] for number in sample]
        self._note_labels(predicate, frozenset(end for each in statements for end in each.ends))
        if not statements:
            del self._ranked[predicate]
            return None
        residuals = (
            residual(each.mean(), tables.labels[each.subject].mean(), tables.labels[each.object].mean())
            for each in statements
        )
        subjects = frozenset(tables.labels[each.subject].type for each in statements) - {""}
        objects = frozenset(tables.labels[each.object].type for each in statements) - {""}
        context = _context(tables, sample[:CONTEXT_SIZE], subjects, objects)
        return PredicateFeatures(predicate_vector(residuals), subjects, objects, context)

    def _note_labels(self, predicate: str, labels: frozenset[int]) -> None:
        before = self._sampled.pop(predicate, frozenset())
        for label in before - labels:
            self._about[label].discard(predicate)
            if not self._about[label]:
                del self._about[label]
        for label in labels - before:
            self._about.setdefault(label, set()).add(predicate)
        if labels:
            self._sampled[predicate] = labels


def _context(tables: Tables, sample: Iterable[int], subjects: frozenset[str], objects: frozenset[str]) -> Context:
    """Return the types that a predicate joins, if any is known, and typical statements, one a line."""
    kinds = [f"{end}: {', '.join(sorted(types))}" for end, types in (("from", subjects), ("to", objects)) if types]
    return (*(["; ".join(kinds)] if kinds else ()), *(statement_text(tables, number) for number in sample))
