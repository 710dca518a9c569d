"""A frozen view has the rows of its version, whatever the view follows while they are read."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from graphtide.graph.view import LiveView
from graphtide.graph.view_state import frozen
from graphtide.graph.view_state.content import row_tables
from graphtide.graph.view_state.frozen import FrozenView
from tests.support.worlds import RandomWorld, empty_view


def shown(row: Any) -> tuple[str, bytes]:
    """Return a row as text, and the bytes of its vector."""
    vector = getattr(row, "vector", None)
    return repr(row), b"" if vector is None else vector.tobytes()


def hierarchy(view: LiveView | FrozenView) -> list[Any]:
    tree = view.hierarchy if isinstance(view, FrozenView) else view.hierarchy.hierarchy()
    return [
        tree.next_id,
        *(np.asarray(part).tolist() for part in (tree.nodes, tree.communities, tree.ids, tree.parents)),
    ]


@pytest.mark.parametrize("seed", range(10))
def test_rows_are_those_of_the_version_while_deltas_are_applied(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two blocks of rows the view follows deltas that insert, edit, delete, merge and split."""
    print(f"seed {seed}")
    monkeypatch.setattr(frozen, "BLOCK_ROWS", 3)
    rng = random.Random(seed)
    view, world = empty_view(), RandomWorld(rng)
    for _ in range(rng.randrange(1, 25)):
        view.apply(world.step())
    wanted = {name: list(map(shown, rows)) for name, rows in row_tables(view, vectors=True).items()}
    tree, links, version = hierarchy(view), view.predicates.links(), view.version
    one = FrozenView(view)
    tables = row_tables(one, vectors=True)
    found: dict[str, list[tuple[str, bytes]]] = {name: [] for name in tables}
    left = sorted(tables)
    while left:
        name = rng.choice(left)
        row = next(tables[name], None)
        if row is None:
            left.remove(name)
        else:
            found[name].append(shown(row))
        if rng.random() < 0.2:
            view.apply(world.step())
    assert found == wanted and view.version > version == one.version
    assert (hierarchy(one), one.predicate_links) == (tree, links)
    one.release()
    copied = {name: len(rows) for name, rows in one._before.items()}
    for _ in range(5):
        view.apply(world.step())
    assert {name: len(rows) for name, rows in one._before.items()} == copied and not list(view.undo_logs)


def test_view_that_only_follows_copies_nothing() -> None:
    """A frozen view that is gone costs nothing, also where `release` was not called."""
    view, world = empty_view(), RandomWorld(random.Random(1))
    view.apply(world.step())
    FrozenView(view)
    assert not list(view.undo_logs)
