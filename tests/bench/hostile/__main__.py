"""The table of /healthz latencies: one line per case, each on a service of its own.

The target on any machine is a p99 below 250 ms. `idle` is the p99 of the same service before the case,
`CPU p99` that of the CPU time that the service used during a probe, and `control` the p99 of a process beside it that
only answers: the time that the machine lets an idle process wait for a core. `own p99` is the p99 of the latency
without the time in which the service's event loop was ready to run and had no core; on a machine with free cores it is
`p99`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.bench.hostile import clients, heavy, raw
from tests.bench.hostile.probe import Latencies, probing
from tests.support.processes import Service, resources_of, service

IDLE_S = 4.0
Case = Callable[[Service], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Measurement:
    """The latencies before and during one case, the peak memory of the service, and the figures of the case."""

    idle: Latencies
    busy: Latencies
    peak_bytes: int
    figures: object


async def measured(running: Service, case: Case, seconds: float) -> Measurement:
    """Measure /healthz without the case, then during it: for `seconds`, or until the case returns."""
    with probing(running) as prober:
        await asyncio.sleep(IDLE_S)
        idle = await asyncio.to_thread(prober.end_phase)
        working = asyncio.ensure_future(case(running))
        await asyncio.wait([working], timeout=seconds)
        busy = await asyncio.to_thread(prober.end_phase)
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            figures = await working
            return Measurement(idle, busy, _peak_bytes(running), figures)
    return Measurement(idle, busy, _peak_bytes(running), None)


def _peak_bytes(running: Service) -> int:
    now = resources_of(running.process.pid)
    return now.peak_bytes if now else 0


def _prepare(running: Service) -> None:
    texts = [{"id": str(n), "text": f"Marie Curie discovered polonium in {n}. " * 50} for n in range(200)]
    taken = httpx.post(f"{running.url}{raw.GRAPH}/documents", json=texts, timeout=120).raise_for_status().json()
    for _ in range(10):
        ask = {"question": "Who discovered polonium?", "after": taken["token"], "generate": False}
        if httpx.post(f"{running.url}{raw.GRAPH}/query", json=ask, timeout=120).status_code == httpx.codes.OK:
            return


def _measure(name: str, seconds: float) -> Measurement:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        settings = {"GRAPHTIDE_LOG_LEVEL": "ERROR"}
        keys_file = folder / "keys.toml"
        attacks = clients.cases(clients.make_key(keys_file))
        if name in attacks:
            settings["GRAPHTIDE_API_KEYS_FILE"] = str(keys_file)
        with service(folder / "data", settings, folder / "log") as running:
            if name in attacks:
                return asyncio.run(measured(running, attacks[name], seconds))
            if name in heavy.cases():
                return asyncio.run(measured(running, heavy.cases()[name], heavy.LIMIT_S))
            _prepare(running)
            return asyncio.run(measured(running, {case.__name__: case for case in raw.CASES}[name], seconds))


def _names() -> list[str]:
    return list(dict.fromkeys((*(case.__name__ for case in raw.CASES), *clients.cases(""), *heavy.cases())))


def main() -> None:
    """Measure the cases that the command line names, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(_names()))
    parser.add_argument("--seconds", type=float, default=20, help="the length of a case that does not end by itself")
    given = parser.parse_args()
    if unknown := [name for name in given.cases if name not in _names()]:
        parser.error(f"unknown case {unknown[0]}: choose from {', '.join(_names())}")
    head = (
        f"{'case':26} {'idle p99':>8} {'probes':>6} {'p50':>7} {'p99':>7} {'worst ms':>8} {'control':>7} {'CPU p99':>7}"
    )
    head += f" {'own p99':>7} {'peak MB':>7}\n"
    sys.stdout.write(head)
    for name in given.cases or _names():
        found = _measure(name, given.seconds)
        p50, p99, worst = (found.busy.quantile_ms(share) for share in (0.5, 0.99, 1))
        line = f"{name:26} {found.idle.quantile_ms(0.99):8.1f} {len(found.busy.seconds):6} {p50:7.1f} {p99:7.1f}"
        control, cpu = found.busy.control_quantile_ms(0.99), found.busy.cpu_quantile_ms(0.99)
        line += f" {worst:8.1f} {control:7.1f} {cpu:7.1f}"
        line += f" {found.busy.own_quantile_ms(0.99):7.1f} {found.peak_bytes >> 20:7}"
        line += f"  {json.dumps(found.figures) if found.figures else ''}"
        sys.stdout.write(line.rstrip() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
