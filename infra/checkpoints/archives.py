"""Archives of NumPy arrays, and the place where processes share them.

Invariant: the checksum of an array is compared before its bytes are interpreted, and nothing is unpickled.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.object_store import open_filesystem, shown_url

DAMAGES = (
    OSError, EOFError, ValueError, KeyError, RuntimeError, OverflowError, MemoryError, struct.error, zlib.error,
    zipfile.BadZipFile,
)  # fmt: skip
"""Exceptions that reading a damaged archive raises."""
AVOIDED_S = 60.0
"""Seconds for which a place is not used after it could not be reached: the graph database has everything."""
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "file": {"auto_mkdir": True},
    "s3": {"config_kwargs": {"connect_timeout": 5, "read_timeout": 30, "retries": {"max_attempts": 2}}},
}
"""Options of a store's client, by protocol. A start does not wait for minutes for an unreachable store."""


def open_place(url: str) -> tuple[Any, str, str]:
    """Return the filesystem of a URL that fsspec knows, or of a folder, the path in it, and the URL to show.

    Raises UnusableStoreError and OSError.
    """
    url = url if "://" in url else f"file://{Path(url).absolute()}"
    files, root = open_filesystem(url, **OPTIONS.get(url.partition("://")[0], {}))
    return files, root, shown_url(url)


def read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Return an array of the archive. Raises one of DAMAGES."""
    found: NDArray[Any] = np.lib.format.read_array(BytesIO(archive.read(name)), allow_pickle=False)
    return found
