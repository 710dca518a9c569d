"""`make run` as a newcomer sees it, compared with the README's session, which is its real output."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from graphtide.services.demo.sample import note_questions
from tests.support.environment import plain_environment

ROOT = Path(__file__).parents[2]


def run_demo(data: Path) -> str:
    """Return the demonstration's output of a run that ends at once."""
    command = [
        sys.executable,
        "-m",
        "graphtide.services.demo",
        "--leave",
        "--port",
        "0",
        "--grpc-port",
        "0",
        "--data",
        str(data),
    ]
    environment = plain_environment({"COLUMNS": "100"})  # with the models, as a newcomer has it
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def session(text: str) -> list[str]:
    """Return the questions and answers: the lines that depend on neither ports, folders nor progress."""
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for line in lines if line.startswith(("? ", "  ")) and not re.match(r"  (\S+\s+http|gRPC|log)", line)]
    return [line for line in kept if "graphtide" not in line and "GRAPHTIDE_URL" not in line]


def test_demo_answers_before_and_after_the_corrections_as_the_readme_shows(tmp_path: Path) -> None:
    """The demonstration prints every line of the README's session, in that order; twice the same."""
    readme = (ROOT / "README.md").read_text()
    shown = readme.split("<!-- session:begin -->")[1].split("<!-- session:end -->")[0]
    first = run_demo(tmp_path / "data")
    assert session(shown) and session(shown) == [line for line in session(first) if line in set(session(shown))]
    assert "Kenji Watanabe" in first and "Lena Abara" in first
    assert re.search(r"(?m)^  export GRAPHTIDE_URL=http://127\.0\.0\.1:\d+$", first), "another port than the default"
    asked_notes = first.split("Streaming minutes")[1]
    assert note_questions() and all(each.question in asked_notes for each in note_questions())
    assert all(each.answer in asked_notes for each in note_questions())
    again = run_demo(tmp_path / "data")
    assert session(again) == session(first)
