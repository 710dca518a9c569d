"""The compiled kernels are required: an import without them fails, and its error names the remedy."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "kernel",
    [
        "_adjacency",
        "_blocks",
        "_communities",
        "_hnsw",
        "_int_sets",
        "_pagerank",
        "_tables",
        "_tokens",
        "_trussness",
        "_words",
    ],
)
def test_import_names_the_remedy_when_a_kernel_is_not_compiled(kernel: str) -> None:
    """Nothing slower takes the kernel's place."""
    script = f"import sys; sys.modules['graphtide.graph.{kernel}'] = None; import graphtide.graph"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: the compiled kernels of graphtide.graph cannot be loaded"
    )
    assert "make env" in done.stderr.splitlines()[-1]
