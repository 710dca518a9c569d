"""Hostile and ordinary clients together against one service, for a chosen time, with the invariants checked.

Writers publish, edit and delete documents of graphs of their own and compare every graph with a model (I1 to I6);
others query; a prober measures /healthz; hostile clients (`tests/support/hostile_clients.py`) attack with a credential
for a graph of their own. Every few minutes each writer stops, settles and checks its graph; at the end, without the
hostile clients, all graphs are checked, the process is killed and restarted, and checked once more.

    make soak MINUTES=60 SEED=7
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc.aio
import httpx

from graphtide.services.cli import key_editor as keys
from tests.recovery.walk import expected_digest, random_body
from tests.support.crashing import stored_version_and_watermark
from tests.support.extractions import NAMES
from tests.support.hostile_clients import ATTACKS, GRAPH, Attack, Target
from tests.support.processes import MAX_GROWTH, ProcessResources, Service, resources_of, start_service

GRAPHS = ("g0", "g1", "g2")
DOCUMENTS = 24
TIMEOUT_S = 240.0
"""The time limit for one request of an ordinary client, and for the lag to return to 0."""
STEPS_A_CHECK = 60
HEALTH_S = 0.25
PROBE_S = 120.0
ATTACKERS = 3
MAX_GROWTH_BYTES = 640 << 20
"""The growth of the process over its start that I9 allows while hostile clients send bodies up to the limits."""
AGAIN = (429, 503, 504)
Body = dict[str, Any]


@dataclass
class Figures:
    """Counts and times of the soak."""

    attacks: Counter[str] = field(default_factory=Counter)
    refused_attacks: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    answers: Counter[int] = field(default_factory=Counter)
    health_ms: list[float] = field(default_factory=list)
    checks: int = 0
    accepted: int = 0
    silences: int = 0
    """Probes that got no answer within PROBE_S."""

    def health(self, share: float) -> float:
        """Return a quantile of the time that /healthz took, in milliseconds."""
        ordered = sorted(self.health_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


@dataclass
class Soak:
    """The service, the credentials by name, and the figures."""

    service: Service
    data: Path
    keys: dict[str, str]
    seed: int
    figures: Figures = field(default_factory=Figures)

    def client(self, name: str) -> httpx.AsyncClient:
        """Return a client with that credential; "" for none."""
        headers = {"authorization": f"Bearer {self.keys[name]}"} if name else {}
        return httpx.AsyncClient(base_url=self.service.url, headers=headers, timeout=PROBE_S)


@dataclass
class Writer:
    """One graph, and its live documents according to the answers."""

    soak: Soak
    graph: str
    rng: random.Random
    live: dict[str, Body] = field(default_factory=dict)
    accepted: int = 0
    version: int = 0
    next_offset: int = 0
    token: str = ""

    async def run(self, over: asyncio.Event) -> None:
        """Take steps until the end, and check after every STEPS_A_CHECK of them."""
        async with self.soak.client("writer") as client:
            while not over.is_set():
                for _ in range(STEPS_A_CHECK):
                    await self._step(client)
                    if over.is_set():
                        return
                    await asyncio.sleep(self.rng.uniform(0.05, 0.6))
                await self.check(client)

    def took(self, answered: str) -> None:
        """Note the token of an accepted edit: it includes all before it."""
        self.token = answered

    async def _step(self, client: httpx.AsyncClient) -> None:
        step = self.rng.choices((self._put, self._delete, self._ask), (6, 2, 2))[0]
        self.soak.figures.steps[step.__name__.strip("_")] += 1
        await step(client)

    async def _put(self, client: httpx.AsyncClient) -> None:
        doc_id, body = f"d{self.rng.randrange(DOCUMENTS)}", random_body(self.rng)
        answer = await self.request(client, "PUT", f"/documents/{doc_id}", body)
        assert answer.status_code == 202, answer.text
        self.live[doc_id] = body
        self.took(answer.json()["token"])
        self.accepted += 1
        self.soak.figures.accepted += 1

    async def _delete(self, client: httpx.AsyncClient) -> None:
        if self.live:
            doc_id = self.rng.choice(sorted(self.live))
            answer = await self.request(client, "DELETE", f"/documents/{doc_id}")
            assert answer.status_code in (202, 404), answer.text
            del self.live[doc_id]
            if answer.status_code == 202:
                self.took(answer.json()["token"])
                self.accepted += 1
                self.soak.figures.accepted += 1

    async def _ask(self, client: httpx.AsyncClient) -> None:
        """Read its own writes: each passage belongs to a document in its live version."""
        if self.live:
            asked = {"question": f"{self.rng.choice(NAMES)}?", "generate": False, "after": self.token}
            found = (await self.request(client, "POST", "/query", asked)).json()
            for passage in found["passages"]:
                assert passage["text"] in self.live[passage["doc_id"]]["text"], ("I4", passage)

    async def check(self, client: httpx.AsyncClient) -> None:
        """Settle, and compare everything with the model."""
        body = {"text": "The last one.", "facts": []}
        self.live["last"] = body
        self.token = (await self.request(client, "PUT", "/documents/last", body)).json()["token"]
        self.accepted += 1
        await self.request(client, "POST", "/query", {"question": "?", "generate": False, "after": self.token})
        stats = (await self.request(client, "GET", "/stats")).json()
        verified = (await self.request(client, "POST", "/verify")).json()
        found = (await self.request(client, "GET", "/digest")).json()
        clean = await asyncio.to_thread(expected_digest, self.live)
        assert stats["lag"] == 0 and stats["revisions"]["accepted"] == 0, ("I1, I8", stats)
        assert sum(stats["revisions"].values()) >= self.accepted and not stats["revisions"]["failed"], ("I1", stats)
        assert stats["counts"]["documents"] == len(self.live), ("I1", stats)
        assert verified["differences"] == [], ("I2, I3, I6", verified)
        assert found["digest"] == verified["digest"] == clean, ("I4", found, verified, clean)
        for kind, index in stats["indexes"].items():
            assert index["live"] == stats["counts"][kind], ("I6", kind, stats)
        version, next_offset = await asyncio.to_thread(stored_version_and_watermark, self.soak.data, self.graph)
        assert version >= self.version and next_offset >= self.next_offset, ("I5", version, next_offset)
        self.version, self.next_offset = version, next_offset
        self.soak.figures.checks += 1

    async def request(self, client: httpx.AsyncClient, method: str, path: str, body: object = None) -> httpx.Response:
        """Send one request until the service accepts it."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            with suppress(httpx.TransportError):
                answer = await client.request(method, f"/v1/graphs/{self.graph}{path}", json=body)
                self.soak.figures.answers[answer.status_code] += 1
                if answer.status_code not in AGAIN:
                    assert answer.status_code < 400 or answer.status_code == 404, (method, path, answer.text)
                    return answer
            assert time.monotonic() < deadline, ("I8", f"no answer to {method} {path}")
            await asyncio.sleep(0.2)


async def probe(soak: Soak, over: asyncio.Event) -> None:
    """Measure /healthz; check that the process lives, requires a credential, and keeps graphs apart (I7)."""
    number = 0
    async with soak.client("") as stranger, soak.client("hostile") as hostile:
        while not over.is_set():
            assert soak.service.process.poll() is None, "the service ended"
            started = time.monotonic()
            try:
                assert (await stranger.get("/healthz")).status_code == httpx.codes.OK
                soak.figures.health_ms.append((time.monotonic() - started) * 1000)
                if number % 40 == 0:
                    await check_isolated(stranger, hostile)
            except httpx.TransportError:
                soak.figures.silences += 1
            number += 1
            await asyncio.sleep(HEALTH_S)


async def check_isolated(stranger: httpx.AsyncClient, hostile: httpx.AsyncClient) -> None:
    for client, refused in ((stranger, (401, 429)), (hostile, (403, 429, 503))):
        for method, path in (("GET", "stats"), ("GET", "documents/d0"), ("DELETE", "documents/d0"), ("POST", "verify")):
            answer = await client.request(method, f"/v1/graphs/{GRAPHS[0]}/{path}")
            assert answer.status_code in refused, ("I7", method, path, answer.status_code, answer.text)
    listed = await hostile.get("/v1/graphs")
    if listed.status_code == httpx.codes.OK:
        assert {one["graph"] for one in listed.json()["graphs"]} <= {GRAPH}, ("I7", listed.text)


async def attack(soak: Soak, number: int, attacks: Sequence[Attack], over: asyncio.Event) -> None:
    """Run one attack after the other."""
    rng = random.Random(f"{soak.seed} attacker {number}")
    target = Target(soak.service.url, soak.service.grpc, soak.keys["hostile"])
    while not over.is_set():
        chosen = rng.choice(attacks)
        soak.figures.attacks[chosen.__name__] += 1
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await chosen(target, rng)
        except (httpx.HTTPError, OSError, TimeoutError, grpc.aio.AioRpcError):
            soak.figures.refused_attacks[chosen.__name__] += 1
        await asyncio.sleep(rng.uniform(0, 2))


async def soak(one: Soak, minutes: float, attacks: Sequence[Attack]) -> None:
    """Run all clients for that time, then check everything without the hostile ones."""
    over, writers = asyncio.Event(), [Writer(one, name, random.Random(f"{one.seed} {name}")) for name in GRAPHS]
    async with asyncio.TaskGroup() as group:
        group.create_task(_end(over, 60 * minutes))
        for task in (
            *(writer.run(over) for writer in writers),
            *(attack(one, number, attacks, over) for number in range(ATTACKERS)),
            probe(one, over),
            _report(one, over),
        ):
            group.create_task(task)
    await _check_all(one, writers)
    await asyncio.to_thread(_check_bounded, one)
    one.service.kill()
    one.service = await asyncio.to_thread(start_service, one.data, _settings(one.data.parent))
    await _check_all(one, writers)
    assert await asyncio.to_thread(one.service.stop) == 0


async def _check_all(one: Soak, writers: Sequence[Writer]) -> None:
    async with one.client("writer") as client:
        for writer in writers:
            await writer.check(client)
        url, deadline = f"/v1/graphs/{GRAPH}", time.monotonic() + TIMEOUT_S
        while (stats := (await client.get(f"{url}/stats")).json())["lag"]:
            assert time.monotonic() < deadline, ("I8", stats)
            await asyncio.sleep(0.5)
        assert (await client.post(f"{url}/verify")).json()["differences"] == [], "I2, I3, I6 of the hostile graph"


async def _end(over: asyncio.Event, seconds: float) -> None:
    await asyncio.sleep(seconds)
    over.set()


async def _report(one: Soak, over: asyncio.Event) -> None:
    started = time.monotonic()
    while not over.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(60):
                await over.wait()
        minutes, now = (time.monotonic() - started) / 60, resources_of(one.service.process.pid)
        print(f"{minutes:.0f} min: {one.figures.checks} checks, {one.figures.accepted} revisions, {now}", flush=True)


def _check_bounded(one: Soak) -> None:
    """Check I9 without the hostile clients: files and threads as at the beginning, memory within its bound."""
    now, begun = resources_of(one.service.process.pid), one.service.begun
    assert isinstance(now, ProcessResources) and isinstance(begun, ProcessResources)
    assert now.peak_bytes - begun.peak_bytes <= MAX_GROWTH_BYTES, ("I9", begun, now)
    assert now.files - begun.files <= MAX_GROWTH.files and now.threads - begun.threads <= MAX_GROWTH.threads, (
        "I9",
        now,
    )
    mb, files, threads = now.peak_bytes >> 20, now.files, now.threads
    print(f"memory {begun.peak_bytes >> 20} -> {mb} MB at most, {files} files, {threads} threads")


def _settings(folder: Path) -> dict[str, str]:
    return {"GRAPHTIDE_API_KEYS_FILE": str(folder / "keys.toml"), "GRAPHTIDE_LOG_LEVEL": "WARNING"}


def make_keys(file: Path) -> dict[str, str]:
    """Create the credentials of the ordinary clients and of the hostile ones."""
    everything, few = ("read", "write", "admin", "metrics"), ("read", "write")
    wanted = {"writer": (("*",), everything), "hostile": ((GRAPH,), few)}
    return {name: str(keys.create(file, keys.Wanted(name, *given))["key"]) for name, given in wanted.items()}


def run(minutes: float, seed: int, folder: Path, attacks: Sequence[Attack] = ATTACKS) -> Soak:
    """Run the whole course in a folder. Raises the violated invariant."""
    credentials = make_keys(folder / "keys.toml")
    service = start_service(folder / "data", _settings(folder), folder / "log")
    one = Soak(service, folder / "data", credentials, seed)
    try:
        asyncio.run(soak(one, minutes, attacks))
    finally:
        if one.service.process.poll() is None:
            one.service.kill()
    return one


def report_figures(figures: Figures) -> str:
    """Return the figures as docs/faults.md shows them."""

    def listed(counted: Counter[Any]) -> str:
        return ", ".join(f"{count} {name}" for name, count in sorted(counted.items(), key=str))

    return (
        f"{figures.accepted} revisions, {figures.checks} checks of a whole graph, steps: {listed(figures.steps)}\n"
        f"answers to ordinary clients: {listed(figures.answers)}\n"
        f"attacks: {listed(figures.attacks)}\n"
        f"ended by an error of the connection: {listed(figures.refused_attacks)}\n"
        f"/healthz {len(figures.health_ms)} times: p50 {figures.health(0.5):.0f}, p99 {figures.health(0.99):.0f}, "
        f"worst {figures.health(1):.0f} ms, {figures.silences} probes without an answer within {PROBE_S:g} s"
    )


def main() -> None:
    """Soak for some minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--without", action="append", default=[], help="the name of an attack to leave out")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    attacks = [each for each in ATTACKS if each.__name__ not in given.without]
    with tempfile.TemporaryDirectory() as folder:
        try:
            one = run(given.minutes, given.seed, Path(folder), attacks)
        except BaseException:
            sys.stderr.write("".join((Path(folder) / "log").read_text().splitlines(keepends=True)[-60:]))
            raise
    print(f"all held over {given.minutes:g} minutes\n{report_figures(one.figures)}")


if __name__ == "__main__":
    main()
