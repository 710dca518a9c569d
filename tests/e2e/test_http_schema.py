"""The HTTP interface compared with its own description, by requests that schemathesis generates from it."""

from __future__ import annotations

import random
from pathlib import Path

from tests.fuzz.http import fuzz


def test_service_answers_as_it_describes(tmp_path: Path) -> None:
    """A minute of valid and invalid requests: no 500 and no answer outside the description."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    code, report = fuzz(tmp_path, seed, seconds=45)
    assert code == 0, report
