"""The HTTP interface compared with its own description, by requests that schemathesis generates from it."""

from __future__ import annotations

import os
from pathlib import Path

from tests.fuzz.http import fuzz

SEED = int(os.environ.get("GRAPHTIDE_FUZZ_SEED", "22"))
"""Fixed, so that a run repeats the one before; `make fuzz` takes a random one."""


def test_service_answers_as_it_describes(tmp_path: Path) -> None:
    """A minute of valid and invalid requests: no 500 and no answer outside the description."""
    print(f"seed {SEED}")
    code, report = fuzz(tmp_path, SEED, seconds=45)
    assert code == 0, report
