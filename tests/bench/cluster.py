"""Measures a cluster of real processes on this machine, stage by stage, and writes the table of docs/scaling.md.

Kafka and Neo4j are those of the tests: one node each, small heaps, on the same cores as the workers. Every document
carries its facts, so no model is called; one more line measures a language model's client, with an endpoint that
answers at once. Stages are measured one at a time (each is started when the previous one has finished), then all at
once: a burst and how its lag returns to 0, then a steady rate and how long an event takes to be queryable.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from graphtide.infra.kafka.log import KafkaLog
from graphtide.streams.messages import DOCUMENTS, EXTRACTIONS
from tests.bench.cluster_documents import Body, bodies, name
from tests.bench.cluster_table import Row, cpu_s, in_ms, per_second, quantiles, write
from tests.bench.started_cluster import started_cluster
from tests.support.bench_data import ROOT
from tests.support.cluster import Cluster
from tests.support.llm_server import LlmServer

PARTITIONS = 4
BATCH = 100
NO_PORTS = ("--metrics-port", "0")
SERVE = ("serve", "--port", "0", "--grpc-port", "0")
MODES = ("vector", "local")
POLL_INTERVAL_S = 0.05
MISSED = 100
"""Documents that are written while a killed replica does not run."""

NO_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)
"""Requests that wait for a connection cost the client its whole time: each answer has it look at all of them."""
STEADY_SHARE = 4
"""The steady rate is this part of that of the burst, which is published in batches and without questions."""
FIRST_CHANGES = 3
"""Documents that are published alone before and after restarts of the consolidator."""


@dataclass(frozen=True, slots=True)
class Size:
    """Sizes of a run: documents per stage, documents in the burst, seconds of the steady rate and of questions."""

    staged: int
    burst: int
    steady_s: float
    asking_s: float
    graphs: int = 4


QUICK = Size(staged=400, burst=400, steady_s=10, asking_s=4)
FULL = Size(staged=5_000, burst=10_000, steady_s=60, asking_s=20)


@dataclass
class Bench:
    """The cluster, a log for the bench's own reads, and a client of its front."""

    cluster: Cluster
    log: KafkaLog
    size: Size
    client: httpx.AsyncClient
    rows: list[Row] = field(default_factory=list)

    # -- reading -------------------------------------------------------------------------------------------------------

    async def records(self, topic: str) -> int:
        return sum((await self.log.end(topic)).values())

    async def done(self, topic: str, group: str) -> int:
        return sum((await self.log.committed(topic, group)).values())

    async def versions(self, front: str) -> dict[str, int]:
        url = f"{self.cluster.processes[front].addresses['http']}/v1/graphs"
        return {one["graph"]: one["version"] for one in (await self.client.get(url)).json()["graphs"]}

    def graph(self, number: int) -> str:
        return f"g{number % self.size.graphs}"

    # -- measuring -----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def stage(self, figure: str, documents: int, *processes: str) -> AsyncIterator[None]:
        """Measure the block, which handles that many documents: documents per second, and the cost of one by
        process.
        """
        pids = {one: self.cluster.processes[one].process.pid for one in processes}
        pids["Neo4j"] = self.cluster.graph_server._process.pid  # type: ignore[attr-defined]
        before = {one: cpu_s(pid) for one, pid in pids.items()}
        started = time.perf_counter()
        yield
        taken_s = time.perf_counter() - started
        cost = {one: (cpu_s(pid) - before[one]) / documents for one, pid in pids.items()}
        note = ", ".join(f"{one} {in_ms(seconds)}" for one, seconds in cost.items())
        self.rows.append(Row(figure, f"{per_second(documents, taken_s)}", note))
        print(self.rows[-1].line(), flush=True)

    async def publish(self, published: Sequence[Body], prefix: str = "") -> dict[str, str]:
        """Publish to the graphs in turn, in batches; return the last token of each graph."""
        tokens: dict[str, str] = {}
        url = self.cluster.processes["front"].addresses["http"]
        for number, start in enumerate(range(0, len(published), BATCH)):
            graph = self.graph(number)
            batch = [{**one, "id": prefix + one["id"]} for one in published[start : start + BATCH]]
            tokens[graph] = await self._accepted(f"{url}/v1/graphs/{graph}/documents", batch)
        return tokens

    async def _accepted(self, url: str, batch: list[Body]) -> str:
        while (answer := await self.client.post(url, json=batch)).status_code in (429, 503):  # noqa: ASYNC110 - as told
            await asyncio.sleep(float(answer.headers.get("retry-after", "1")))
        assert answer.status_code == 202, answer.text
        return str(answer.json()["token"])


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    while not await holds():  # noqa: ASYNC110 - other processes set no event
        await asyncio.sleep(POLL_INTERVAL_S)


# -- stages one by one -------------------------------------------------------------------------------------------------


async def one_by_one(bench: Bench) -> None:
    """Measure accept, extract, consolidate and follow, each with nothing else at work."""
    count, start = bench.size.staged, bench.cluster.start_all
    await asyncio.to_thread(start, {"front": SERVE, "sleeper": SERVE})
    async with bench.stage("accept (HTTP, batches of 100)", count, "front"):
        await bench.publish(list(bodies(count)))
    await asyncio.to_thread(start, {"extract": ("worker", "extract", *NO_PORTS)})

    async def extracted() -> bool:
        return await bench.records(EXTRACTIONS) >= count

    async with bench.stage("extract, facts brought along", count, "extract"):
        await until(extracted)
    bench.cluster.processes["sleeper"].freeze()
    await asyncio.to_thread(start, {"consolidate": ("worker", "consolidate", *NO_PORTS)})

    async def consolidated() -> bool:
        return await bench.done(EXTRACTIONS, "consolidate") >= count

    async with bench.stage("consolidate, one process, a replica following", count, "consolidate", "front"):
        await until(consolidated)
    version = await _settled(bench)

    async def awake() -> bool:
        return await bench.versions("sleeper") == version

    async with bench.stage("follow (a replica that slept)", count, "sleeper"):
        bench.cluster.processes["sleeper"].thaw()
        await until(awake)
    await asyncio.to_thread(bench.cluster.stop, "sleeper")


async def starts(bench: Bench) -> None:
    """Measure how long replicas take until they are ready: with nothing, with a checkpoint, and with a shared copy."""
    cluster, count = bench.cluster, bench.size.staged
    shared = {"GRAPHTIDE_CHECKPOINTS_URL": str(cluster.folder / "checkpoints")}

    async def ready(figure: str, name: str) -> None:
        started = time.perf_counter()
        await asyncio.to_thread(cluster.start_all, {name: SERVE}, shared)
        taken_s = time.perf_counter() - started
        bench.rows.append(Row(f"start of a replica of {count:,} documents: {figure}", f"{taken_s:.1f} s until ready"))
        print(bench.rows[-1].line(), flush=True)

    async def copied() -> bool:
        copies = (cluster.folder / "checkpoints").glob("*/*.zip")
        return {copy.parent.name for copy in copies} == set(await bench.versions("late"))

    await ready("a new one, from the graph database", "late")
    await until(copied)
    await asyncio.to_thread(cluster.stop, "late")
    await ready("after SIGTERM", "late")
    await asyncio.to_thread(cluster.kill, "late")
    tokens = await bench.publish(list(bodies(MISSED, seed=9)), "k")
    for graph, token in tokens.items():
        await _reached(bench, graph, token)
    await ready(f"after kill -9, {MISSED} documents missed", "late")
    await asyncio.to_thread(cluster.stop, "late")
    await ready("a new one, from a copy that replicas share", "newer")
    await asyncio.to_thread(cluster.stop, "newer")


async def first_changes(bench: Bench) -> None:
    """Measure how long the first change of a graph takes to be queryable: of a running consolidator, and restarted."""
    cluster, count = bench.cluster, bench.size.staged // bench.size.graphs
    process = {"consolidate": ("worker", "consolidate", *NO_PORTS)}
    made = iter(bodies(FIRST_CHANGES, seed=10))

    async def changed(figure: str) -> None:
        started = time.perf_counter()
        for graph, token in (await bench.publish([next(made)], "f")).items():
            await _reached(bench, graph, token)
        taken_s = time.perf_counter() - started
        bench.rows.append(Row(f"a document of a graph of {count:,}: {figure}", f"{taken_s:.1f} s until queryable"))
        print(bench.rows[-1].line(), flush=True)

    await changed("after a pause")
    for figure, end in (("write model saved at SIGTERM", cluster.stop), ("after kill -9", cluster.kill)):
        await asyncio.to_thread(end, "consolidate")
        await asyncio.to_thread(cluster.start_all, process)
        await changed(f"consolidator restarted, {figure}")


async def _settled(bench: Bench) -> dict[str, int]:
    """Return the front's versions once they have not changed for a second: nothing is being written any more."""
    seen, since = await bench.versions("front"), time.monotonic()
    while time.monotonic() - since < 1.0:
        await asyncio.sleep(POLL_INTERVAL_S)
        if (now := await bench.versions("front")) != seen:
            seen, since = now, time.monotonic()
    return seen


async def asking(bench: Bench) -> None:
    """Measure questions to one replica, by one client and by eight, with no answer generated."""
    url = bench.cluster.processes["front"].addresses["http"]
    for mode in MODES:
        for clients in (1, 8):
            times: list[float] = []
            until_s = time.perf_counter() + bench.size.asking_s

            async def ask(client: int, mode: str = mode, times: list[float] = times, end: float = until_s) -> None:
                number = client
                while (started := time.perf_counter()) < end:
                    asked = {"question": f"Who visited {name(number)}?", "mode": mode, "generate": False}
                    answer = await bench.client.post(f"{url}/v1/graphs/{bench.graph(number)}/query", json=asked)
                    answer.raise_for_status()
                    times.append(time.perf_counter() - started)
                    number += 8

            await asyncio.gather(*map(ask, range(clients)))
            rate = per_second(len(times), bench.size.asking_s, "questions")
            bench.rows.append(Row(f"ask, mode `{mode}`, {clients} at a time", rate, quantiles(times)))
            print(bench.rows[-1].line(), flush=True)


# -- all at once -------------------------------------------------------------------------------------------------------


async def burst(bench: Bench) -> float:
    """Run all stages on as many documents as can be published; return documents per second."""
    count = bench.size.burst
    started = time.perf_counter()
    tokens = await bench.publish(list(bodies(count, seed=6)), "b")
    accepted_s = time.perf_counter() - started
    lag = await bench.records(DOCUMENTS) - await bench.done(EXTRACTIONS, "consolidate")
    for graph, token in tokens.items():
        await _reached(bench, graph, token)
    taken_s = time.perf_counter() - started
    note = f"accepted within {accepted_s:.0f} s, {lag} of them not yet consolidated by then"
    bench.rows.append(Row(f"burst of {count:,}: lag 0 again after", f"{taken_s:.0f} s", note))
    bench.rows.append(Row("all stages at once", per_second(count, taken_s)))
    print(bench.rows[-2].line(), bench.rows[-1].line(), sep="\n", flush=True)
    return count / taken_s


async def _reached(bench: Bench, graph: str, token: str, timeout_s: float = 3600) -> None:
    """Return when the front's view of the graph includes the token."""
    url = f"{bench.cluster.processes['front'].addresses['http']}/v1/graphs/{graph}/query"
    asked = {"question": "?", "after": token, "generate": False, "mode": "vector", "top_k": 1}
    deadline = time.monotonic() + timeout_s
    while (answer := await bench.client.post(url, json=asked)).status_code == 504:
        assert time.monotonic() < deadline, "the lag did not go back to 0"
    answer.raise_for_status()


async def steady(bench: Bench, rate: float) -> None:
    """Publish single documents at a steady rate; query each with its token at once."""
    count = max(10, int(rate * bench.size.steady_s))
    published = list(bodies(count, seed=7))
    url = bench.cluster.processes["front"].addresses["http"]
    begun = time.perf_counter()

    async def one(number: int, body: Body) -> float:
        await asyncio.sleep(max(0.0, begun + number / rate - time.perf_counter()))
        graph, started = bench.graph(number), time.perf_counter()
        token = await bench._accepted(f"{url}/v1/graphs/{graph}/documents", [{**body, "id": f"s{number}"}])
        await _reached(bench, graph, token)
        return time.perf_counter() - started

    times = await asyncio.gather(*(one(*each) for each in enumerate(published)))
    figure = f"event to queryable at {rate:.1f} documents/s"
    bench.rows.append(Row(figure, quantiles(times), f"{count} documents; until a question with the token is answered"))
    print(bench.rows[-1].line(), flush=True)


async def with_a_model(bench: Bench) -> None:
    """Measure the extract stage with a language model's client, and an endpoint that answers at once."""
    count = bench.size.staged // 4
    await asyncio.to_thread(bench.cluster.stop, "extract")
    before = await bench.records(EXTRACTIONS)
    await bench.publish(list(bodies(count, facts=False, seed=8)), "m")
    with LlmServer() as server:
        model = {"BASE_URL": server.base_url, "MODEL": "fake", "REQUESTS_PER_MINUTE": "0", "TOKENS_PER_MINUTE": "0"}
        settings = {f"GRAPHTIDE_LLM_{key}": value for key, value in model.items()}
        await asyncio.to_thread(bench.cluster.start_all, {"extract": ("worker", "extract", *NO_PORTS)}, settings)

        async def extracted() -> bool:
            return await bench.records(EXTRACTIONS) >= before + count

        async with bench.stage("extract, a model that answers at once", count, "extract"):
            await until(extracted)
        await asyncio.to_thread(bench.cluster.stop, "extract")


# -- the whole ---------------------------------------------------------------------------------------------------------


async def measure(cluster: Cluster, size: Size) -> list[Row]:
    log = KafkaLog(cluster.kafka)
    try:
        async with httpx.AsyncClient(timeout=120, limits=NO_LIMITS) as client:
            bench = Bench(cluster, log, size, client)
            await one_by_one(bench)
            await starts(bench)
            await first_changes(bench)
            await asking(bench)
            rate = await burst(bench)
            await steady(bench, max(1.0, rate / STEADY_SHARE))
            await with_a_model(bench)
            return bench.rows
    finally:
        await log.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small run, for checking")
    parser.add_argument("--no-page", action="store_true", help="print the table, leave docs/scaling.md alone")
    chosen = parser.parse_args()
    size = QUICK if chosen.quick else FULL
    with started_cluster(PARTITIONS) as cluster:
        rows = asyncio.run(measure(cluster, size))
    if not chosen.no_page:
        note = f"{size.staged:,} documents stage by stage, a burst of {size.burst:,}, {size.graphs} graphs"
        write(ROOT / "docs" / "scaling.md", "bench-cluster", rows, note)


if __name__ == "__main__":
    main()
