"""A service that records the delays of its event loop, for benches: `graphtide serve` with a timer in its loop.

    python -c "from tests.support.loop_probe import main; main()" serve ...

The timer is due every 10 ms. Each iteration that comes more than LONG_S late is a line of JSON in the file that
LOOP_PROBE names: seconds since the start, the delay, and the CPU time that the process used since the last one. A delay
in which the process computed less is one of the machine: other processes had the processors.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

INTERVAL_S = 0.01
LONG_S = 0.02
FILE_VARIABLE = "LOOP_PROBE"
ENTRY = "from tests.support.loop_probe import main; main()"


@dataclass(frozen=True, slots=True)
class Delay:
    """A late iteration of the loop, in seconds: when it came, how late, and the CPU time of the process meanwhile."""

    at: float
    late: float
    computed: float

    @property
    def own(self) -> float:
        """Return the part of the delay that the process can have caused: while it computes, one thread has the lock."""
        return min(self.late, self.computed)


def read_delays(file: Path) -> list[Delay]:
    """Return the delays that a service recorded."""
    return [Delay(*json.loads(line)) for line in file.read_text().splitlines()]


class _Timer:
    def __init__(self, loop: asyncio.AbstractEventLoop, file: TextIO) -> None:
        self._loop, self._file = loop, file
        self._began = self._due = time.monotonic()
        self._computed = 0.0

    def beat(self) -> None:
        now, computed = time.monotonic(), time.process_time()
        if now - self._due > LONG_S:
            row = (now - self._began, now - self._due, computed - self._computed)
            self._file.write(json.dumps([round(value, 4) for value in row]) + "\n")
        self._due, self._computed = now + INTERVAL_S, computed
        self._loop.call_later(INTERVAL_S, self.beat)


def main() -> None:
    """Run the command line with the timer in its event loop."""
    from graphtide.services.cli import main as command_line
    from graphtide.services.process import serve

    made = serve.loop_factory()
    file = Path(os.environ[FILE_VARIABLE]).open("a", buffering=1)  # noqa: SIM115 -- open until the process ends

    def with_timer() -> asyncio.AbstractEventLoop:
        loop = made() if made is not None else asyncio.new_event_loop()
        loop.call_soon(_Timer(loop, file).beat)
        return loop

    serve.loop_factory = lambda: with_timer
    command_line()
