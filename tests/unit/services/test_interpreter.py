"""The interpreter settings of a server process."""

from __future__ import annotations

import sys

from graphtide.services.process.interpreter import SWITCH_INTERVAL_S, tune_interpreter


def test_tune_interpreter_shortens_the_switch_interval() -> None:
    """Threads that compute yield the interpreter lock ten times as often as by default."""
    before = sys.getswitchinterval()
    try:
        tune_interpreter()
        assert sys.getswitchinterval() <= before / 10
        assert sys.getswitchinterval() == SWITCH_INTERVAL_S
    finally:
        sys.setswitchinterval(before)
