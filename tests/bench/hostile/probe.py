"""Latency of /healthz, measured by a process of its own, so that the work of the clients is not counted."""

from __future__ import annotations

import http.client
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from urllib.parse import urlsplit

PROBE_INTERVAL_S = 0.02
TIMEOUT_S = 120.0
"""The time after which a probe counts as unanswered."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """The sorted latencies of one phase, in seconds; a probe without an answer counts as TIMEOUT_S."""

    seconds: tuple[float, ...]

    def quantile_ms(self, share: float) -> float:
        """Return a quantile in milliseconds."""
        return 1000 * self.seconds[int(share * (len(self.seconds) - 1))]


class Prober:
    """The running prober. A phase lasts from the previous call of `end_phase`, or the start, to the next one."""

    def __init__(self, commands: Connection) -> None:
        self._commands = commands

    def end_phase(self) -> Latencies:
        """Return the latencies since the phase began, and begin the next phase."""
        self._commands.send("next")
        return Latencies(tuple(sorted(self._commands.recv())))


@contextmanager
def probing(url: str) -> Iterator[Prober]:
    """Probe /healthz during the block, from its first line on."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_probe, args=(url, theirs), daemon=True)
    process.start()
    try:
        ours.recv()
        yield Prober(ours)
    finally:
        ours.send("end")
        process.join()


def _probe(url: str, commands: Connection) -> None:
    netloc, found = urlsplit(url).netloc, list[float]()
    commands.send("ready")
    while True:
        found.append(_latency_s(netloc))
        time.sleep(PROBE_INTERVAL_S)
        if commands.poll():
            if commands.recv() == "end":
                return
            commands.send(found)
            found = []


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
