"""Hostile and ordinary clients together against a cluster, with kill -9 at random, and the invariants checked.

The cluster is a gateway with credentials, two replicas, an extractor and a consolidator on a real broker and a real
graph database. Writers, probes and attacks are those of `soak.py`, at the gateway; attacks over gRPC go to a replica,
since a gateway has HTTP alone. Meanwhile one process after the other is killed and started again at its old address. At
the end the attacks and kills stop: every graph is checked, all processes are killed and started, and every graph is
checked once more.

    make soak-cluster MINUTES=10 SEED=7
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from graphtide.streams.follow.progress import positions, token
from tests.recovery.soak import (
    GRAPHS,
    MAX_GROWTH_BYTES,
    TIMEOUT_S,
    Figures,
    Soak,
    Writer,
    attack,
    check_isolated,
    make_keys,
    report_figures,
)
from tests.recovery.walk import expected_digest
from tests.support.cluster import Cluster
from tests.support.disturbing import NO_PORTS, apply_topics
from tests.support.hostile_clients import ATTACKS, GRAPH, Attack
from tests.support.invariants import watermarks
from tests.support.kafka_server import GivenKafka, KafkaServer, LocalKafka, fresh
from tests.support.neo4j_server import GivenServer, GraphServer, LocalNeo4j, clear
from tests.support.ports import free_ports
from tests.support.processes import MAX_GROWTH, Service, resources_of

GATEWAY = "gateway"
ATTACKERS = 2
KILL_PAUSE_S = (5.0, 25.0)
POLL_S = 0.5


@dataclass
class ClusterUnderTest:
    """The processes by name with their arguments and settings, so that each can be started again at its address."""

    cluster: Cluster
    keys_file: Path
    ports: Sequence[int] = field(default_factory=lambda: free_ports(3))
    kills: Counter[str] = field(default_factory=Counter)

    def arguments(self) -> dict[str, tuple[str, ...]]:
        """Return the arguments of each process."""
        gateway, *replicas = map(str, self.ports)
        named: dict[str, tuple[str, ...]] = {
            "extract": ("worker", "extract", *NO_PORTS),
            "consolidate": ("worker", "consolidate", *NO_PORTS),
        }
        for number, port in enumerate(replicas, start=1):
            named[f"replica-{number}"] = ("worker", "query", *NO_PORTS, "--grpc-port", port)
        return {**named, GATEWAY: ("worker", "gateway", *NO_PORTS, "--port", gateway)}

    def settings(self, name: str) -> dict[str, str]:
        """Return the settings of a process."""
        if name != GATEWAY:
            return {}
        replicas = ",".join(f"127.0.0.1:{port}" for port in self.ports[1:])
        return {"GRAPHTIDE_QUERY_TARGET": f"ipv4:{replicas}", "GRAPHTIDE_API_KEYS_FILE": str(self.keys_file)}

    def start(self, *names: str) -> None:
        """Start these processes at the same time, the gateway last, and wait for them."""
        workers = {name: self.arguments()[name] for name in names if name != GATEWAY}
        self.cluster.start_all(workers)
        if GATEWAY in names:
            self.cluster.start_all({GATEWAY: self.arguments()[GATEWAY]}, self.settings(GATEWAY))

    def kill(self, name: str) -> None:
        self.kills[name] += 1
        self.cluster.kill(name)

    def service(self) -> Service:
        """Return the gateway's HTTP address, and the gRPC address of a replica."""
        gateway = self.cluster.processes[GATEWAY]
        return Service(gateway.process, f"http://127.0.0.1:{self.ports[0]}", f"127.0.0.1:{self.ports[1]}")


class ClusterWriter(Writer):
    """A writer that waits for its edits in every partition, and compares replicas that may be at other versions."""

    def took(self, answered: str) -> None:
        """Add the positions of an accepted edit to those that a question waits for."""
        self.token = token([*(positions(self.token) if self.token else ()), *positions(answered)])

    async def check(self, client: httpx.AsyncClient) -> None:
        """Settle, and compare everything with the model, until both replicas agree with it."""
        self.live["last"] = {"text": "The last one.", "facts": []}
        self.took((await self.request(client, "PUT", "/documents/last", self.live["last"])).json()["token"])
        self.accepted += 1
        clean = await asyncio.to_thread(expected_digest, self.live)
        deadline = time.monotonic() + TIMEOUT_S
        while wrong := await self._differences(client, clean):
            assert time.monotonic() < deadline, (self.graph, wrong)
            await asyncio.sleep(POLL_S)
        verified = (await self.request(client, "POST", "/verify")).json()
        assert verified["differences"] == [], ("I2, I3, I6", verified)
        assert verified["digest"] == clean, ("I4", verified, clean)
        self.soak.figures.checks += 1

    async def _differences(self, client: httpx.AsyncClient, clean: str) -> object:
        """Return what differs from the model at the replicas that answer, None if nothing does."""
        asked = {"question": "?", "generate": False, "after": self.token}
        for _ in range(2):  # the gateway calls the replicas in turn
            await self.request(client, "POST", "/query", asked)
            stats = (await self.request(client, "GET", "/stats")).json()
            digest = (await self.request(client, "GET", "/digest")).json()["digest"]
            revisions = stats["revisions"]
            assert sum(revisions.values()) >= self.accepted and not revisions["failed"], ("I1", stats)
            assert stats["version"] >= self.version or stats["lag"], ("I5", stats, self.version)
            indexes = {kind: index["live"] for kind, index in stats["indexes"].items()}
            settled = stats["lag"] == 0 and revisions["accepted"] == 0
            counted = all(stats["counts"][kind] == live for kind, live in indexes.items())
            if not (settled and counted and digest == clean and stats["counts"]["documents"] == len(self.live)):
                return "I1, I4, I6, I8", stats, digest, clean
            self.version = max(self.version, stats["version"])
        return None


async def probe(soak: Soak, over: asyncio.Event) -> None:
    """Measure /healthz of the gateway, which is unreachable while it is dead, and check that graphs are apart (I7)."""
    number = 0
    async with soak.client("") as stranger, soak.client("hostile") as hostile:
        while not over.is_set():
            started = time.monotonic()
            try:
                assert (await stranger.get("/healthz")).status_code == httpx.codes.OK
                soak.figures.health_ms.append((time.monotonic() - started) * 1000)
                if number % 40 == 0:
                    await check_isolated(stranger, hostile)
            except httpx.TransportError:
                soak.figures.silences += 1
            number += 1
            await asyncio.sleep(0.25)


async def kill_at_random(under_test: ClusterUnderTest, rng: random.Random, over: asyncio.Event) -> None:
    """Kill one process after the other with kill -9, and start it again, at once or after some seconds."""
    while not over.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(rng.uniform(*KILL_PAUSE_S)):
                await over.wait()
            return
        name = rng.choice(sorted(under_test.cluster.processes))
        await asyncio.to_thread(under_test.kill, name)
        await asyncio.sleep(rng.choice((0.0, rng.uniform(0, 8))))
        await asyncio.to_thread(under_test.start, name)


async def rise(under_test: ClusterUnderTest, over: asyncio.Event) -> None:
    """Check that the watermarks of the consolidator never fall (I5)."""
    before = await asyncio.to_thread(watermarks, under_test.cluster)
    while not over.is_set():
        await asyncio.sleep(2)
        now = await asyncio.to_thread(watermarks, under_test.cluster)
        for partition, (epoch, offset) in before.items():
            assert now[partition][0] >= epoch and now[partition][1] >= offset, ("I5", partition, before, now)
        before = now


async def report(one: Soak, under_test: ClusterUnderTest, over: asyncio.Event) -> None:
    """Print the progress every half a minute."""
    started = time.monotonic()
    while not over.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(30):
                await over.wait()
        figures, kills = one.figures, sum(under_test.kills.values())
        minutes = (time.monotonic() - started) / 60
        print(f"{minutes:.1f} min: {figures.checks} checks, {figures.accepted} revisions, {kills} kills", flush=True)


async def soak(one: Soak, under_test: ClusterUnderTest, minutes: float, attacks: Sequence[Attack]) -> None:
    """Run everything for that time, then check all graphs, kill all processes, and check again."""
    over = asyncio.Event()
    writers = [ClusterWriter(one, name, random.Random(f"{one.seed} {name}")) for name in GRAPHS]
    async with asyncio.TaskGroup() as group:
        for task in (
            *(writer.run(over) for writer in writers),
            *(attack(one, number, attacks, over) for number in range(ATTACKERS)),
            probe(one, over),
            kill_at_random(under_test, random.Random(f"{one.seed} kills"), over),
            rise(under_test, over),
            report(one, under_test, over),
        ):
            group.create_task(task)
        await asyncio.sleep(60 * minutes)
        over.set()
    await _check_all(one, writers)
    check_bounded(under_test.cluster)
    for name in list(under_test.cluster.processes):
        await asyncio.to_thread(under_test.kill, name)
    await asyncio.to_thread(under_test.start, *under_test.arguments())
    await _check_all(one, writers)
    for name in (GATEWAY, *under_test.cluster.processes):
        if name in under_test.cluster.processes:
            assert await asyncio.to_thread(under_test.cluster.stop, name) == 0, name


async def _check_all(one: Soak, writers: Sequence[Writer]) -> None:
    async with one.client("writer") as client:
        hostile = Writer(one, GRAPH, random.Random(0))
        await hostile.request(client, "PUT", "/documents/last", {"text": "The last one."})
        for writer in writers:
            await writer.check(client)
        deadline = time.monotonic() + TIMEOUT_S
        while (stats := (await hostile.request(client, "GET", "/stats")).json())["lag"]:
            assert time.monotonic() < deadline, ("I8", stats)
            await asyncio.sleep(POLL_S)
        verified = (await hostile.request(client, "POST", "/verify")).json()
        assert verified["differences"] == [], ("I2, I3, I6 of the hostile graph", verified)


def check_bounded(cluster: Cluster) -> None:
    """Check I9 of every process: files and threads as at its start, memory within the soak's bound."""
    for name, process in cluster.processes.items():
        now, begun = resources_of(process.process.pid), process.begun
        assert now is not None and begun is not None, name
        assert now.peak_bytes - begun.peak_bytes <= MAX_GROWTH_BYTES, ("I9", name, begun, now)
        assert now.files - begun.files <= MAX_GROWTH.files, ("I9", name, begun, now)
        assert now.threads - begun.threads <= MAX_GROWTH.threads, ("I9", name, begun, now)
        print(f"{name}: memory {begun.peak_bytes >> 20} -> {now.peak_bytes >> 20} MB, {now.files} files")


def run(
    minutes: float, seed: int, kafka: KafkaServer, graph_server: GraphServer, folder: Path, attacks: Sequence[Attack]
) -> tuple[Figures, Counter[str]]:
    """Run the whole course; return its figures and the kills. Raises the violated invariant."""
    clear(graph_server.address)
    keys_file = folder / "keys.toml"
    credentials = make_keys(keys_file)
    cluster = Cluster(fresh(kafka), graph_server, folder, {"GRAPHTIDE_LOG_LEVEL": "WARNING"})
    apply_topics(cluster)
    under_test = ClusterUnderTest(cluster, keys_file)
    try:
        under_test.start(*under_test.arguments())
        one = Soak(under_test.service(), folder, credentials, seed)
        asyncio.run(soak(one, under_test, minutes, attacks))
        return one.figures, under_test.kills
    finally:
        cluster.end()
        clear(graph_server.address)


def main() -> None:
    """Soak for some minutes, on servers of its own or those that the environment names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--without", action="append", default=[], help="the name of an attack to leave out")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    attacks = [each for each in ATTACKS if each.__name__ not in given.without]
    with contextlib.ExitStack() as stack:
        made = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        for name in ("kafka", "neo4j", "logs"):
            (made / name).mkdir()
        kafka, neo4j = os.environ.get("GRAPHTIDE_TEST_KAFKA"), os.environ.get("GRAPHTIDE_TEST_NEO4J")
        broker = GivenKafka(kafka) if kafka else LocalKafka(made / "kafka")
        graph_server = GivenServer(neo4j) if neo4j else LocalNeo4j(made / "neo4j")
        if isinstance(broker, LocalKafka):
            stack.callback(broker.kill)
        if isinstance(graph_server, LocalNeo4j):
            stack.callback(graph_server.kill)
        figures, kills = run(given.minutes, given.seed, broker, graph_server, made / "logs", attacks)
    sys.stdout.write(f"all held over {given.minutes:g} minutes\n{report_figures(figures)}\nkills: {dict(kills)}\n")


if __name__ == "__main__":
    main()
