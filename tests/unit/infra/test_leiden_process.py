"""Leiden in a child process: its result, and its end."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from graphtide.graph.communities.drift import leiden
from graphtide.infra.communities.array_messages import LENGTH, decode_arrays, encode_arrays
from graphtide.infra.communities.leiden_child import NICENESS
from graphtide.infra.communities.leiden_process import LeidenProcess

RING = np.array([(at, (at + step) % 60) for at in range(60) for step in (1, 2)], np.int32) * 3
WEIGHTS = np.arange(1, 121, dtype=np.int64)


async def test_leiden_process_gives_the_result_of_leiden_and_ends_when_idle() -> None:
    """One child serves several runs, ends when none followed for a while, and another one starts with the next run."""
    now = [0.0]
    expected = leiden(RING, WEIGHTS)
    async with LeidenProcess(idle_s=30, clock=lambda: now[0]) as process:
        assert process.pid is None, "no run, no child"
        found = await process.run(RING, WEIGHTS)
        first = process.pid
        assert first is not None and first != os.getpid()
        assert os.getpriority(os.PRIO_PROCESS, first) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
        assert found.nodes.dtype == expected.nodes.dtype and found.labels.dtype == expected.labels.dtype
        assert found.nodes.tolist() == expected.nodes.tolist()
        assert found.labels.tolist() == expected.labels.tolist()
        assert found.modularity == expected.modularity
        empty = await process.run(RING[:0], WEIGHTS[:0])
        assert not len(empty.nodes) and empty.modularity == 0.0
        now[0] = 29.0
        await process.end_if_idle()
        assert process.pid == first
        now[0] = 30.0
        await process.end_if_idle()
        assert process.pid is None
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)


async def test_leiden_process_runs_leiden_itself_when_no_child_can_run(caplog: pytest.LogCaptureFixture) -> None:
    """Neither a missing interpreter nor a child that ends at once fails a check."""
    for python in ("/nonexistent/python", "/bin/false"):
        async with LeidenProcess(python) as process:
            found = await process.run(RING, WEIGHTS)
            assert found.modularity == leiden(RING, WEIGHTS).modularity
            assert process.pid is None
    assert caplog.text.count("runs Leiden itself") == 2


@pytest.mark.thorough
def test_a_process_that_checks_drift_does_not_import_networkit() -> None:
    """Its memory stays in the child."""
    script = (
        "import asyncio, sys, numpy as np\n"
        "from graphtide.infra.communities.leiden_process import LeidenProcess\n"
        "async def main():\n"
        "    async with LeidenProcess() as process:\n"
        "        found = await process.run(np.array([(0, 1), (1, 2)], np.int32), np.ones(2, np.int64))\n"
        "        print(found.nodes.tolist(), [name for name in ('networkit', 'scipy') if name in sys.modules])\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[0, 1, 2] []\n"


@pytest.mark.thorough
@pytest.mark.parametrize("broken", [False, True])
def test_the_child_imports_of_networkit_what_leiden_needs(broken: bool) -> None:
    """Neither SciPy nor NetworkX: they are half of its memory. If that fails, it imports the whole package."""
    script = (
        "import sys, numpy as np\n"
        "from graphtide.infra.communities import leiden_child\n"
        "from graphtide.graph.communities.drift import leiden\n"
        f"if {broken}: leiden_child._SCIPY = ()\n"
        "leiden_child.import_sparingly()\n"
        f"edges, weights = np.array({RING.tolist()}, np.int32), np.array({WEIGHTS.tolist()})\n"
        "found = leiden(edges, weights)\n"
        "loaded = [name for name in ('scipy.sparse._base', 'networkx') if name in sys.modules]\n"
        "print(found.labels.tolist(), found.modularity, loaded)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    expected = leiden(RING, WEIGHTS)
    [*_, last] = done.stdout.splitlines()
    assert last.startswith(f"{expected.labels.tolist()} {expected.modularity} ")
    assert ("networkx" in last) == broken and ("scipy" in last) == broken


def test_array_messages_are_read_back_and_objects_are_refused() -> None:
    """The reader unpickles nothing."""
    message = encode_arrays((RING, WEIGHTS, np.array([0.25])))
    edges, weights, share = decode_arrays(message[LENGTH.size :])
    assert np.array_equal(edges, RING) and np.array_equal(weights, WEIGHTS) and share.tolist() == [0.25]
    with pytest.raises(ValueError, match="Object arrays"):
        encode_arrays((np.array([object()]),))
