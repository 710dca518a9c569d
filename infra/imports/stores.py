"""Detection of a store's format, and the port that both readers implement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from graphtide.infra.imports import graphrag, lightrag
from graphtide.infra.imports.types import ImportedPassage, ImportLosses, UnreadableStoreError

INSTALL = "pip install 'graphtide[import]'"
_MAX_DEPTH = 3
"""GraphRAG writes to `output`, or `output/<time>/artifacts`; LightRAG to `rag_storage/<workspace>`."""


class ForeignStore(Protocol):
    """An opened store of another system."""

    @property
    def format(self) -> str:
        """Return the name of the format."""
        ...

    @property
    def losses(self) -> ImportLosses:
        """Return what the import loses: complete when all passages were read."""
        ...

    def count(self) -> int:
        """Return the number of passages."""
        ...

    def passages(self) -> Iterator[ImportedPassage]:
        """Yield all passages in the order of the store. Raises UnreadableStoreError."""
        ...


_READERS: tuple[tuple[Callable[[Path], bool], Callable[[Path], ForeignStore]], ...] = (
    (graphrag.is_store, graphrag.open_folder),
    (lightrag.is_store, lightrag.open_folder),
)


def open_store(path: Path) -> ForeignStore:
    """Return the store in a folder, or in the sub-folder that its system writes to. Raises UnreadableStoreError."""
    if not path.is_dir():
        raise UnreadableStoreError(f"{path} is not a folder; name the output folder of GraphRAG or LightRAG")
    folders = [path, *_folders_below(path, _MAX_DEPTH)]
    found = [(open_folder, each) for each in folders for is_store, open_folder in _READERS if is_store(each)]
    if not found:
        raise UnreadableStoreError(
            f"{path} contains neither {graphrag.MARK} (Microsoft GraphRAG) nor {lightrag.MARK} (LightRAG);"
            " name the folder that contains one of them"
        )
    if len(found) > 1:
        names = ", ".join(str(folder) for _, folder in found[:5])
        raise UnreadableStoreError(f"{path} contains {len(found)} stores ({names}); name one of them")
    open_folder, folder = found[0]
    try:
        return open_folder(folder)
    except ImportError as error:
        raise UnreadableStoreError(f"reading {folder} needs {error.name}: {INSTALL}") from error
    except OSError as error:
        raise UnreadableStoreError(f"{folder} cannot be read: {error.strerror or error}") from error


def _folders_below(path: Path, depth: int) -> Iterator[Path]:
    """Yield the folders up to that depth, without links, in order of name. One that cannot be read has none."""
    try:
        inner = sorted(each for each in path.iterdir() if each.is_dir() and not each.is_symlink()) if depth else []
    except OSError:
        return
    for each in inner:
        yield each
        yield from _folders_below(each, depth - 1)
