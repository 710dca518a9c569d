"""Entity resolution: the state is a function of the live labels, after any changes and a restart."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from graphtide.graph.resolution import ClusterChange, LabelView, Resolver, SameAs, blocking
from tests.model.resolution_oracle import NaiveResolver
from tests.support.label_views import random_label_view


def _walk(generator: random.Random, steps: int) -> Iterable[dict[int, LabelView | None]]:
    """Yield batches of inserts, changes of vector and deletions. No two live labels have the same name and type."""
    live: dict[int, LabelView] = {}
    for step in range(steps):
        batch: dict[int, LabelView | None] = {}
        for _ in range(generator.choice((1, 1, 2, 5))):
            view = random_label_view(generator)
            same = next((i for i, v in live.items() if (v.name, v.type) == (view.name, view.type)), None)
            grows = step < steps * 2 // 3 or generator.random() < 0.3
            if same is None and grows:
                label = generator.choice([i for i in range(400) if i not in live and i not in batch])
                live[label] = view
                batch[label] = view
            elif same is not None and same not in batch:
                if grows and generator.random() < 0.6:
                    live[same] = view
                    batch[same] = view
                else:
                    del live[same]
                    batch[same] = None
        yield batch


def _all_links(resolver: Resolver, live: Iterable[int]) -> set[SameAs]:
    ordered = sorted(live)
    found = (resolver.evidence(a, b) for i, a in enumerate(ordered) for b in ordered[i + 1 :])
    return {link for link in found if link is not None}


class _Mirror:
    """Content of a store that only applies the changes."""

    def __init__(self) -> None:
        self.clusters: set[frozenset[int]] = set()
        self.links: set[SameAs] = set()

    def apply(self, change: ClusterChange) -> None:
        """Remove the old rows and insert the new ones; each must exist, or not, before."""
        assert set(change.dissolved) <= self.clusters
        self.clusters = (self.clusters - set(change.dissolved)) | set(change.formed)
        assert set(change.links_removed) <= self.links
        self.links = (self.links - set(change.links_removed)) | set(change.links_added)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_block", [3, 24])
def test_resolver_equals_the_oracle_when_labels_come_change_and_go(
    seed: int, max_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After every step of a random walk: the same clusters, links and open questions as a computation from scratch, and
    the same for a store that applied the reported changes; also when blocks close and open frequently.
    """
    print(f"seed {seed}, blocks of {max_block}")
    monkeypatch.setattr(blocking, "MAX_BLOCK", max_block)
    generator = random.Random(seed)
    resolver, oracle, mirror, live = Resolver(), NaiveResolver(), _Mirror(), set[int]()
    for batch in _walk(generator, 90):
        mirror.apply(resolver.update(batch))
        oracle.update(batch)
        live = (live | batch.keys()) - {label for label, view in batch.items() if view is None}
        if resolver.borderline() and generator.random() < 0.3:
            pair, verdict = generator.choice(resolver.borderline()), generator.random() < 0.6
            mirror.apply(resolver.decide(pair, verdict))
            oracle.decide(pair, verdict)
        for label in live:
            assert resolver.cluster_of(label) == oracle.cluster_of(label)
        links = _all_links(resolver, live)
        assert {(s.a, s.b, s.rule, s.score_milli, s.holds) for s in links} == oracle.links()
        assert set(resolver.borderline()) == oracle.borderline()
        assert mirror.clusters == {resolver.cluster_of(label) for label in live}
        assert mirror.links == links
    assert live


@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_the_same_when_order_and_numbers_differ(seed: int) -> None:
    """The live labels are the same under other numbers, in another order and other batches, after other deletions."""
    print(f"seed {seed}")
    generator = random.Random(seed)
    views = {(v.name, v.type): v for v in (random_label_view(generator) for _ in range(150))}
    results = []
    for _ in range(3):
        order = sorted(views)
        generator.shuffle(order)
        numbers = dict(zip(order, generator.sample(range(10_000), len(order)), strict=True))
        resolver = Resolver()
        passing = [(f"passing {k[0]}", k[1]) for k in order[::3]]
        resolver.update({20_000 + i: LabelView(*key, None) for i, key in enumerate(passing)})
        for start in range(0, len(order), size := generator.randrange(1, 9)):
            resolver.update({numbers[key]: views[key] for key in order[start : start + size]})
        resolver.update({20_000 + i: None for i in range(len(passing))})
        names = {number: key for key, number in numbers.items()}
        clusters = {frozenset(names[i] for i in resolver.cluster_of(n)) for n in names}
        open_pairs = [tuple(sorted((names[a], names[b]))) for a, b in resolver.borderline()]
        results.append((clusters, open_pairs))
    assert results[0] == results[1] == results[2]


def test_restored_resolver_goes_on_as_the_original_when_fed_the_same() -> None:
    """Labels, links and open questions are the whole state."""
    generator = random.Random(5)
    resolver, live, links = Resolver(), dict[int, LabelView](), set[SameAs]()
    batches = list(_walk(generator, 80))
    for batch in batches[:40]:
        change = resolver.update(batch)
        links = (links - set(change.links_removed)) | set(change.links_added)
        live.update({label: view for label, view in batch.items() if view is not None})
        for label in [label for label, view in batch.items() if view is None]:
            del live[label]
    restored = Resolver()
    restored.restore(live.items(), links, resolver.borderline())
    assert [restored.cluster_of(i) for i in live] == [resolver.cluster_of(i) for i in live]
    for batch in batches[40:]:
        assert restored.update(batch) == resolver.update(batch)
        assert restored.borderline() == resolver.borderline()
    with pytest.raises(ValueError, match="empty"):
        restored.restore((), ())
