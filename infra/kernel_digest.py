"""Digest of a compiled kernel's sources, and the file where the build writes it. Imports the standard library alone:
the build reads this module before anything is installed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

STAMP = ".sources"


def digest(source: Path) -> str:
    """Return the digest of a kernel's source and of all headers, by content and name."""
    total = hashlib.sha256()
    for file in (source, *sorted(source.parent.rglob("*.hpp"))):
        content = file.read_bytes()
        total.update(f"{file.relative_to(source.parent)} {len(content)}\n".encode() + content)
    return total.hexdigest()


def stamp(source: Path, folder: Path) -> Path:
    """Return the file that holds the digest of what was compiled from `source` into `folder`."""
    return folder / f"_{source.stem}{STAMP}"
