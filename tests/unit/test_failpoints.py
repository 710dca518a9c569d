"""The points at which tests kill a process exist: they name functions as strings, which a renaming does not find."""

from __future__ import annotations

import pytest

from tests.support import cluster_failpoints, failpoints


@pytest.mark.parametrize("module", [failpoints, cluster_failpoints], ids=lambda module: module.__name__)
def test_points_name_steps_that_exist(module: object) -> None:
    points: dict[str, failpoints.Point] = module.POINTS  # type: ignore[attr-defined]
    assert not [name for name, point in points.items() if not callable(getattr(point.owner, point.name, None))]
