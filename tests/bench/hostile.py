"""Latency of `/healthz` while hostile clients are at work: `make bench-hostile`, or one case by its name.

A case is a coroutine that receives the service and works until it is cancelled; add it to CASES. Another process probes
`/healthz` meanwhile, so the attack's own CPU in the client is not measured. Figures depend on the machine; the target
on any machine is a p99 below 250 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.support.processes import Service, service

Case = Callable[[Service], Awaitable[None]]

GRAPH = "/v1/graphs/notes"
AS_JSON, AS_LINES = {"content-type": "application/json"}, {"content-type": "application/x-ndjson"}
CHUNKED = f"PUT {GRAPH}/documents/a HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
CHUNKED += "transfer-encoding: chunked\r\n\r\n"


# -- cases -------------------------------------------------------------------------------------------------------------


async def idle(_: Service) -> None:
    """Do nothing: the baseline of the machine."""
    await asyncio.Event().wait()


async def empty_facts(running: Service) -> None:
    """Send 8 MB of empty facts, four at a time."""
    await _repeat(running, "PUT", f"{GRAPH}/documents/a", AS_JSON, b'{"text":"a","facts":' + _list(2_700_000) + b"}")


async def wrong_facts(running: Service) -> None:
    """Send the maximum number of wrong facts that are checked."""
    await _repeat(running, "PUT", f"{GRAPH}/documents/a", AS_JSON, b'{"text":"a","facts":' + _list(5_000) + b"}")


async def filters(running: Service) -> None:
    """Send a filter with a million values."""
    body = b'{"question":"a","filters":{"doc_ids":[' + b"1," * 1_000_000 + b"1]}}"
    await _repeat(running, "POST", f"{GRAPH}/query", AS_JSON, body)


async def batch_list(running: Service) -> None:
    """Send a batch of 24 MB, its documents crowded with wrong facts."""
    document = b'{"id":"a","text":"a","facts":' + _list(5_000) + b"}"
    await _repeat(running, "POST", f"{GRAPH}/documents", AS_JSON, b"[" + b",".join([document] * 1_000) + b"]", 2)


async def batch_lines(running: Service) -> None:
    """Send 24 MB of lines that are not documents."""
    await _repeat(running, "POST", f"{GRAPH}/documents", AS_LINES, b"{}\n" * 8_000_000, 2)


async def trailers(running: Service) -> None:
    """Send trailers without an end, on eight connections."""
    await _send_for_ever(running, CHUNKED.encode() + b"2\r\n{}\r\n0\r\n", b"x: y\r\n" * 10_000, 8)


async def endless_bodies(running: Service) -> None:
    """Send bodies without an end, on eight connections."""
    await _send_for_ever(running, CHUNKED.encode(), b"10000\r\n" + b" " * 65536 + b"\r\n", 8)


async def bodies_that_do_not_begin(running: Service) -> None:
    """Send 500 heads, and nothing after them."""
    await _send_for_ever(running, CHUNKED.encode(), b"", 500)


async def slow_readers(running: Service) -> None:
    """Request 80 streamed answers and read none of them."""
    ask = b'{"question":"Who discovered polonium?","top_k":100}'
    head = f"POST {GRAPH}/query HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n"
    await _send_for_ever(running, head.encode() + b"content-length: %d\r\n\r\n" % len(ask) + ask, b"", 80, unread=True)


CASES: list[Case] = [
    idle,
    empty_facts,
    wrong_facts,
    filters,
    batch_list,
    batch_lines,
    trailers,
    endless_bodies,
    bodies_that_do_not_begin,
    slow_readers,
]


# -- parts of the cases ------------------------------------------------------------------------------------------------


def _list(count: int) -> bytes:
    return b"[" + b",".join([b"{}"] * count) + b"]"


async def _repeat(
    running: Service, method: str, path: str, headers: dict[str, str], body: bytes, workers: int = 4
) -> None:
    """Send one request repeatedly from that many workers."""

    async def send(client: httpx.AsyncClient) -> None:
        while True:
            with contextlib.suppress(httpx.HTTPError):
                await client.request(method, path, headers=headers, content=body)

    async with httpx.AsyncClient(base_url=running.url, timeout=120) as client, asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(send(client))


async def _send_for_ever(running: Service, first: bytes, then: bytes, connections: int, unread: bool = False) -> None:
    """Hold that many connections; on each send `first`, then `then` repeatedly. A closed one is opened again."""
    place = urlsplit(running.url)

    async def hold() -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection(place.hostname, place.port)
                writer.write(first)
                while then:
                    writer.write(then)
                    await writer.drain()
                await asyncio.Event().wait() if unread else await reader.read()
            await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(hold())


# -- measuring ---------------------------------------------------------------------------------------------------------


def _probe(url: str, ended: Connection) -> None:
    """Request /healthz on new connections until the end is signalled; send back the seconds that each took."""
    place, took = urlsplit(url), []
    ended.send([])
    while not ended.poll():
        began = time.perf_counter()
        try:
            connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            connection.close()
            took.append(time.perf_counter() - began)
        except OSError:
            took.append(float("inf"))
        time.sleep(0.02)
    ended.send(took)


async def measured(running: Service, case: Case, seconds: float) -> list[float]:
    """Return the sorted seconds that /healthz took while `case` was at work."""
    ours, theirs = multiprocessing.Pipe()
    prober = multiprocessing.get_context("spawn").Process(target=_probe, args=(running.url, theirs), daemon=True)
    attack = asyncio.ensure_future(case(running))
    await asyncio.sleep(0.5)
    prober.start()
    await asyncio.to_thread(ours.recv)
    await asyncio.wait([attack], timeout=seconds)
    ours.send("end")
    took: list[float] = await asyncio.to_thread(ours.recv)
    attack.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await attack
    prober.join()
    return sorted(took)


def main() -> None:
    """Measure the cases that the command line names, or all; each on a service of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(case.__name__ for case in CASES))
    parser.add_argument("--seconds", type=float, default=20)
    given = parser.parse_args()
    sys.stdout.write(f"{'case':28} {'probes':>7} {'p50 ms':>8} {'p99 ms':>8} {'worst ms':>9} {'peak MB':>8}\n")
    for case in CASES:
        if given.cases and case.__name__ not in given.cases:
            continue
        with tempfile.TemporaryDirectory() as folder, _quiet(Path(folder)) as running:
            texts = [{"id": str(n), "text": f"Marie Curie discovered polonium in {n}. " * 50} for n in range(200)]
            httpx.post(f"{running.url}{GRAPH}/documents", json=texts, timeout=120).raise_for_status()
            took = asyncio.run(measured(running, case, given.seconds))
            peak = _peak_bytes(running.process.pid) >> 20
        p50, p99, worst = (1000 * took[int(share * (len(took) - 1))] for share in (0.5, 0.99, 1))
        sys.stdout.write(f"{case.__name__:28} {len(took):7} {p50:8.1f} {p99:8.1f} {worst:9.1f} {peak:8}\n")
        sys.stdout.flush()


def _quiet(folder: Path) -> AbstractContextManager[Service]:
    return service(folder / "data", {"GRAPHTIDE_LOG_LEVEL": "ERROR"}, folder / "log")


def _peak_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


if __name__ == "__main__":
    main()
