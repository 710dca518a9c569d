"""The child process that runs Leiden: it answers one message of arrays with another until its input ends.

    python -P -m graphtide.infra.communities.leiden_child

A request is edges (m, 2) and weights (m,); the reply is nodes (n,), labels (n,) and the modularity (1,).

The process lives as long as a graph grows, so it imports only the modules of NetworKit that Leiden needs: the package
imports forty, SciPy and NetworkX, which take half of its 90 MiB. No one waits for a check as for an answer, so it has a
lower priority than the service.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import BinaryIO

import numpy as np

from graphtide.graph.communities.drift import leiden
from graphtide.infra.communities.array_messages import LENGTH, decode_arrays, encode_arrays

NICENESS = 10
"""Added to that of the service. Beside one busy thread the process then has a tenth of a core."""
_SCIPY = ("scipy", "scipy.io", "scipy.sparse", "scipy.sparse.csgraph", "scipy.sparse.linalg")
"""The modules of SciPy that NetworKit's modules name. They use them for sparse matrices, which Leiden does not."""


def import_sparingly() -> None:
    """Provide `networkit` with the modules and functions that `leiden` uses; the whole package if that fails."""
    known = set(sys.modules)
    try:
        _import_modules()
    except Exception:  # noqa: BLE001 - another version of NetworKit may fail in any way
        for name in set(sys.modules) - known:
            if name.partition(".")[0] in ("networkit", "scipy"):
                del sys.modules[name]
        importlib.import_module("networkit")


def _import_modules() -> None:
    spec = find_spec("networkit")
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError("NetworKit is not installed")
    for name in _SCIPY:
        parent, _, own = name.rpartition(".")
        sys.modules[name] = ModuleType(name)
        if parent:
            setattr(sys.modules[parent], own, sys.modules[name])
    sys.modules["scipy.sparse"].coo_matrix = type("coo_matrix", (), {})  # type: ignore[attr-defined]
    package = sys.modules["networkit"] = ModuleType("networkit")
    package.__path__ = list(spec.submodule_search_locations)
    graph, engineering, community = (
        importlib.import_module(f"networkit.{name}") for name in ("graph", "engineering", "community")
    )
    package.GraphFromCoo = graph.GraphFromCoo  # type: ignore[attr-defined]
    package.setNumberOfThreads = engineering.setNumberOfThreads  # type: ignore[attr-defined]
    package.setSeed = engineering.setSeed  # type: ignore[attr-defined]
    package.community = community  # type: ignore[attr-defined]


def answer_requests(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until the input ends."""
    while len(head := requests.read(LENGTH.size)) == LENGTH.size:
        edges, weights = decode_arrays(requests.read(*LENGTH.unpack(head)))
        found = leiden(edges.astype(np.int32), weights.astype(np.int64))
        replies.write(encode_arrays((found.nodes, found.labels, np.array([found.modularity]))))
        replies.flush()


if __name__ == "__main__":
    os.nice(NICENESS)
    import_sparingly()
    answer_requests(sys.stdin.buffer, sys.stdout.buffer)
