"""Latency of /healthz, measured by a process of its own, so that the work of the clients is not counted.

Beside the time of each probe the prober measures the CPU time that the service used meanwhile: about the latency that a
machine without other work would show, since the service computes in one thread at a time. It also measures how long the
thread of the event loop was ready to run and had no core: the rest of the latency is the service's own. In turn with
the service it probes a process that only answers (`control.py`); the scheduler prefers it, because it sleeps most of
the time, so it shows less waiting than a process that works.
"""

from __future__ import annotations

import http.client
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.hostile.control import control
from tests.support.processes import Service

PROBE_INTERVAL_S = 0.02
TIMEOUT_S = 120.0
"""The time after which a probe counts as unanswered."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """The latencies of one phase, the service's CPU times meanwhile, the latencies of the control, and the parts of the
    latencies in which the event loop had a core or slept, each sorted.

    A probe without an answer counts as TIMEOUT_S.
    """

    seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]
    control_seconds: tuple[float, ...]
    own_seconds: tuple[float, ...]

    def quantile_ms(self, share: float) -> float:
        """Return a quantile of the latencies in milliseconds."""
        return 1000 * self.seconds[int(share * (len(self.seconds) - 1))]

    def cpu_quantile_ms(self, share: float) -> float:
        """Return a quantile of the CPU times in milliseconds."""
        return 1000 * self.cpu_seconds[int(share * (len(self.cpu_seconds) - 1))]

    def control_quantile_ms(self, share: float) -> float:
        """Return a quantile of the control's latencies in milliseconds."""
        return 1000 * self.control_seconds[int(share * (len(self.control_seconds) - 1))]

    def own_quantile_ms(self, share: float) -> float:
        """Return a quantile of the latencies without the waits of the event loop's thread for a core, in
        milliseconds.
        """
        return 1000 * self.own_seconds[int(share * (len(self.own_seconds) - 1))]


class Prober:
    """The running prober. A phase lasts from the previous call of `end_phase`, or the start, to the next one."""

    def __init__(self, commands: Connection) -> None:
        self._commands = commands

    def end_phase(self) -> Latencies:
        """Return the latencies since the phase began, and begin the next phase."""
        self._commands.send("next")
        walls, cpus, controls, owns = zip(*self._commands.recv(), strict=True)
        return Latencies(tuple(sorted(walls)), tuple(sorted(cpus)), tuple(sorted(controls)), tuple(sorted(owns)))


@contextmanager
def probing(running: Service) -> Iterator[Prober]:
    """Probe /healthz during the block, from its first line on."""
    ours, theirs = multiprocessing.Pipe()
    with control() as idle:
        process = multiprocessing.get_context("spawn").Process(
            target=_probe, args=(urlsplit(running.url).netloc, running.process.pid, idle, theirs), daemon=True
        )
        process.start()
        try:
            ours.recv()
            yield Prober(ours)
        finally:
            ours.send("end")
            process.join()


def _probe(netloc: str, pid: int, idle: str, commands: Connection) -> None:
    found = list[tuple[float, float, float, float]]()
    commands.send("ready")
    while True:
        used_s, queued_s = _cpu_s(pid), _queued_s(pid)
        wall_s = _latency_s(netloc)
        own_s = max(0.0, wall_s - (_queued_s(pid) - queued_s))
        found.append((wall_s, _cpu_s(pid) - used_s, _latency_s(idle), own_s))
        time.sleep(PROBE_INTERVAL_S)
        if commands.poll():
            if commands.recv() == "end":
                return
            commands.send(found)
            found = []


def _cpu_s(pid: int) -> float:
    """Return the CPU seconds of all threads of the process, to the nanosecond."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


def _queued_s(pid: int) -> float:
    """Return the seconds that the main thread, which runs the event loop, has waited for a core while it could run."""
    try:
        return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def _latency_s(netloc: str) -> float:
    """Return the seconds of one request on a new connection."""
    began = time.perf_counter()
    try:
        connection = http.client.HTTPConnection(netloc, timeout=TIMEOUT_S)
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        connection.close()
    except OSError:
        return TIMEOUT_S
    return time.perf_counter() - began
