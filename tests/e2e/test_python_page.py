"""The programs of docs/python.md, docs/integrations.md and the README, run in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import service

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
EXPECTED = {
    "docs/python.md": [
        "boiler",
        "Kenji Mori repaired",
        "note-1",
        "Mara Voss calibrated",
        "250 empty text",
        "'likes'",
        "Meridian",
        "in use",
    ],
    "docs/integrations.md": ["boiler | Ana Ruiz signed", "pump | Kenji Mori repaired", "[1]"],
    "README.md": ["Ana Ruiz signed the contract. [1] ['boiler']"],
}
"""A part of each program's output, in the page's order."""


@pytest.mark.parametrize("page", sorted(EXPECTED))
def test_programs_of_the_page_run_from_an_empty_folder(page: str, tmp_path: Path) -> None:
    """Each ends without an error, and prints what the page is about."""
    programs = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert len(programs) == len(EXPECTED[page])
    with service(tmp_path / "service-data", log=tmp_path / "service.log") as running:
        environment = {**os.environ, "GRAPHTIDE_URL": running.url}
        for program, expected in zip(programs, EXPECTED[page], strict=True):
            command = [sys.executable, "-c", program]
            done = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False
            )
            assert done.returncode == 0, done.stderr
            assert expected in done.stdout, done.stdout
