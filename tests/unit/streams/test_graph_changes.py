"""The topic `graph-changes`: its newest records are the graph, after any change and after a crash anywhere."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from graphtide.services.application import Application
from graphtide.streams.errors import Rejected, Retryable
from graphtide.streams.ports import Log, Position, Record
from graphtide.streams.publish_changes.records import partition_of, removal_of
from graphtide.streams.publish_changes.stage import GraphChangesStage
from tests.model.memory.log import MemoryLog
from tests.support.graph_changes import TOPIC, compacted, digest_of, elements, read_topic
from tests.support.role_cluster import Cluster, after, document, opened
from tests.support.seeds import seeds

ENDS_S = 240
PEOPLE = ("Ana Ruiz", "A. Ruiz", "Bo Lind", "Kessel AG", "Kessel", "Cy Moe")
"""Names of which some merge: an entity whose alphabetically first label comes or goes gets another id."""
TOWNS = ("Lima", "Oslo", "Rome")


class FailingLog:
    """A log whose appends to the topic fail after some batches, as a process that is killed before or between them."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.left = -1
        self.consumer, self.reader = log.consumer, log.reader
        self.start, self.end, self.trim = log.start, log.end, log.trim
        self.committed, self.members = log.committed, log.members

    async def append(self, topic: str, records: Sequence[Record]) -> Sequence[Position]:
        """Append, or only a part of the records before the failure."""
        if topic == TOPIC and self.left == 0:
            await self._log.append(topic, records[: len(records) // 2])
            raise Retryable("the process was killed here", 0.0)
        self.left -= 1
        return await self._log.append(topic, records)


@asynccontextmanager
async def publishing(cluster: Cluster, log: Log | None = None) -> AsyncIterator[asyncio.Task[None]]:
    """Run the stage beside the cluster's other roles."""
    stage = GraphChangesStage(log or cluster.backing.log, cluster.backing.store, 0.05, 0.2)
    task = asyncio.create_task(stage.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def published(cluster: Cluster, application: Application, graph: str = "g") -> list[Record]:
    """Return the topic once it has the graph's version; compare its digest with the graph's."""
    now = await application.digest(graph)
    while True:
        records = await read_topic(cluster.backing.log)
        found = elements(compacted(records), graph)
        if found.nodes.get(f"{graph}|graph", ("", {}))[1].get("version") == now.version:
            break
        await asyncio.sleep(0.02)
    assert digest_of(found) == now.digest
    assert digest_of(elements(records, graph)) == now.digest  # uncompacted, with all operations in order
    return records


def sentence(rng: random.Random) -> str:
    first, second = rng.sample(PEOPLE, 2)
    return f"{first} met {second} in {rng.choice(TOWNS)}. {second} lives in {rng.choice(TOWNS)}."


async def disturb(rng: random.Random, application: Application, live: set[str]) -> None:
    """Publish, edit or delete a document, and wait for it."""
    name = f"d{rng.randrange(6)}"
    if name in live and rng.random() < 0.4:
        live.discard(name)
        token = (await application.delete("g", name)).token
    else:
        live.add(name)
        token = (await application.publish([document(name, sentence(rng))])).token
    await application.query("g", after(token))


@pytest.mark.parametrize("seed", seeds(1, 4))
async def test_newest_records_are_the_graph_after_random_changes(tmp_path: Path, seed: int) -> None:
    """Edits, deletions, merges and splits: the newest record of each key gives the digest at every version."""
    print(f"seed {seed}")
    rng, live = random.Random(seed), {"first"}
    async with asyncio.timeout(ENDS_S), opened(tmp_path) as cluster:
        application = await cluster.replica("one")
        await application.query("g", after((await application.publish([document("first", sentence(rng))])).token))
        async with publishing(cluster):
            for _ in range(12):
                await disturb(rng, application, live)
                await published(cluster, application)


async def test_crash_between_commit_and_record_is_repaired(tmp_path: Path) -> None:
    """A publisher that ends in the middle of any batch leaves what the next one completes, each key once."""
    rng, live = random.Random(7), {"first"}
    async with asyncio.timeout(ENDS_S), opened(tmp_path) as cluster:
        application = await cluster.replica("one")
        await application.query("g", after((await application.publish([document("first", sentence(rng))])).token))
        for round_ in range(4):
            log = FailingLog(cluster.backing.log)
            log.left = round_ % 3
            async with publishing(cluster, log) as task:
                while not task.done():
                    await disturb(rng, application, live)
                with pytest.raises(Retryable):
                    await task
            async with publishing(cluster):
                await published(cluster, application)


async def test_records_of_a_resumed_publisher_are_repaired(tmp_path: Path) -> None:
    """Older elements that another producer appends are overwritten: the newest records are the graph again."""
    rng, live = random.Random(11), {"first"}
    async with asyncio.timeout(ENDS_S), opened(tmp_path) as cluster:
        application = await cluster.replica("one")
        await application.query("g", after((await application.publish([document("first", sentence(rng))])).token))
        async with publishing(cluster):
            old = await published(cluster, application)
            for _ in range(4):
                await disturb(rng, application, live)
            await published(cluster, application)
            await cluster.backing.log.append(TOPIC, [each for each in old if not each.key.endswith("|graph")])
            now = await application.digest("g")
            while True:
                left = compacted(await read_topic(cluster.backing.log))
                if digest_or_none(left) == now.digest:
                    break
                await asyncio.sleep(0.02)


FOREIGN = (
    Record("g|junk", b"not JSON", (), 0),
    Record("g|deep", b"[" * 50_000, (), 0),
    Record("g|node", b'{"type":"node","ids":{"key":"g|node"},"labels":["A"]}', (), 0),
    Record("g|list", b"[]", (("version", b"\xff"),), 0),
    Record("g|graph", b"{}", (("version", b"many"),), 0),
    Record("other|graph", b"{}", (("version", b"9" * 9_999),), 0),
    Record("", b"", (), 0),
)
"""Records of another producer, for the partition of the graph g."""


@pytest.mark.parametrize("is_running", [True, False], ids=["while it runs", "before it starts"])
async def test_foreign_records_do_not_stop_the_publisher(tmp_path: Path, is_running: bool) -> None:
    """Records that are no elements, and headers that are no versions, are removed; changes are published after them."""
    async with asyncio.timeout(ENDS_S), opened(tmp_path) as cluster:
        application, log = await cluster.replica("one"), cluster.backing.log
        place = partition_of("g", len(await log.end(TOPIC)))
        foreign = [replace(each, partition=place) for each in FOREIGN]
        await application.query("g", after((await application.publish([document("a", "Ana met Bo.")])).token))
        async with publishing(cluster) as task:
            await published(cluster, application)
            if is_running:
                await log.append(TOPIC, foreign)
                await until_clean(cluster, task)
        if not is_running:
            await log.append(TOPIC, foreign)
        async with publishing(cluster) as task:
            await application.query("g", after((await application.publish([document("b", "Cy met Ana.")])).token))
            await until_clean(cluster, task)
            own = [each for each in compacted(await read_topic(log)) if each.key.startswith("g|")]
            assert digest_or_none(own) == (await application.digest("g")).digest


async def until_clean(cluster: Cluster, task: asyncio.Task[None]) -> None:
    """Return when compaction leaves no foreign record of the graph and its newest version; fail if the task ends."""
    foreign = {each.key for each in FOREIGN} - {"g|graph"}
    version = (await cluster.backing.store.graphs())["g"]
    while True:
        assert not task.done(), task.exception()
        newest = {(each.partition, each.key): each for each in await read_topic(cluster.backing.log)}
        left = [each for each in newest.values() if each.key.startswith("g|") and each.value is not None]
        heads = [each.value or b"" for each in left if each.key == "g|graph"]
        if not foreign & {each.key for each in left} and len(heads) == 1 and b'"version":%d' % version in heads[0]:
            return
        await asyncio.sleep(0.02)


def digest_or_none(records: list[Record]) -> str | None:
    """Return the digest of the graph; None while relationships lack an end."""
    try:
        return digest_of(elements(records, "g"))
    except KeyError:
        return None


async def test_restart_without_changes_publishes_nothing(tmp_path: Path) -> None:
    """A publisher that finds the topic at the version of every graph appends no record."""
    async with asyncio.timeout(ENDS_S), opened(tmp_path) as cluster:
        application = await cluster.replica("one")
        token = (await application.publish([document("a", "Ana Ruiz met Bo Lind in Oslo.")])).token
        await application.query("g", after(token))
        async with publishing(cluster):
            before = await published(cluster, application)
        async with publishing(cluster):
            token = (await application.publish([document("b", "Cy Moe lives in Rome.", graph="other")])).token
            await application.query("other", after(token))
            records = await published(cluster, application, "other")
        assert [each for each in records if each.key.startswith("g|")] == before


async def test_added_partitions_move_a_graph_whole(tmp_path: Path) -> None:
    """A publisher that starts with more partitions moves each graph, and leaves no key in two of them."""
    rng, live = random.Random(3), {"first"}
    async with asyncio.timeout(ENDS_S), opened(tmp_path) as cluster:
        application = await cluster.replica("one")
        await application.query("g", after((await application.publish([document("first", sentence(rng))])).token))
        async with publishing(cluster):
            before = {each.partition for each in compacted(await published(cluster, application))}
        log = cluster.backing.log
        assert isinstance(log, MemoryLog)
        count = next(n for n in range(4, 100) if {partition_of("g", n)} != before)
        log.add_partitions(count)
        await disturb(rng, application, live)
        async with publishing(cluster):
            now = await application.digest("g")
            left = await settled(cluster, now.version)
            assert digest_of(elements(left, "g")) == now.digest
            assert {each.partition for each in left} == {partition_of("g", count)}


async def settled(cluster: Cluster, version: int) -> list[Record]:
    """Return what compaction leaves once the graph has that version, and no key is in two partitions."""
    while True:
        records = await read_topic(cluster.backing.log)
        live = {(each.partition, each.key): each for each in records}
        keys = [each.key for each in live.values() if each.value is not None]
        if len(set(keys)) == len(keys):
            left = compacted(records)
            if elements(left, "g").nodes["g|graph"][1]["version"] == version:
                return left
        await asyncio.sleep(0.02)


async def test_deleted_and_rebuilt_graphs_are_followed(tmp_path: Path) -> None:
    """A deleted graph leaves no element; a rebuild, whose rows have new numbers, changes none."""
    async with asyncio.timeout(ENDS_S), opened(tmp_path) as cluster:
        application = await cluster.replica("one")
        for name, text in (("a", "Ana Ruiz met Bo Lind in Oslo."), ("b", "Bo Lind lives in Rome.")):
            await application.query("g", after((await application.publish([document(name, text)])).token))
        async with publishing(cluster):
            before = elements(await published(cluster, application), "g")
            await application.rebuild("g")
            after_rebuild = elements(await published(cluster, application), "g")
            before.nodes.pop("g|graph")
            after_rebuild.nodes.pop("g|graph")
            assert before.nodes == after_rebuild.nodes
            await application.delete_graph("g", 30.0)
            await emptied(cluster)


async def emptied(cluster: Cluster) -> None:
    """Return when compaction would leave nothing of the graph but the deletion of its node."""
    while True:
        left = [each.key for each in compacted(await read_topic(cluster.backing.log))]
        if left == ["g|graph"]:
            return
        await asyncio.sleep(0.02)


def test_removal_of_a_written_element_names_it() -> None:
    """The operation that deletes is made from the last value alone; a foreign value is refused by name."""
    assert removal_of(b'{"type":"node","labels":["A"],"ids":{"key":"k"},"op":"merge","properties":{}}') == (
        b'{"type":"node","labels":["A"],"ids":{"key":"k"},"op":"delete","detach":true}'
    )
    with pytest.raises(Rejected, match="is not an element"):
        removal_of(b"[]")
