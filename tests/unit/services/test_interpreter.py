"""The interpreter settings of a server process."""

from __future__ import annotations

import gc
import os
import platform
import re
import subprocess
import sys

import pytest

from graphtide.services.process.interpreter import SWITCH_INTERVAL_S, THRESHOLDS, tune_interpreter


def test_tune_interpreter_shortens_the_switch_interval_and_spares_the_collector() -> None:
    """Threads that compute yield the interpreter lock ten times as often as by default; collections are rarer."""
    before, thresholds = sys.getswitchinterval(), gc.get_threshold()
    try:
        tune_interpreter()
        assert sys.getswitchinterval() <= before / 10
        assert sys.getswitchinterval() == SWITCH_INTERVAL_S
        assert gc.get_threshold() == THRESHOLDS > thresholds
    finally:
        sys.setswitchinterval(before)
        gc.set_threshold(*thresholds)


HEAPS = """
import ctypes, re, sys, threading
from graphtide.services.process.interpreter import limit_heaps
limit_heaps()
all_started = threading.Barrier(8)
def work():
    all_started.wait()
    kept = [bytes(1000) for _ in range(100)]
    all_started.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
ctypes.CDLL(None).malloc_stats()
"""


@pytest.mark.parametrize("given", [None, "5"])
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no such heaps")
def test_eight_threads_share_two_heaps_unless_the_environment_says_otherwise(given: str | None) -> None:
    """Each heap keeps its own free memory."""
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name and "GLIBC" not in name}
    environment |= {"MALLOC_ARENA_MAX": given} if given else {}
    ended = subprocess.run([sys.executable, "-c", HEAPS], env=environment, capture_output=True, text=True, check=True)
    heaps = len(re.findall("^Arena", ended.stderr, re.MULTILINE))
    assert heaps == (5 if given else 2), ended.stderr
