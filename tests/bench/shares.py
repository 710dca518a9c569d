"""Many graphs of different sizes on four query replicas: memory, balance, latency, and replicas that come and go.

    make bench-shares                              500 graphs
    make bench-shares ARGS="--graphs 10000"

Kafka, Neo4j and every replica are processes of their own. Graphs are those of shares_store.py. Questions go through a
gateway with a replication factor of 1. While replicas are killed, started and restarted, some clients publish documents
and ask for them with `after`, others ask any graph; every answer but a complete one counts as failed.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from graphtide.services.api.schema import graphtide_pb2 as pb
from tests.bench.cluster_documents import bodies, name
from tests.bench.cluster_table import Row, quantiles, resident_bytes, write
from tests.bench.shares_store import LARGEST, copy_graphs, sizes, template
from tests.bench.started_cluster import started_cluster
from tests.support.bench_data import ROOT
from tests.support.cluster import Cluster
from tests.support.named_replicas import four, gateway
from tests.support.ports import free_port

REPLICAS = ("one", "two", "three", "four")
NO_PORTS = ("--metrics-port", "0")
ASKING = 4
"""Clients that ask at the same time."""
WRITTEN_GRAPHS = 20
"""Graphs that receive documents while replicas come and go."""
SMALL = 8
"""Documents of a graph of which an answer contains every passage, at most."""
MIB = 1 << 20
RING_GRAPHS = 10_000
RINGS = 3
RING_EXPONENTS = {0.0: "by number", 0.8: "by size (Zipf, 0.8)", 1.0: "by size (Zipf, 1.0)"}


@dataclass
class Tally:
    """Latencies in seconds of complete answers, and the other answers."""

    taken_s: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def row(self, figure: str) -> Row:
        count = len(self.taken_s) + len(self.failed)
        for reason in self.failed[:5]:
            print("failed:", reason)
        return Row(figure, f"{len(self.failed)} of {count} failed", quantiles(self.taken_s) if self.taken_s else "")


@dataclass
class Bench:
    cluster: Cluster
    client: httpx.AsyncClient
    graphs: Mapping[str, int]
    rng: random.Random
    rows: list[Row] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=lambda: {each: free_port() for each in REPLICAS})

    def note(self, row: Row) -> None:
        self.rows.append(row)
        print(row.line(), flush=True)

    def url(self, graph: str) -> str:
        return f"{self.cluster.processes['front'].addresses['http']}/v1/graphs/{graph}"

    def resident(self, process: str) -> int:
        return resident_bytes(self.cluster.processes[process].process.pid)

    def replica(self, each: str) -> tuple[str, ...]:
        return ("worker", "query", *NO_PORTS, "--grpc-port", str(self.ports[each]))

    async def ask(self, graph: str, tally: Tally, after: str = "", doc_id: str = "") -> None:
        question = f"Who visited {name(self.rng.randrange(50))}?"
        body = {"question": question, "mode": "vector", "generate": False, "top_k": 100, "after": after}
        started = time.perf_counter()
        try:
            answer = await self.client.post(f"{self.url(graph)}/query", json=body)
        except httpx.HTTPError as error:
            tally.failed.append(f"{graph}: {type(error).__name__}")
            return
        if answer.status_code != 200:
            tally.failed.append(f"{graph}: {answer.status_code} {answer.text[:200]}")
        elif doc_id and doc_id not in {passage["doc_id"] for passage in answer.json()["passages"]}:
            tally.failed.append(f"{graph}: the answer lacks {doc_id}")
        else:
            tally.taken_s.append(time.perf_counter() - started)

    async def ask_each(self, graphs: Sequence[str]) -> Tally:
        """Ask each of the graphs once, a few at a time."""
        tally, waiting = Tally(), iter(graphs)

        async def client() -> None:
            for graph in waiting:
                await self.ask(graph, tally)

        await asyncio.gather(*(client() for _ in range(ASKING)))
        return tally


# -- the graphs --------------------------------------------------------------------------------------------------------


async def fill(bench: Bench) -> None:
    """Publish the templates, and copy them."""
    cluster = bench.cluster
    stages = {role: ("worker", role, *NO_PORTS) for role in ("extract", "consolidate")}
    cluster.start_all(stages | {"front": ("serve", "--port", "0", "--grpc-port", "0")})
    counts = sorted(set(bench.graphs.values()))
    tokens = {}
    for documents in counts:
        sent = await bench.client.post(f"{bench.url(template(documents))}/documents", json=list(bodies(documents)))
        assert sent.status_code == 202, sent.text
        tokens[template(documents)] = sent.json()["token"]
    tally = Tally()
    for graph, token in tokens.items():
        await bench.ask(graph, tally, token)
    assert not tally.failed, tally.failed
    cluster.stop("front")
    started = time.perf_counter()
    await asyncio.to_thread(copy_graphs, cluster.graph_server.address, dict(bench.graphs))
    print(f"copied within {time.perf_counter() - started:.0f} s", flush=True)


async def everything_in_one(bench: Bench) -> None:
    """Measure a replica that holds every graph, beside an empty process."""
    started = time.perf_counter()
    bench.cluster.start("all", *bench.replica("one"))
    process = bench.cluster.processes["all"]
    size = process.metric("graphtide_views_bytes") / MIB
    note = f"estimated {size:.0f} MiB of graphs; ready after {time.perf_counter() - started:.0f} s"
    bench.note(Row("one replica with all graphs, resident", f"{bench.resident('all') / MIB:.0f} MiB", note))
    bench.cluster.stop("all")


async def shares(bench: Bench) -> None:
    """Start four replicas and a gateway, and ask every graph once, then again."""
    on_demand = {"GRAPHTIDE_IDLE_GRAPH_S": "3600"}
    bench.cluster.start_all({each: bench.replica(each) for each in REPLICAS}, on_demand)
    empty = [bench.resident(each) for each in REPLICAS]
    target = "ipv4:" + ",".join(f"127.0.0.1:{port}" for port in bench.ports.values())
    routed = {"GRAPHTIDE_QUERY_TARGET": target, "GRAPHTIDE_REPLICATION_FACTOR": "1"}
    bench.cluster.start("front", "worker", "gateway", *NO_PORTS, "--port", "0", settings=routed)
    order = bench.rng.sample(sorted(bench.graphs), len(bench.graphs))
    bench.note((await bench.ask_each(order)).row("question to a graph that is not in memory"))
    bench.note((await bench.ask_each(order)).row("question to a graph in memory"))
    loaded = [bench.cluster.processes[each].metric("graphtide_views_loaded") for each in REPLICAS]
    size = [bench.cluster.processes[each].metric("graphtide_views_bytes") / MIB for each in REPLICAS]
    resident = [bench.resident(each) / MIB for each in REPLICAS]
    grown = [(now - then / MIB) for now, then in zip(resident, empty, strict=True)]
    bench.note(Row("graphs of each replica", each_of(loaded), balance(loaded)))
    bench.note(Row("resident memory of each replica, MiB", each_of(resident), f"{sum(resident):.0f} in all"))
    bench.note(Row("of it beyond an empty replica, MiB", each_of(grown), balance(grown)))
    bench.note(Row("estimated memory of its graphs, MiB", each_of(size), balance(size)))


def each_of(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.0f}" for value in values)


def balance(values: Sequence[float]) -> str:
    return f"the largest is {max(values) * len(values) / sum(values):.2f} times the mean"


# -- replicas that come and go -----------------------------------------------------------------------------------------


def small_graphs(graphs: Mapping[str, int]) -> list[str]:
    """Return the graphs of which an answer contains every passage, by their numbers of documents."""
    return sorted(graph for graph, documents in graphs.items() if documents <= SMALL)


@asynccontextmanager
async def asking(bench: Bench, figure: str) -> AsyncIterator[None]:
    """Publish and ask while the block runs; note the answers."""
    ended, tally, plain, number = asyncio.Event(), Tally(), Tally(), 0
    written = bench.rng.sample(small_graphs(bench.graphs), WRITTEN_GRAPHS)
    names = sorted(bench.graphs)

    async def write_and_ask(client: int) -> None:
        nonlocal number
        while not ended.is_set():
            graph, number = written[number % len(written)], number + 1
            doc_id = f"{figure.replace(' ', '-')}-{number}"
            [body] = bodies(1, seed=number + 1000 * client)
            del body["id"]
            sent = await bench.client.put(f"{bench.url(graph)}/documents/{doc_id}", json=body)
            if sent.status_code != 202:
                tally.failed.append(f"{graph}: {sent.status_code} {sent.text[:200]}")
                continue
            await bench.ask(graph, tally, sent.json()["token"], doc_id)

    async def only_ask() -> None:
        while not ended.is_set():
            await bench.ask(bench.rng.choice(names), plain)

    tasks = [asyncio.create_task(each) for each in (write_and_ask(1), write_and_ask(2), only_ask(), only_ask())]
    try:
        yield
        await asyncio.sleep(5)
    finally:
        ended.set()
        await asyncio.gather(*tasks)
    bench.note(tally.row(f"{figure}: documents and questions with `after`"))
    bench.note(plain.row(f"{figure}: questions to any graph"))


async def changes(bench: Bench) -> None:
    cluster, on_demand = bench.cluster, {"GRAPHTIDE_IDLE_GRAPH_S": "3600"}

    async def start(each: str) -> None:
        await asyncio.to_thread(cluster.start, each, *bench.replica(each), settings=on_demand)

    async with asking(bench, "all four run"):
        await asyncio.sleep(5)
    async with asking(bench, "one is killed"):
        cluster.kill("two")
        await asyncio.sleep(10)
    async with asking(bench, "one is added"):
        await start("two")
        await asyncio.sleep(10)
    async with asking(bench, "a rolling restart"):
        for each in REPLICAS:
            assert await asyncio.to_thread(cluster.stop, each) == 0
            await start(each)


async def bounded(bench: Bench) -> None:
    """Measure a replica with an eighth of the memory that its graphs need, asked for every graph once."""
    processes = bench.cluster.processes
    total = sum(processes[each].metric("graphtide_views_bytes") for each in REPLICAS if each in processes)
    for each in (*REPLICAS, "front"):
        bench.cluster.stop(each)
    limits = {"GRAPHTIDE_MAX_LOADED_BYTES": str(int(total / 8))}
    small = bench.cluster.start("small", "serve", "--port", "0", "--grpc-port", "0", settings=limits)
    bench.cluster.processes["front"] = small
    before = bench.resident("small")
    tally = await bench.ask_each(bench.rng.sample(sorted(bench.graphs), len(bench.graphs)))
    bench.note(tally.row("a replica with `max_loaded_bytes`, every graph once"))
    resident, evicted = small.metric("graphtide_views_bytes"), small.metric("graphtide_view_evictions_total")
    grown = (bench.resident("small") - before) / MIB
    note = f"of {total / 8 / MIB:.0f} MiB allowed, {evicted:.0f} evictions; resident memory grew by {grown:.0f} MiB"
    bench.note(Row("its estimated memory at the end", f"{resident / MIB:.0f} MiB", note))


# -- the ring ----------------------------------------------------------------------------------------------------------


async def rings(bench: Bench) -> None:
    """Measure how gRPC's ring divides ten thousand graphs among four replicas, at several sets of addresses."""
    found = [await holders() for _ in range(RINGS)]
    for exponent, kind in RING_EXPONENTS.items():
        largest = [share(ring, exponent) for ring in found]
        value = f"{min(largest):.2f} to {max(largest):.2f} times the mean"
        figure = f"{RING_GRAPHS:,} graphs on the ring, the largest share {kind}"
        bench.note(Row(figure, value, f"{RINGS} sets of addresses"))


async def holders() -> dict[int, str]:
    """Return the replica of each graph, by rank, of four replicas at new addresses."""
    found: dict[int, str] = {}
    async with four() as replicas, gateway(replicas, 1) as stub:

        async def holder(rank: int) -> str:
            return str((await stub.Digest(pb.DigestRequest(graph=f"g{rank}"))).digest)

        while len({await holder(rank) for rank in range(64)}) < len(replicas):  # noqa: ASYNC110 - channels connect
            await asyncio.sleep(0.05)
        ranks = iter(range(1, RING_GRAPHS + 1))

        async def client() -> None:
            for rank in ranks:
                found[rank] = await holder(rank)

        await asyncio.gather(*(client() for _ in range(32)))
    return found


def share(found: Mapping[int, str], exponent: float) -> float:
    """Return the largest share to the mean, of graphs whose size is rank ** -exponent."""
    totals = Counter[str]()
    for rank, replica in found.items():
        totals[replica] += rank**-exponent
    return max(totals.values()) * len(totals) / sum(totals.values())


async def measure(cluster: Cluster, graphs: int) -> list[Row]:
    async with httpx.AsyncClient(timeout=120) as client:
        bench = Bench(cluster, client, sizes(graphs), random.Random(7))
        await rings(bench)
        await fill(bench)
        await everything_in_one(bench)
        await shares(bench)
        await changes(bench)
        await bounded(bench)
        return bench.rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=500)
    parser.add_argument("--no-page", action="store_true", help="print the table, leave docs/cluster.md alone")
    chosen = parser.parse_args()
    if len(small_graphs(sizes(chosen.graphs))) < WRITTEN_GRAPHS:
        parser.error(
            f"--graphs {chosen.graphs}: {WRITTEN_GRAPHS} of them must have at most {SMALL} documents; give more"
        )
    with started_cluster(2) as cluster:
        rows = asyncio.run(measure(cluster, chosen.graphs))
    if not chosen.no_page:
        total = sum(sizes(chosen.graphs).values())
        note = f"{chosen.graphs:,} graphs of 1 to {LARGEST} documents of 8 relations, {total:,} documents in all"
        write(ROOT / "docs" / "cluster.md", "bench-shares", rows, note, head="")


if __name__ == "__main__":
    main()
