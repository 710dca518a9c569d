"""The command line as a process that runs to its end, with no settings but those that a test gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.environment import plain_environment

ROOT = Path(__file__).resolve().parents[2]


def graphtide(*arguments: str, stdin: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with these settings to its end."""
    kept = plain_environment()
    given = {f"GRAPHTIDE_{name.upper()}": value for name, value in settings.items()}
    environment = {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **given}
    command = [sys.executable, "-m", "graphtide.services.cli", *arguments]
    return subprocess.run(
        command, input=stdin, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
