"""Places of checkpoints: a folder, an object store, and the memory filesystem of fsspec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec

from graphtide.infra.checkpoints.archives import open_place

KINDS = ("folder", "s3", "memory")


@contextmanager
def empty_place(kind: str, folder: Path, s3: Callable[[], Any]) -> Iterator[str]:
    """Yield the URL of an empty place of that kind. `s3` returns a client of the object store."""
    if kind == "folder":
        yield str(folder / "shared with spaces %20")
    elif kind == "s3":
        bucket = f"checkpoints-{abs(hash(folder)) % 10**9}"
        s3().create_bucket(Bucket=bucket)
        yield f"s3://{bucket}/cluster/one"
    else:
        yield "memory://cluster/one"
        fsspec.filesystem("memory").store.clear()


def names(place: str | Path) -> list[str]:
    """Return the names of everything in the place."""
    files, root, _ = open_place(str(place))
    return sorted(path.rpartition("/")[2] for path in files.find(root))
