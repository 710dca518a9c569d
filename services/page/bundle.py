"""The built files of the page in memory, each with its compressed form and the hash of its content.

The invariant: a response's entity tag names exactly its bytes, so that a browser never shows a mix of two builds.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

DIST = Path(__file__).parent / "dist"
INDEX = "index.html"
ASSETS = "page"
"""Folder of the files whose names carry the hash of their content, below DIST and in the URLs."""

MEDIA_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".md": "text/markdown; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the build. `compressed` is its content in gzip, `digest` the SHA-256 of the content in hexadecimal."""

    content: bytes
    compressed: bytes
    media_type: str
    digest: str


@dataclass(frozen=True, slots=True)
class PageBundle:
    """A build of the page: the document, and its assets by file name."""

    index: PageFile
    assets: Mapping[str, PageFile]


@cache
def load_bundle(folder: Path = DIST) -> PageBundle | None:
    """Return the build in `folder`, None without one. Read and compressed once per process, in some 30 ms."""
    if not (folder / INDEX).is_file():
        return None
    assets = {file.name: _read(file) for file in sorted((folder / ASSETS).iterdir()) if file.suffix in MEDIA_TYPES}
    return PageBundle(_read(folder / INDEX), assets)


def _read(file: Path) -> PageFile:
    content = file.read_bytes()
    compressed = gzip.compress(content, mtime=0)
    return PageFile(content, compressed, MEDIA_TYPES[file.suffix], sha256(content).hexdigest())
