"""Freshness check of the compiled kernels against their sources.

A kernel is compiled from one `.cpp` and the headers; the build writes their digest beside it (`setup.py`). An extension
that is older than its sources loads without an error and fails, or returns wrong results, at the first call that
changed. Without sources, as in an installed package, there is nothing to compare. Invariant: only an extension that is
known to be older is called stale; one without a digest is called unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from graphtide.infra.kernel_digest import digest, stamp
from graphtide.streams.errors import Broken

FOLDER = Path(__file__).resolve().parents[1] / "graph"
CURE = "make env (or: python setup.py build_ext --inplace)"


def states(folder: Path = FOLDER) -> Mapping[str, str]:
    """Return the state of each kernel: current, stale, missing or unknown. Reads all sources, about 1 ms."""
    return {source.stem: _state(source, folder) for source in sorted((folder / "kernels").glob("*.cpp"))}


def stale(folder: Path = FOLDER) -> list[str]:
    """Return the kernels that are older than their sources."""
    return [name for name, state in states(folder).items() if state == "stale"]


def refuse_stale() -> None:
    """Raise Broken, with the remedy, when a kernel is older than its sources."""
    if old := stale():
        raise Broken(f"the compiled kernels {', '.join(old)} are older than their sources; {CURE}")


def _state(source: Path, folder: Path) -> str:
    if not any(file.suffix in (".so", ".pyd") for file in folder.glob(f"_{source.stem}.*")):
        return "missing"
    written = stamp(source, folder)
    if not written.exists():
        return "unknown"
    return "current" if written.read_text().strip() == digest(source) else "stale"
