"""Whether the compiled kernels are those of the sources beside them.

A kernel is compiled from one `.cpp` and the headers; the build writes their digest beside it (`setup.py`). An extension
that is older than its sources loads without a word and fails, or is wrong, at the first call that changed. Where there
are no sources, as in an installed package, there is nothing to compare. The invariant: only what is known to be older
is called stale; an extension without a digest is called unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from graphtide.infra.kernel_digest import digest, stamp
from graphtide.streams.errors import Broken

FOLDER = Path(__file__).resolve().parents[1] / "graph"
CURE = "make env (or: python setup.py build_ext --inplace)"


def states(folder: Path = FOLDER) -> Mapping[str, str]:
    """Of each kernel: current, stale, missing or unknown. Reads all sources, about 1 ms."""
    return {source.stem: _state(source, folder) for source in sorted((folder / "kernels").glob("*.cpp"))}


def stale(folder: Path = FOLDER) -> list[str]:
    """The kernels that are older than their sources."""
    return [name for name, state in states(folder).items() if state == "stale"]


def refuse_stale() -> None:
    """Raise Broken, with the cure, when a kernel is older than its sources."""
    if old := stale():
        raise Broken(f"the compiled kernels {', '.join(old)} are older than their sources; {CURE}")


def _state(source: Path, folder: Path) -> str:
    if not any(file.suffix in (".so", ".pyd") for file in folder.glob(f"_{source.stem}.*")):
        return "missing"
    written = stamp(source, folder)
    if not written.exists():
        return "unknown"
    return "current" if written.read_text().strip() == digest(source) else "stale"
