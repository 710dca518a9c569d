"""Durability of files: what is flushed survives a power failure."""

from __future__ import annotations

import os
from pathlib import Path


def to_disk(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
