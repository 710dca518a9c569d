"""The table of labels by id: equal to a dictionary, and small for ids without large gaps."""

from __future__ import annotations

import random

import numpy as np

from graphtide.infra.hnsw.label_table import MIN_DENSE, NO_LABEL, LabelTable


def test_a_random_walk_equals_that_of_a_dictionary() -> None:
    """Ids near 0, in gaps, and far apart are set, replaced and removed like the keys of a dictionary."""
    seed = 11
    print(f"seed {seed}")
    rng, wanted, table = random.Random(seed), dict[int, int](), LabelTable()
    ids = [*range(3 * MIN_DENSE), *(rng.randrange(1 << 40) for _ in range(200))]
    for label in range(12_000):
        id_ = rng.choice(ids)
        if rng.random() < 0.3:
            assert table.pop(id_) == wanted.pop(id_, NO_LABEL)
        else:
            table.set(id_, label)
            wanted[id_] = label
        assert table.get(id_) == wanted.get(id_, NO_LABEL) and len(table) == len(wanted)
    assert {id_: table.of(id_) for id_ in table} == wanted
    assert all((id_ in table) == (id_ in wanted) for id_ in ids)


def test_ids_of_any_type_can_be_tested() -> None:
    """A NumPy number is an id; text and a missing number are not."""
    table = LabelTable([(3, 0)])
    assert np.int64(3) in table and 4 not in table and -1 not in table and "3" not in table
