"""The committed gRPC stubs are those of graphtide.proto."""

from __future__ import annotations

from pathlib import Path

from services.protocol.generate import PROTO, ROOT, STUBS, generate


def test_stubs_are_current(tmp_path: Path) -> None:
    """Generated again, they are the same to the byte; if not: python -m services.protocol.generate."""
    generate(tmp_path)
    for name in STUBS:
        place = PROTO.with_name(name)
        assert (tmp_path / place).read_text() == (ROOT / place).read_text(), f"{place} is not current"
