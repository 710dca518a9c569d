"""The programs in examples/: what they promise in their first lines, and what they print."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def promised(program: str) -> str:
    """Return the output that the program's first lines promise."""
    _, _, output = (EXAMPLES / program).read_text().split('"""')[1].partition("prints\n\n")
    return "".join(line.removeprefix("    ") + "\n" for line in output.splitlines())


def printed(program: str, folder: Path, settings: Mapping[str, str]) -> str:
    """Return what the program prints when it is run in an empty folder."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / program],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
