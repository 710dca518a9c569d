"""Proposed links equal a dictionary of them, over random changes."""

from __future__ import annotations

import random

import pytest

from graphtide.graph.resolution.clusters import ClusterLink, ProposedLinks


@pytest.mark.parametrize("seed", range(4))
def test_links_equal_their_model(seed: int) -> None:
    """Labels with no link, few and many, links that are dropped and put again, and pairs that have none."""
    print(f"seed {seed}")
    rng, links, model = random.Random(seed), ProposedLinks(), dict[int, dict[int, ClusterLink]]()
    for step in range(3_000):
        a, b = rng.sample(range(3 if step % 3 else 40), 1)[0], rng.randrange(40)
        if a == b:
            continue
        if rng.random() < 0.55:
            links.drop(a, b)
            for one, other in ((a, b), (b, a)):
                model.get(one, {}).pop(other, None)
        if rng.random() < 0.5 and b not in model.get(a, {}):
            link = ClusterLink(min(a, b), max(a, b), "rule", step, -1)
            links.put(link)
            for one, other in ((a, b), (b, a)):
                model.setdefault(one, {})[other] = link
        for label in (a, b):
            assert list(links.of(label)) == list(model.get(label, {}).values())
            assert links.others(label) == list(model.get(label, {}))
        assert links.get(a, b) is model.get(a, {}).get(b) is links.get(b, a)
    every = {id(link) for others in model.values() for link in others.values()}
    assert sorted(map(id, links)) == sorted(every)
