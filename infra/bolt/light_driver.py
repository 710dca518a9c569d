"""Import of the driver without pandas.

The driver imports pandas wherever it is installed, to accept its values as parameters: 69 MiB of memory and 0.25 s of
CPU in every process of a cluster, since gqlalchemy brings it along. No statement here has such parameters. A process
that imported the driver before, or uses pandas itself, is left as it is.
"""

from __future__ import annotations

import importlib
import sys


def _import_driver() -> None:
    if "neo4j" in sys.modules or "pandas" in sys.modules:
        return
    sys.modules["pandas"] = None  # type: ignore[assignment] # an import of it fails
    try:
        importlib.import_module("neo4j")
    finally:
        del sys.modules["pandas"]


_import_driver()
