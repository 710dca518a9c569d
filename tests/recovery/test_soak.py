"""The soak at the length of a CI run; see `soak.py` for longer ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recovery.soak import GRAPHS, run
from tests.support.hostile_clients import ATTACKS

SEED = 1
MINUTES = 0.5
pytestmark = [pytest.mark.timeout(900), pytest.mark.thorough]
"""It takes a minute and a half; more where a busy machine delays the checks."""


def test_service_keeps_its_promises_beside_hostile_clients(tmp_path: Path) -> None:
    """Every graph equals the model beside the attacks, after them, and after kill -9; memory and files are bounded."""
    print(f"seed {SEED}")
    one = run(MINUTES, SEED, tmp_path, ATTACKS)
    assert one.figures.checks >= 2 * len(GRAPHS) and one.figures.accepted > len(GRAPHS), one.figures
    assert sum(one.figures.attacks.values()) > 0 and one.figures.health_ms and not one.figures.silences, one.figures
