"""The fair queue: which graph is next, at starting and at the slots, when one has many records and one has few."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Sequence
from pathlib import Path

import pytest

from graphtide.streams.extract.settings import RECORDS_PER_SLOT, ExtractSettings
from graphtide.streams.extract.stage import STAGE
from graphtide.streams.messages import DOCUMENTS, DocumentMessage
from graphtide.streams.ports import ConsumedRecord, Consumer, Position, Record
from graphtide.streams.scheduling.fair_queue import FairQueue, Slots
from graphtide.streams.usage import payer
from tests.model.memory import MemoryBackend
from tests.support.backends import Backend, Clock, opened
from tests.support.stages import Minded, eventually, extract_stage, running

SLOTS = ExtractSettings(concurrency=2, poll_s=60.0)
GREEDY = 250
BEGUN = RECORDS_PER_SLOT * SLOTS.concurrency
"""The number of started records when a graph's first record is read."""


@pytest.mark.parametrize("seed", range(5))
def test_turns_serves_a_graph_that_holds_nothing_before_those_that_do_and_each_in_its_order(seed: int) -> None:
    """Random puts, takes and returns: the least holder is served, in its own order, after at most n - 1 others."""
    print(f"seed {seed}")
    rng, turns = random.Random(seed), FairQueue[tuple[str, int]]()
    slots: Counter[str] = Counter()
    waiting: dict[str, list[int]] = defaultdict(list)
    passed: Counter[str] = Counter()
    for number in range(3_000):
        if rng.random() < 0.55:
            graph = rng.choice(["greedy"] * 20 + ["a", "b", "c"])
            turns.put(graph, (graph, number))
            waiting[graph].append(number)
        elif turns:
            graph, item = turns.take(slots)
            there = [one for one in waiting if waiting[one]]
            assert slots[graph] == min(slots[one] for one in there) and item == (graph, waiting[graph].pop(0))
            slots[graph] += 1
            passed.update(one for one in there if one != graph and slots[one] == 0)
            passed[graph] = 0
            assert max(passed.values(), default=0) <= 3
        for graph in [one for one in slots if slots[one] and rng.random() < 0.3]:
            slots[graph] -= 1
    assert len(turns) == sum(map(len, waiting.values())) > 0


def test_turns_forgets_what_is_dropped_and_keeps_the_order_of_the_rest() -> None:
    """Even numbers of two graphs are dropped: they are returned, not counted, and never served."""
    turns = FairQueue[int]()
    for number in range(10):
        turns.put("ab"[number % 3 == 0], number)
    assert sorted(turns.drop(lambda number: number % 2 == 0)) == [0, 2, 4, 6, 8]
    served = [turns.take({})[1] for _ in range(len(turns))]
    assert sorted(served) == [1, 3, 5, 7, 9] and [one for one in served if one % 3 == 0] == [3, 9]
    with pytest.raises(IndexError):
        turns.take({})


async def test_slots_are_all_free_again_whenever_those_who_wait_or_hold_one_are_cancelled() -> None:
    """Tasks cancelled at random moments, before, in and after their turn: never more inside than slots, none lost."""
    seed = 11
    print(f"seed {seed}")
    rng, slots, inside, highest = random.Random(seed), Slots(3), 0, 0

    async def work(graph: str, steps: int) -> None:
        nonlocal inside, highest
        async with slots.one(graph):
            inside, highest = inside + 1, max(highest, inside + 1)
            try:
                for _ in range(steps):
                    await asyncio.sleep(0)
            finally:
                inside -= 1

    tasks = []
    for _ in range(400):
        tasks.append(asyncio.create_task(work(rng.choice("aaab"), rng.randrange(6))))
        if rng.random() < 0.6:
            rng.choice(tasks).cancel()
        if rng.random() < 0.5:
            await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert highest == 3 and inside == 0
    async with asyncio.timeout(5), slots.one("a"), slots.one("a"), slots.one("b"):
        pass


class Counted:
    """A consumer that says when so many records were delivered."""

    def __init__(self, inner: Consumer, awaited: int) -> None:
        self._inner = inner
        self._left = awaited
        self.all_read = asyncio.Event()

    def assigned(self) -> frozenset[int]:
        return self._inner.assigned()

    async def poll(
        self, limit: int, timeout_s: float, among: Collection[int] | None = None
    ) -> Sequence[ConsumedRecord]:
        delivered = await self._inner.poll(limit, timeout_s, among)
        self._left -= len(delivered)
        if self._left <= 0:
            self.all_read.set()
        return delivered

    async def commit(self, position: Position) -> None:
        await self._inner.commit(position)

    async def seek(self, position: Position) -> None:
        await self._inner.seek(position)

    async def close(self) -> None:
        await self._inner.close()


@pytest.fixture(params=["memory", "sqlite", "partitions"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """The implementations of the storage, and three partitions, as a worker of a cluster reads."""
    if request.param == "partitions":
        yield MemoryBackend(3)
        return
    async with opened(request.param, tmp_path, Clock()) as one:
        yield one


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, 2])
async def test_extract_lets_a_modest_graph_wait_a_few_documents_however_many_a_greedy_one_has(
    backend: Backend, seed: int
) -> None:
    """250 documents of one graph wait before some of two others, two slots: a modest graph's n-th reaches the model
    after a few documents, not after all earlier ones."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    modest = [graph for graph in ("a", "b") for _ in range(rng.randrange(1, 7))]
    rng.shuffle(modest)
    messages = [DocumentMessage(graph, f"d{n}", f"Ada wrote {n}.") for n, graph in enumerate(["g"] * GREEDY + modest)]
    asked: list[tuple[str, int]] = []

    async def mind(texts: Sequence[str]) -> None:
        asked.append((payer().graph, int(payer().doc_id[1:])))
        await consumer.all_read.wait()
        for _ in range(5):
            await backend.ledger.pending("a")  # a model takes longer than a ledger

    await backend.ledger.accept([Record(one.key, one.encode()) for one in messages])
    consumer = Counted(backend.log.consumer(DOCUMENTS, STAGE), len(messages))
    async with running(lambda: extract_stage(backend, Minded(mind), SLOTS).run(consumer)):
        await eventually(lambda: _all_committed(backend))
    order = list(dict.fromkeys(asked))
    assert len(order) == len(messages)
    for graph in ("a", "b"):
        places = [place for place, (of, _) in enumerate(order) if of == graph]
        print(graph, places)
        assert all(place <= 2 * BEGUN + 6 * nth for nth, place in enumerate(places)), "more than a few were in front"


async def _all_committed(backend: Backend) -> bool:
    left = [
        end - done
        for end, done in zip(
            (await backend.log.end(DOCUMENTS)).values(),
            (await backend.log.committed(DOCUMENTS, STAGE)).values(),
            strict=True,
        )
    ]
    return not any(left)
