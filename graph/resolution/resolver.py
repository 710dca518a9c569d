"""Entity resolution: maintains the clusters of labels while labels are added, changed and removed.

The caller passes the changed labels and receives the changed clusters and links. The work depends on those labels and
their blocks, not on the number of labels. Vectors and entities belong to consolidation; this module stores nothing
durably and calls no model. Of a label it holds a reference to the caller's object, its keys in the blocks, and its
links and cluster if it has any; words and vectors are computed from the label where it is compared.

Invariant: clusters and links are a function of the set of live labels and of the verdicts, whatever the order of
arrival, whatever the labels' numbers, and whether synonyms are proposed or not. A deleted label leaves no trace, so its
deletion undoes the merges it justified. Source: Thakrar, DynaGRAG 2024, section 3.1, where a language model names
similar entities by label and context. Deviation: rules decide, so that the result can be reproduced and undone, and a
model is asked only for pairs that the rules leave open and for pairs with similar vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from graphtide.graph.algorithms.in_parts import sorted_in_parts
from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.number_table import NumberTable
from graphtide.graph.resolution import clusters
from graphtide.graph.resolution.blocking import BlockKey, Blocks, lexical_keys, vector_keys
from graphtide.graph.resolution.cannot_link import cannot_link_reason
from graphtide.graph.resolution.changes import ClusterChange, SameAs
from graphtide.graph.resolution.clusters import ClusterLink, ProposedLinks
from graphtide.graph.resolution.pair_scoring import (
    Borderline,
    LabelKey,
    PairKey,
    Proposal,
    ResolvableLabel,
    Verdict,
    assess_pair,
    pair_key,
    rounded_mean,
    score_pair,
    signature_of,
)
from graphtide.graph.resolution.similarity import may_match
from graphtide.graph.resolution.synonyms.blocking import MAX_NEIGHBOURS, synonym_keys
from graphtide.graph.resolution.synonyms.context_pairs import ContextPairs
from graphtide.graph.resolution.synonyms.questions import fingerprint_of, is_same
from graphtide.graph.resolution.synonyms.scoring import assess_synonym, is_similar

Pair = tuple[int, int]


class Resolver:
    """The clusters of the live labels. It has one owner and is not thread-safe."""

    def __init__(self, verdicts: Mapping[PairKey, Verdict] | None = None, *, synonyms: bool = False) -> None:
        """Create an empty resolver. `verdicts` are a judge's decisions so far, by `pair_key`; they are copied.

        With `synonyms` it finds pairs for a judge by vectors, too. A verdict that joins such a pair turns this on,
        because the pair is linked only as long as both labels are candidates.
        """
        self._verdicts: dict[PairKey, Verdict] = dict(verdicts or {})
        joined = any(fingerprint_of(verdict) and is_same(verdict) for verdict in self._verdicts.values())
        self._synonyms = Blocks(MAX_NEIGHBOURS) if synonyms or joined else None
        self._by_context = ContextPairs()
        self._labels: NumberTable[ResolvableLabel] = NumberTable()
        self._blocks = Blocks()
        self._links = ProposedLinks()
        self._awaiting: dict[int, set[int]] = {}
        self._clusters: dict[int, frozenset[int]] = {}  # clusters of two or more labels

    def update(self, changed: Mapping[int, ResolvableLabel | None]) -> ClusterChange:
        """Add new and changed labels, and remove those that are None.

        Call it once for each document, after the labels' means are known. An object may change its mean only before a
        call that names it: between two calls the `rounded` mean is that of the last one. Raises
        KeyError, before any change, for the removal of an unknown label. Cost: for each label some thirty dictionary
        operations, one small matrix product, at most `MAX_BLOCK` pair scores per key, and the linkage of the components
        touched.
        """
        work = _Update(self)
        for label, new in changed.items():
            if new is None and label not in self._labels:
                raise KeyError(label)
        for label, new in with_yields(changed.items()):
            work.replace(label, new)
        work.judge()
        return work.settle()

    def decide(self, pair: Pair, verdict: Verdict) -> ClusterChange:
        """Record a judge's verdict on a pair from `borderline` or `unchecked`, and apply it.

        Verdicts are kept permanently; a later verdict on a pair replaces the earlier one.
        """
        a, b = sorted(pair)
        self._verdicts[self._pair_key(a, b)] = verdict
        work = _Update(self)
        if self._synonyms is None and fingerprint_of(verdict):
            self._synonyms = Blocks(MAX_NEIGHBOURS)
            for number, label in self._labels.items():
                self._synonyms.put(number, {}, synonym_keys(label))
        work.judge_again(a, b)
        return work.settle()

    def restore(
        self, labels: Iterable[tuple[int, ResolvableLabel]], links: Iterable[SameAs], awaiting: Iterable[Pair] = ()
    ) -> None:
        """Rebuild the state from stored labels, all stored links and the pairs that awaited a verdict.

        Raises ValueError if the resolver is not empty. Only the given pairs are scored again, and with synonyms all
        candidates, so that no pair is lost that a judge has still to decide. Labels without a link are entities of
        their own, and not clustered again. Cost: linear in labels and links.
        """
        if self._labels:
            raise ValueError("the resolver is not empty: only an empty resolver can be restored")
        work = _Update(self)
        index = work.insert if self._synonyms is None else work.index
        for number, label in labels:
            index(number, label)
        if self._synonyms is not None:
            work.judge()
        for a, b in [*((link.a, link.b) for link in links), *awaiting]:
            work.judge_again(a, b)
        work.settle()

    def cluster_of(self, label: int) -> frozenset[int]:
        """Return the labels that are one entity with this one, itself included. Raises KeyError if it is not live."""
        if label not in self._labels:
            raise KeyError(label)
        return self._clusters.get(label) or frozenset((label,))

    def links_of(self, label: int) -> tuple[SameAs, ...]:
        """Return the links of a label that hold, in the order of the other label's number."""
        links = map(self._same_as, sorted(self._links.of(label), key=lambda link: (link.a, link.b)))
        return tuple(link for link in links if link.holds)

    def links(self) -> Iterator[SameAs]:
        """Yield every link once, those that were overruled too. Cost: the links."""
        return map(self._same_as, self._links)

    def evidence(self, a: int, b: int) -> SameAs | None:
        """Return the link between two labels, whether it holds or was overruled; None if none was proposed."""
        link = self._links.get(a, b)
        return None if link is None else self._same_as(link)

    def borderline(self) -> tuple[Pair, ...]:
        """Return the pairs that await a verdict, a < b, ordered by the labels' names."""
        pairs = [(a, b) for a, others in self._awaiting.items() for b in others if a < b]
        return tuple(sorted(pairs, key=lambda pair: self._pair_key(*pair)))

    @property
    def proposes_synonyms(self) -> bool:
        """Return whether pairs are found by vectors, too."""
        return self._synonyms is not None

    def unchecked(self) -> list[Pair]:
        """Return the pairs found by vectors whose verdict may be missing or outdated, the most similar ones first."""
        return self._by_context.unchecked(self._pair_key)

    def verdict(self, a: int, b: int) -> Verdict | None:
        """Return the verdict on two labels; None without one."""
        return self._verdicts.get(self._pair_key(a, b))

    def note_checked(self, a: int, b: int) -> None:
        """Note that the verdict on a pair from `unchecked` is that of the present contexts."""
        self._by_context.note_checked(_ordered(a, b))

    def note_contexts(self, labels: Iterable[int]) -> None:
        """Note that the statements about these labels changed. Cost: their pairs found by vectors."""
        self._by_context.note_contexts(labels)

    def _assess(self, a: int, b: int) -> Proposal | Borderline | None:
        """Assess a pair by words, and where these say nothing, by vectors; None for labels that are no candidates."""
        x, y = self._labels[a], self._labels[b]
        may = may_match(signature_of(x), signature_of(y)) and self._blocks.are_candidates(a, b)
        found = assess_pair(x, y) if may else None
        if found is not None or self._synonyms is None:
            return found
        synonym = assess_synonym(x, y)  # first, because it excludes most pairs and is the cheaper test
        return synonym if synonym is not None and self._synonyms.are_candidates(a, b) else None

    def _pair_key(self, a: int, b: int) -> PairKey:
        return pair_key(self._labels[a], self._labels[b])

    def _is_recorded(self, a: int, b: int) -> bool:
        """Return whether the last assessment of a pair left a link or a question."""
        return self._links.get(a, b) is not None or b in self._awaiting.get(a, ()) or self._by_context.has(a, b)

    def _same_as(self, link: ClusterLink) -> SameAs:
        cluster = self._clusters.get(link.a)
        return SameAs(link.a, link.b, link.rule, link.score_milli, cluster is not None and link.b in cluster)


class _Update:
    """One change of a resolver's state, from the changed labels to the changed clusters."""

    def __init__(self, state: Resolver) -> None:
        self._state = state
        self._before: dict[Pair, SameAs | None] = {}  # the earlier links of pairs that may have changed
        self._touched: set[int] = set()
        self._gone: dict[int, frozenset[int]] = {}  # removed labels and their former clusters
        self._new: set[int] = set()
        self._unjudged: set[int] = set()
        self._blocks_changed: set[BlockKey] = set()
        self._neighbourhoods_changed: set[BlockKey] = set()

    def replace(self, label: int, new: ResolvableLabel | None) -> None:
        """Replace a label by a new one, or follow its new mean, and retract everything derived from the old one."""
        old = self._state._labels.get(label)
        if new is None:
            self._forget(label)
            return
        if old is not None:
            self._unlink(label)
        self.index(label, new, same_words=old is not None and old.key == new.key)

    def index(self, label: int, new: ResolvableLabel, *, same_words: bool = False) -> None:
        """Insert a label, and note that `judge` has to score its pairs, and `settle` its cluster."""
        if label not in self._state._labels:
            self._new.add(label)
        self._blocks_changed.update(self.insert(label, new, same_words=same_words))
        if self._state._synonyms is not None:
            self._neighbourhoods_changed.update(self._state._synonyms.put(label, {}, synonym_keys(new)))
        self._touched.add(label)
        self._unjudged.add(label)

    def insert(self, label: int, new: ResolvableLabel, *, same_words: bool = False) -> Iterable[BlockKey]:
        """Insert a label into the blocks, and return those that opened or closed. `same_words`: its words are indexed
        already.
        """
        self._state._labels[label] = new
        words, vector = signature_of(new), rounded_mean(new)
        return self._state._blocks.put(label, None if same_words else lexical_keys(words), vector_keys(words, vector))

    def judge(self) -> None:
        """Score the candidates of every indexed label, and the pairs of blocks that opened or closed."""
        state = self._state
        pairs = self._pairs_in(state._blocks, self._blocks_changed)
        if state._synonyms is not None:
            pairs |= self._similar(self._pairs_in(state._synonyms, self._neighbourhoods_changed))
        for a, b in with_yields(pairs):
            self.judge_again(a, b)

    def _pairs_in(self, blocks: Blocks, changed: set[BlockKey]) -> set[Pair]:
        """Return the pairs to score: of blocks that opened or closed, and of the labels indexed."""
        pairs = set[Pair]()
        for key in with_yields(changed):
            pairs.update(_ordered(a, b) for a, b in blocks.pairs(key))
            members = blocks.members(key)
            pairs.update(_ordered(a, b) for a in members for b in self._proposed(a) & members)
        for label in with_yields(self._unjudged):
            pairs.update(_ordered(label, other) for other in blocks.candidates(label))
        return pairs

    def _similar(self, pairs: set[Pair]) -> set[Pair]:
        """Return the pairs whose vectors are similar enough, and those that were until now."""
        labels, by_context = self._state._labels, self._state._by_context
        vectors = {number: rounded_mean(labels[number]) for number in {number for pair in pairs for number in pair}}
        unit = {label: vector.astype(np.float32) for label, vector in vectors.items() if vector is not None}
        return {
            (a, b)
            for a, b in pairs
            if (a in unit and b in unit and is_similar(unit[a], unit[b])) or by_context.has(a, b)
        }

    def judge_again(self, a: int, b: int) -> None:
        """Score one pair again, and record the outcome, unless there is none and was none."""
        found = self._state._assess(a, b)
        if found is not None or self._state._is_recorded(a, b):
            self._put(a, b, found)

    def settle(self) -> ClusterChange:
        """Cluster the components that contain a touched label again, and return the differences."""
        state = self._state
        region = self._region()
        links = {(link.a, link.b): link for label in region for link in state._links.of(label)}
        for pair in with_yields(links):
            self._remember(*pair)  # the clusters are still the old ones
        before = {state._clusters.get(label) or frozenset((label,)) for label in region - self._new}
        before.update(self._gone.values())
        after = set(self._cluster(region, list(links.values())))
        for label in region | self._gone.keys():
            state._clusters.pop(label, None)
        for cluster in with_yields(after):
            if len(cluster) > 1:
                state._clusters.update(dict.fromkeys(cluster, cluster))
        added, removed = self._links_that_differ()
        return ClusterChange(_sorted(before - after), _sorted(after - before), added, removed)

    def _cluster(self, region: set[int], links: list[ClusterLink]) -> list[frozenset[int]]:
        labels, verdicts = self._state._labels, self._state._verdicts
        if not links:
            return [frozenset((label,)) for label in region]
        keys: dict[int, LabelKey] = {label: labels[label].key for label in region}
        linked = self._state._links
        sure = clusters.drop_ambiguous_links(
            links,
            lambda x, y: (
                linked.get(x, y) is not None or isinstance(score_pair(labels[x], labels[y], verdicts), Proposal)
            ),
        )
        return clusters.linkage(
            region,
            sure,
            keys,
            lambda x, y: cannot_link_reason(signature_of(labels[x]), signature_of(labels[y])) is not None,
        )

    def _region(self) -> set[int]:
        """Return all live labels connected to a touched one by proposed links."""
        links, labels = self._state._links, self._state._labels
        waiting = [label for label in self._touched if label in labels]
        region = set(waiting)
        while waiting:
            for other in links.others(waiting.pop()):
                if other not in region:
                    region.add(other)
                    waiting.append(other)
        return region

    def _forget(self, label: int) -> None:
        state = self._state
        self._gone[label] = state.cluster_of(label)
        self._unlink(label)
        self._blocks_changed.update(state._blocks.remove(label))
        if state._synonyms is not None:
            self._neighbourhoods_changed.update(state._synonyms.remove(label))
        del state._labels[label]

    def _unlink(self, label: int) -> None:
        self._touched.add(label)
        for other in self._proposed(label):
            self._put(label, other, None)

    def _proposed(self, label: int) -> set[int]:
        """Return the labels with which this one has a link or awaits a verdict, and those found by vectors."""
        state = self._state
        return state._awaiting.get(label, set()).union(state._links.others(label), state._by_context.of(label))

    def _put(self, a: int, b: int, found: Proposal | Borderline | None) -> None:
        """Record the assessment of a pair in place of the old one, and the verdict's effect."""
        state = self._state
        self._remember(a, b)
        outcome, awaits = self._after_verdict(a, b, found)
        state._by_context.put(_ordered(a, b), found)
        if isinstance(outcome, Proposal) or state._links.get(a, b) is not None:
            self._touched.update((a, b))
        state._links.drop(a, b)
        for x, y in ((a, b), (b, a)):
            if (others := state._awaiting.get(x)) is not None:
                others.discard(y)
                if not others:
                    del state._awaiting[x]
        if isinstance(outcome, Proposal):
            first, second = _ordered(a, b)
            general = (a, b)[outcome.general] if outcome.general >= 0 else -1
            state._links.put(ClusterLink(first, second, outcome.rule, outcome.score_milli, general))
        if awaits:
            state._awaiting.setdefault(a, set()).add(b)
            state._awaiting.setdefault(b, set()).add(a)

    def _after_verdict(self, a: int, b: int, found: Proposal | Borderline | None) -> tuple[Proposal | None, bool]:
        """Return the link that the assessment and the verdict justify, and whether the pair awaits one by its names.

        A verdict by other contexts applies until there is one by the present question, except that a verdict by names
        alone does not join a pair found by vectors: such links depend on nothing but verdicts by context.
        """
        if not isinstance(found, Borderline):
            return found, False
        verdict = self._state.verdict(a, b)
        asked_alike = verdict is not None and bool(fingerprint_of(verdict)) == found.by_context
        applies = verdict is not None and is_same(verdict) and (asked_alike or not found.by_context)
        return found.link if applies else None, not asked_alike and not found.by_context

    def _remember(self, a: int, b: int) -> None:
        pair = _ordered(a, b)
        if pair not in self._before:
            self._before[pair] = self._state.evidence(*pair)

    def _links_that_differ(self) -> tuple[tuple[SameAs, ...], tuple[SameAs, ...]]:
        now = {pair: self._state.evidence(*pair) for pair in self._before}
        changed = [pair for pair in sorted_in_parts(self._before) if self._before[pair] != now[pair]]
        added = tuple(link for pair in changed if (link := now[pair]) is not None)
        return added, tuple(link for pair in changed if (link := self._before[pair]) is not None)


def _ordered(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)


def _sorted(found: set[frozenset[int]]) -> tuple[frozenset[int], ...]:
    return tuple(cluster for _, cluster in sorted_in_parts((sorted(cluster), cluster) for cluster in found))
