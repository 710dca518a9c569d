"""CPU-bound work in threads: bounded, in turns among graphs, and never in the way of the event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable

import pytest

from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.generator import ExtractiveGenerator
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.streams.errors import Overloaded
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.messages import DocumentMessage, GivenFact
from graphtide.streams.model_ports import ContextPassage
from graphtide.streams.scheduling.work_pool import WorkPool


class Gate:
    """Work that runs until it is released, and the order in which it has run."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.order: list[str] = []

    def work(self, name: str) -> str:
        assert self.open.wait(60)
        self.order.append(name)
        return name


async def test_graphs_take_turns_however_much_one_of_them_has_waiting() -> None:
    """One thread, nine pieces of one graph, then one of another: one more of the first runs before it."""
    pool, gate = WorkPool(threads=1), Gate()
    running = [asyncio.ensure_future(pool.run(lambda n=n: gate.work(f"heavy{n}"), "heavy")) for n in range(9)]  # type: ignore[misc]
    await asyncio.sleep(0)
    running.append(asyncio.ensure_future(pool.run(lambda: gate.work("light"), "light")))
    await asyncio.sleep(0)
    gate.open.set()
    await asyncio.gather(*running)
    assert gate.order.index("light") <= 2


async def test_a_graph_whose_work_hangs_leaves_threads_to_the_others() -> None:
    """Four pieces of one graph hang; with two threads for each graph of three, another graph's work ends."""
    pool, gate = WorkPool(threads=3, per_graph=2), Gate()
    hanging = [asyncio.ensure_future(pool.run(lambda: gate.work("hangs"), "heavy")) for _ in range(4)]
    await asyncio.sleep(0)
    assert await pool.run(lambda: "done", "light") == "done"
    assert gate.order == []
    gate.open.set()
    await asyncio.gather(*hanging)


async def test_work_beyond_the_bound_is_refused_and_cancelled_work_gives_its_thread_back() -> None:
    """One thread, two waiting at most: the fourth piece is Overloaded; all callers cancelled, new work still runs."""
    pool, gate = WorkPool(threads=1, max_waiting=2), Gate()
    running = [asyncio.ensure_future(pool.run(lambda: gate.work("first"))) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded, match="wait for a thread"):
        await pool.run(lambda: "refused")
    for one in running:
        one.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    gate.open.set()
    assert await pool.run(lambda: "next") == "next"
    assert gate.order == ["first"]


async def test_what_the_work_raises_reaches_its_caller() -> None:
    """An error in a thread is raised where the work was asked for, and the thread serves on."""
    pool = WorkPool(threads=1)
    with pytest.raises(ZeroDivisionError):
        await pool.run(lambda: 1 // 0)
    assert await pool.run(lambda: 2) == 2


async def test_small_work_runs_in_the_loop_until_the_iteration_is_used_up() -> None:
    """The first piece of an iteration runs in the loop's thread; pieces after one that took long do not."""
    pool, loop_thread = WorkPool(), threading.get_ident()
    assert await pool.run(threading.get_ident, small=True) == loop_thread
    await asyncio.sleep(0)

    def long() -> None:
        for _ in range(300_000):
            pass

    await pool.run(long, small=True)
    assert await pool.run(threading.get_ident, small=True) != loop_thread


async def share_of_the_loop(work: Awaitable[object]) -> float:
    """The share of the process's CPU time that the event loop's thread spends while the work is done."""
    thread_s, process_s = time.thread_time(), time.process_time()
    await work
    return (time.thread_time() - thread_s) / (time.process_time() - process_s)


SENTENCE = "Ada Lovelace met Charles Babbage in London in 1833, near the old harbour of the town. "


@pytest.mark.thorough
async def test_long_prose_is_extracted_outside_the_event_loop() -> None:
    """A document of some 170 passages: the loop's thread does less than a third of the work."""
    text = SENTENCE * 2_000
    models = ExtractionModels(SemanticChunker(), OfflineExtractor(), HashingEmbedder())
    share = await share_of_the_loop(extract(DocumentMessage("g", "d", text), 1, models, ExtractionLimits()))
    assert share < 0.3, share


@pytest.mark.thorough
async def test_many_given_facts_are_placed_outside_the_event_loop() -> None:
    """A document with 2,000 facts about names that its text holds once each."""
    facts = tuple(GivenFact(f"subject {n}", "knows", f"object {n}") for n in range(2_000))
    text = "\n\n".join(f"{fact.subject} knows {fact.object}. {SENTENCE * 2}" for fact in facts)
    models = ExtractionModels(SemanticChunker(), OfflineExtractor(), HashingEmbedder(64))
    share = await share_of_the_loop(
        extract(DocumentMessage("g", "d", text, facts=facts), 1, models, ExtractionLimits())
    )
    assert share < 0.3, share


async def test_an_answer_from_many_passages_is_written_outside_the_event_loop() -> None:
    """A hundred passages of a thousand characters each."""
    passages = [ContextPassage(SENTENCE * 12, "t", f"d{n}", f"c{n}") for n in range(100)]
    generator = ExtractiveGenerator(HashingEmbedder(64))
    share = await share_of_the_loop(generator.answer("Whom did Ada Lovelace meet in London?", passages))
    assert share < 0.3, share
