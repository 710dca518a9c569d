"""The interpreter settings of a server process."""

from __future__ import annotations

import gc
import sys

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
