"""Heavy work waits for questions to other graphs, for a bounded time, and never on an event loop."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from graphtide.graph.algorithms.yield_points import YIELD_ROWS, with_yields, yield_point, yielding
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange, DocumentInfo, Extraction, GraphDelta
from graphtide.graph.view import LiveView
from graphtide.infra.models.local.extractor import extract as extract_by_rules
from graphtide.infra.models.local.static_embedder import StaticEmbedder
from graphtide.infra.settings import Settings
from graphtide.services.application import QueryRequest
from graphtide.services.query.retrieve import retrieve_context
from graphtide.services.wiring import open_application
from graphtide.streams.extract.settings import HEAVY_BYTES as HEAVY_DOCUMENT_BYTES
from graphtide.streams.follow import view_registry
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DocumentMessage, GivenFact, decode_extraction
from graphtide.streams.messages.extraction_encoder import ExtractionEncoder
from graphtide.streams.messages.extractions import ExtractionMessage
from graphtide.streams.scheduling.precedence import QUESTIONS, Precedence
from graphtide.streams.scheduling.work_pool import WorkPool
from graphtide.streams.usage import BillingContext, paid_by
from tests.support.backends import Backend, Clock, opened
from tests.support.extract_records import record
from tests.support.extractions import random_unit
from tests.support.stages import ExactKeeper, Minded, eventually, extract_stage, extractions, running

LONG_S = 3_600.0


class Counted(Precedence):
    """A precedence that counts the waits and ends each at once. `at` is its time."""

    def __init__(self) -> None:
        self.at = 100.0
        self.waits: list[str] = []
        super().__init__(pause_s=0, work_s=0.5, counts_s=1.0, clock=lambda: self.at)

    def wait(self, graph: str) -> None:
        self.waits.append(graph)


def test_heavy_work_continues_when_the_question_is_answered() -> None:
    reached, order = threading.Event(), list[str]()

    def clock() -> float:
        if threading.current_thread() is not threading.main_thread():
            reached.set()
        return 0.0

    precedence = Precedence(pause_s=LONG_S, clock=clock)

    def work() -> None:
        precedence.hook("large")()
        order.append("work")

    thread = threading.Thread(target=work)
    with precedence.question("small"):
        thread.start()
        assert reached.wait(120)
        order.append("answer")
    thread.join(120)
    assert order == ["answer", "work"]


def test_threads_of_heavy_work_wait_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """So they do not all compute at the same time between their waits."""
    precedence, inside, seen = Precedence(pause_s=LONG_S), list[int](), list[int]()
    waits, entered = threading.Barrier(2), threading.Event()
    wait_for = precedence._ended.wait_for

    def watched(holds: Callable[[], bool], timeout: float | None = None) -> bool:
        inside.append(1)
        seen.append(len(inside))
        entered.set()
        ended = wait_for(holds, timeout)
        inside.pop()
        return ended

    monkeypatch.setattr(precedence._ended, "wait_for", watched)

    def work() -> None:
        waits.wait(120)
        precedence.hook("large")()

    threads = [threading.Thread(target=work) for _ in range(2)]
    with precedence.question("small"):
        for thread in threads:
            thread.start()
        assert entered.wait(120)
    for thread in threads:
        thread.join(120)
    assert set(seen) == {1}


def test_heavy_work_waits_for_no_question_to_its_own_graph() -> None:
    """Such a question may wait for it."""
    precedence = Counted()
    with precedence.question("large"):
        precedence.hook("large")()
    precedence.hook("large")()
    assert precedence.waits == []


def test_heavy_work_computes_between_two_waits() -> None:
    precedence = Counted()
    reached = precedence.hook("large")
    with precedence.question("small"):
        for _ in range(100):
            reached()
        assert precedence.waits == ["large"]
        precedence.at += 0.5
        reached()
    assert precedence.waits == ["large"] * 2


def test_question_that_takes_long_is_not_waited_for() -> None:
    """It waits for a model, not for the interpreter."""
    precedence = Counted()
    with precedence.question("small"):
        precedence.at += 1.0
        precedence.hook("large")()
    assert precedence.waits == []


async def test_event_loop_never_waits() -> None:
    """A small piece of heavy work may run on it."""
    precedence = Counted()
    with precedence.question("small"):
        precedence.hook("large")()
        assert precedence.waits == []
        await asyncio.to_thread(precedence.hook("large"))
    assert precedence.waits == ["large"]


def test_rows_pass_unchanged_with_a_yield_point_for_each_step() -> None:
    rows, calls = list(range(3 * YIELD_ROWS + 1)), list[int]()
    assert with_yields(rows) is rows
    with yielding(lambda: calls.append(1)):
        assert list(with_yields(rows)) == rows
    assert len(calls) == 4
    yield_point()
    assert len(calls) == 4


def extraction(seed: int, units: int) -> Extraction:
    """Return a document of so many passages."""
    rng = random.Random(seed)
    return Extraction("d", 1, DocumentInfo("Title"), tuple(random_unit(rng) for _ in range(units)))


def counting(work: Callable[[], object]) -> int:
    """Return the number of yield points that the work reaches."""
    calls: list[int] = []
    with yielding(lambda: calls.append(1)):
        work()
    return len(calls)


def test_a_large_document_reaches_yield_points_in_proportion_and_gives_the_same_rows() -> None:
    """Decoding, consolidation and the view's application: at least one for each eight passages."""
    units = 200
    found = extraction(1, units)
    value = ExtractionMessage("g", "d", 1, found).encode()
    assert counting(lambda: decode_extraction(value)) >= units // 8
    deltas: list[GraphDelta] = []
    change = [DocumentChange("d", None, found)]
    assert counting(lambda: deltas.append(Consolidator("g").apply(change))) >= units // 8
    deltas.append(Consolidator("g").apply(change))
    views = [LiveView("g", ExactKeeper().open("g", 16, 0)[0]) for _ in deltas]
    assert counting(lambda: views[0].apply(deltas[0])) >= units // 8
    views[1].apply(deltas[1])
    assert views[0].rows() == views[1].rows()


def test_extraction_by_rules_reaches_a_yield_point_in_each_sentence() -> None:
    text = "Ada Lovelace knew Charles Babbage. " * 40
    assert counting(lambda: extract_by_rules(text)) >= 40


async def test_embedding_reaches_yield_points() -> None:
    texts = [f"text {number}" for number in range(4 * YIELD_ROWS)]
    embedder = StaticEmbedder()
    calls: list[int] = []
    with yielding(lambda: calls.append(1)):
        await embedder.embed(texts)
    assert len(calls) >= 4


async def test_a_job_of_a_thread_begins_with_a_yield_point() -> None:
    pool, calls = WorkPool(), list[str]()
    with yielding(lambda: calls.append(threading.current_thread().name)):
        await pool.run(lambda: None)
        await pool.run(lambda: None, small=True)
    assert len(calls) == 1 and calls[0] != threading.current_thread().name


async def test_jobs_of_questions_do_not_wait_for_those_of_documents() -> None:
    """The only thread of documents is taken."""
    free = threading.Event()
    pool = WorkPool(1, questions=WorkPool(1))
    taken = asyncio.create_task(pool.run(lambda: free.wait(120)))
    await asyncio.sleep(0)
    with paid_by(BillingContext("g", question=True)):
        assert await pool.run(lambda: "answered") == "answered"
    free.set()
    assert await taken


def context_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the graphs whose heavy work reaches a yield point from now on."""
    reached: list[str] = []

    def is_due(graph: str) -> bool:
        reached.append(graph)
        return False

    monkeypatch.setattr(QUESTIONS, "is_due", is_due)
    return reached


async def _is_extracted(backend: Backend) -> bool:
    return bool(await extractions(backend))


@pytest.mark.parametrize(("size", "heavy"), [(HEAVY_DOCUMENT_BYTES, True), (HEAVY_DOCUMENT_BYTES // 2, False)])
async def test_extraction_of_a_large_document_waits_for_questions(
    size: int, heavy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = context_of(monkeypatch)

    async def embeds(texts: Sequence[str]) -> None:
        yield_point()

    async with opened("memory", tmp_path, Clock()) as backend, running(extract_stage(backend, Minded(embeds)).run):
        await backend.ledger.accept([record("d", "Ada Lovelace knew Charles Babbage. " * (size // 35 + 1))])
        await eventually(lambda: _is_extracted(backend))
    assert bool(reached) is heavy


@pytest.mark.parametrize("heavy", [True, False])
async def test_view_waits_for_questions_while_it_applies_a_large_delta(
    heavy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = context_of(monkeypatch)
    delta = Consolidator("g").apply([DocumentChange("d", None, extraction(2, 20))])
    monkeypatch.setattr(view_registry, "HEAVY_ROWS", 0 if heavy else delta.changed_rows)
    await ViewRegistry(ExactKeeper()).follow(delta)
    assert bool(reached) is heavy


def test_encoder_reaches_yield_points() -> None:
    encoder, found = ExtractionEncoder(), extraction(3, 64)
    for start in range(0, 64, 16):
        encoder.take(found.units[start : start + 16])
    message = ExtractionMessage("g", "d", 1, None)
    assert counting(lambda: encoder.finish(message, found.info, ("",) * 65, "")) >= 1


async def test_question_is_in_flight_while_it_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its retrieval on, and not before it is asked or after its answer."""
    due: list[bool] = []

    async def retrieve(*given: object) -> object:
        due.append(QUESTIONS.is_due("other"))
        return await retrieve_context(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("graphtide.services.query.service.retrieve_context", retrieve)
    async with open_application(Settings(data=tmp_path)) as application:
        given = DocumentMessage("notes", "a", "Ada met Bob.", facts=(GivenFact("Ada", "met", "Bob"),))
        token = (await application.publish([given])).token
        assert not QUESTIONS.is_due("other")
        await application.query("notes", QueryRequest("Who met Ada?", after=token))
        async for _ in application.stream("notes", QueryRequest("Who met Ada?", after=token)):
            assert QUESTIONS.is_due("other")
        assert due == [True, True] and not QUESTIONS.is_due("other")
