"""The committed protobuf messages are those of graphtide.proto."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from graphtide.services.api.schema.generate import MESSAGES, PROTO, ROOT, SOURCES, generate


def test_messages_are_current(tmp_path: Path) -> None:
    """Generated again, they are the same to the byte; if not: python -m graphtide.services.api.schema.generate."""
    generate(tmp_path)
    for name in MESSAGES:
        place = PROTO.with_name(name)
        assert (tmp_path / place).read_text() == (SOURCES / place).read_text(), f"{place} is not current"


def test_messages_are_left_alone_when_a_hook_names_them() -> None:
    """Formatted they no longer load, and pre-commit passes every file by name, excluded or not."""
    ruff = Path(sys.executable).with_name("ruff")
    stubs = [str((SOURCES / PROTO).with_name(name).resolve().relative_to(ROOT)) for name in MESSAGES]
    done = subprocess.run([ruff, "format", "--diff", *stubs], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
