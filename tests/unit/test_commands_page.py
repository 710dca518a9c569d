"""docs/commands.md is what the command line says of itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_page_of_the_commands_is_current(tmp_path: Path) -> None:
    """After a change of a command: make commands-page."""
    page = tmp_path / "commands.md"
    module = "graphtide.services.cli.top_level.app"
    command = [sys.executable, "-m", "typer", module, "utils", "docs", "--name", "graphtide", "--title", "Commands"]
    subprocess.run([*command, "--output", str(page)], check=True, capture_output=True, cwd=ROOT)
    assert page.read_text() == (ROOT / "docs" / "commands.md").read_text()
