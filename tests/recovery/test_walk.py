"""The random walk at the length of a CI run; see `walk.py` for longer ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recovery.walk import walk

pytestmark = pytest.mark.thorough

STEPS = 75


@pytest.mark.parametrize("seed", [1])
def test_service_agrees_with_the_model_after_a_random_walk(seed: int, tmp_path: Path) -> None:
    """Publish, edit, delete, kill, restart, query, rebuild, recount: the graph is always the model's."""
    print(f"seed {seed}")
    one = walk(seed, tmp_path, lambda steps: steps >= STEPS)
    assert one.service.deaths >= 2 and len(one.taken) >= 6, one.taken
