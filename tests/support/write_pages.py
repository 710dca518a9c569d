"""The writer of recorded sessions: `make pages` runs the commands and writes their output.

It writes the output blocks of docs/tutorial.md, the picture of an edit drawn from them, the session of `make run`
in the README, and the calls of an agent in docs/mcp.md.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path

from tests.e2e.test_demo import run_demo
from tests.support.agent_transcript import write_transcript
from tests.support.edit_picture import PICTURE, ROOT, picture
from tests.support.marked_page import write_part
from tests.support.shell_page import run_page, with_output

TUTORIAL, README = ROOT / "docs" / "tutorial.md", ROOT / "README.md"


def write_tutorial(folder: Path) -> None:
    """Run the tutorial in `folder`, and write its output and the picture."""
    page = TUTORIAL.read_text()
    page = with_output(page, run_page(page, folder))
    TUTORIAL.write_text(page)
    PICTURE.write_text(picture(page))


def write_session(folder: Path) -> None:
    """Run `make run` with its data in `folder`, and write its output with the default ports and folder."""
    shown = run_demo(folder)
    for pattern, default in (
        (r"(?m)^  export GRAPHTIDE_URL=.*\n", ""),
        (r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:8080"),
        (r"gRPC( +)127\.0\.0\.1:\d+", r"gRPC\g<1>127.0.0.1:50051"),
        (r"log( +)\S+graphtide\.log", r"log\g<1>graphtide-data/graphtide.log"),
        (r"(?m) +$", ""),
    ):
        shown = re.sub(pattern, default, shown)
    session = f"\n```text\n$ make run\n{shown.strip()}\n```\n"
    write_part(README, "<!-- session:begin -->", "<!-- session:end -->", session)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        tutorial = Path(scratch) / "tutorial"
        tutorial.mkdir()
        write_tutorial(tutorial)
        write_session(Path(scratch) / "data")
    asyncio.run(write_transcript())
