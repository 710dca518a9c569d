"""Work with a large delta is done outside the event loop, in small calls, and without the bytes that it came from."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import sys
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphtide.graph.algorithms.in_parts import STEP_ROWS, free_in_parts, sorted_in_parts
from graphtide.graph.changes.rows import rows_out
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.consolidation.topology import Topology
from graphtide.graph.records import (
    ChunkContribution,
    ChunkRow,
    DocumentChange,
    DocumentInfo,
    EdgeRow,
    EntityRow,
    Extraction,
    GraphDelta,
    Mention,
    MentionRow,
)
from graphtide.streams.changes.change_log import LARGE_ROWS, encode_forward
from graphtide.streams.consolidate.partition_buffer import HEAVY_BYTES
from graphtide.streams.consolidate.partitions import application, watermark, writer
from graphtide.streams.consolidate.stage import ConsolidateSettings, ConsolidateStage
from graphtide.streams.follow import delta_codec
from graphtide.streams.follow.delta_records import notice_records
from graphtide.streams.free_memory import return_free_memory
from graphtide.streams.json_parts import dump
from graphtide.streams.messages import EXTRACTIONS, ExtractionMessage, decode_extraction
from graphtide.streams.messages.extractions import COLLECTED_UNITS, SMALL_BYTES
from graphtide.streams.ports import Record, RevisionOutcome
from tests.support.backends import Clock, opened
from tests.support.extractions import random_extraction, unit
from tests.support.stages import TIMEOUT_S, Seen, eventually, running


def delta(rows: int) -> GraphDelta:
    """Return a delta with so many rows of each large kind, each with a vector of its own."""
    vectors = np.ones((rows, 8), np.float16)
    return GraphDelta(
        "g",
        1,
        chunks=tuple(ChunkRow(n, f"c{n:06}", "d", n, f"text {n:06}", vectors[n], 1) for n in range(rows)),
        mentions=tuple(MentionRow(n, n, f"name {n:06}", "", 1) for n in range(rows)),
        entities=tuple(EntityRow(n, f"name {n:06}", "", (n,), 1, vectors[n], 1) for n in range(rows)),
        edges=tuple(EdgeRow(n, n + 1, 1, 2) for n in range(rows)),
    )


@pytest.mark.parametrize("encode", [delta_codec.encode, encode_forward])
def test_longest_call_of_the_encoder_is_independent_of_the_number_of_rows(
    encode: Callable[[GraphDelta], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call of the C encoder holds the interpreter lock until it ends."""
    sizes: list[int] = []
    dumps = json.dumps

    def watched(body: object, **options: Any) -> str:
        sizes.append(len(found := dumps(body, **options)))
        return found

    monkeypatch.setattr(json, "dumps", watched)
    longest = []
    for rows in (LARGE_ROWS, 4 * LARGE_ROWS):
        sizes.clear()
        encode(delta(rows))
        longest.append(max(sizes))
    assert longest[1] <= longest[0] + 8  # digits


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1_000])
def test_rows_sorted_in_parts_are_sorted(count: int) -> None:
    rng = random.Random(count)
    rows = [(rng.randrange(20), rng.randrange(20)) for _ in range(count)]
    assert sorted_in_parts(rows, 8) == sorted(rows)


async def publish(log: Any, ledger: Any, size: int, names: int, lengths: list[int]) -> None:
    """Publish an extraction with a title of `size` characters and so many entities; note its bytes before."""
    [position] = await ledger.accept([Record("g|d", b"{}")])
    mentions = [(f"name {n}", "", "") for n in range(names)]
    extraction = Extraction("d", position.offset, DocumentInfo("x" * size), (unit("passage", mentions, ()),))
    value = ExtractionMessage("g", "d", position.offset, extraction).encode()
    lengths.append(len(value))
    await log.append(EXTRACTIONS, [Record("g", value)])


@pytest.mark.parametrize("large", [True, False])
async def test_followers_of_a_large_record_begin_with_free_memory(
    large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is returned before and after, in a thread."""
    calls: list[str] = []
    monkeypatch.setattr(writer, "return_free_memory", lambda: calls.append(threading.current_thread().name))
    monkeypatch.setattr(writer, "RELEASING_BYTES", HEAVY_BYTES if large else 1 << 60)
    done = asyncio.Event()

    async def follow(_: GraphDelta) -> None:
        assert len(calls) == large
        done.set()

    async with opened("memory", tmp_path, Clock()) as backend:
        stage = ConsolidateStage(backend.log, backend.store, follow, Seen())
        async with running(stage.run):
            await publish(backend.log, backend.ledger, HEAVY_BYTES, 3, [])
            async with asyncio.timeout(120):
                await done.wait()
            await eventually(lambda: holds(len(calls) == 2 * large))
    assert threading.current_thread().name not in calls


class Steps(list[object]):
    """A list that notes how many members each deletion removes."""

    def __init__(self, rows: Iterable[object], noted: list[int]) -> None:
        super().__init__(rows)
        self.noted = noted

    def __delitem__(self, place: Any) -> None:
        self.noted.append(len(self[place]) if isinstance(place, slice) else 1)
        super().__delitem__(place)


def test_rows_are_freed_in_steps() -> None:
    """To free them all in one call would hold the interpreter lock."""
    noted = list[int]()
    tables: list[list[Any]] = [Steps(range(10), noted), Steps((), noted), Steps(range(3), noted)]
    free_in_parts(tables, 4)
    assert not tables
    assert noted == [3, 4, 4, 2]


@pytest.mark.parametrize("large", [True, False])
async def test_rows_and_units_of_a_large_record_are_freed_outside_the_event_loop(
    large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else refers to what is freed there: else the last reference would free it all at once in the loop."""
    monkeypatch.setattr(writer, "FREED_ROWS", 1 if large else 1 << 60)
    monkeypatch.setattr(application, "FREED_UNITS", 1 if large else 1 << 60)
    freed = list[tuple[str, set[str], int]]()

    def watched(tables: list[list[Any]], step: int = STEP_ROWS) -> None:
        rows = [row for table in tables for row in table]
        tables.clear()
        kinds = {type(row).__name__ for row in rows}
        freed.append((threading.current_thread().name, kinds, max(map(sys.getrefcount, rows))))

    monkeypatch.setattr(writer, "free_in_parts", watched)
    monkeypatch.setattr(application, "free_in_parts", watched)

    async with opened("sqlite", tmp_path, Clock()) as backend:

        async def follow(_: GraphDelta) -> None:
            await backend.ledger.accept([Record("g|other", b"{}")])  # the database's thread forgets the commit

        stage = ConsolidateStage(backend.log, backend.store, follow, Seen())
        async with running(stage.run):
            for number in range(2):  # the second revision replaces units of the first
                await publish(backend.log, backend.ledger, 2 * SMALL_BYTES, 3 + number, [])
                await eventually(partial(applied, backend.store, 1 + number))
            await eventually(lambda: holds(len(freed) == 5 * large))
    assert threading.current_thread().name not in {thread for thread, _, _ in freed}
    found = [kinds for _, kinds, _ in freed]
    rows = {"ChunkRow", "LabelRow", "MentionRow", "EntityRow"}
    assert found == [{"ChunkContribution"}, rows, {"ChunkContribution"}, {"ChunkContribution"}, rows] * large
    alone = max(map(sys.getrefcount, [object()]))
    assert {references for _, _, references in freed} <= {alone}


async def applied(store: Any, version: int) -> bool:
    return int((await store.graphs()).get("g", 0)) == version


async def holds(value: bool) -> bool:
    return value


def test_free_memory_is_returned() -> None:
    """Nothing can be asserted but that it can be called: what an allocator keeps is its own matter."""
    return_free_memory()


async def test_a_large_delta_is_announced_outside_the_event_loop(tmp_path: Path) -> None:
    """A notice names each changed entity, and in a cluster each row follows it."""
    threads: list[int] = []

    def announce(changed: GraphDelta, outcomes: Sequence[RevisionOutcome]) -> tuple[Record, ...]:
        threads.append(threading.get_ident())
        return notice_records(changed, outcomes)

    applied = asyncio.Event()

    async def follow(_: GraphDelta) -> None:
        applied.set()

    async with opened("memory", tmp_path, Clock()) as backend:
        stage = ConsolidateStage(backend.log, backend.store, follow, Seen(), ConsolidateSettings(announce=announce))
        async with running(stage.run):
            await publish(backend.log, backend.ledger, 1, watermark.LARGE_ROWS, [])
            async with asyncio.timeout(120):
                await applied.wait()
    assert threads and threading.get_ident() not in threads


async def test_the_encoded_extraction_of_a_large_document_is_freed_while_followers_apply_its_delta(
    tmp_path: Path,
) -> None:
    """The extraction of a text of megabytes is hundreds of megabytes, and following takes longest."""
    lengths: list[int] = []
    followed = asyncio.Event()

    async def is_freed() -> bool:
        return max(trace.size for trace in tracemalloc.take_snapshot().traces) < lengths[0]

    async def follow(_: GraphDelta) -> None:
        await eventually(is_freed)  # the thread of the commit frees it, too
        followed.set()

    async with opened("sqlite", tmp_path, Clock()) as backend:
        stage = ConsolidateStage(backend.log, backend.store, follow, Seen())
        tracemalloc.start()
        try:
            async with running(stage.run):
                await publish(backend.log, backend.ledger, 4 * HEAVY_BYTES, 1, lengths)
                async with asyncio.timeout(2 * TIMEOUT_S):
                    await followed.wait()
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("rows", [LARGE_ROWS // 4, LARGE_ROWS])
def test_rows_of_a_large_delta_are_encoded_as_those_of_a_small_one(rows: int) -> None:
    """They are made one by one: 250,000 of them were freed in one step of 60 ms."""
    assert json.loads(zlib.decompress(encode_forward(delta(rows)))) == json.loads(dump(rows_out(delta(rows))))


def test_rows_of_a_large_delta_do_not_exist_at_a_time() -> None:
    """The encoder needs memory for the result and a few rows."""
    large, peaks = delta(3 * LARGE_ROWS), []
    for work in (rows_out, encode_forward):
        tracemalloc.start()
        result = work(large)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        del result
    assert 2 * peaks[1] < peaks[0], peaks


def test_changed_edges_are_in_order_however_many_there_are() -> None:
    """Edges whose weight is as before are left out."""
    rng = random.Random(5)
    edges = sorted({(rng.randrange(3_000), 3_000 + rng.randrange(3_000)) for _ in range(3 * STEP_ROWS)})
    topology = Topology()
    for edge in rng.sample(edges, len(edges)):
        topology.add(edge, 2)
        if edge[0] % 7 == 0:
            topology.add(edge, -2)
    changed = topology.changed()
    assert changed == [(edge, 0, 2) for edge in edges if edge[0] % 7] and len(changed) > STEP_ROWS
    assert topology.changed() == []


def test_the_collector_examines_new_objects_while_a_large_record_is_decoded() -> None:
    """It counts allocations less frees: the first collection after the record would examine all of its objects."""
    vector = np.ones(2, np.float16)
    units = tuple(
        ChunkContribution(bytes(16), f"passage {n}", 0, 1, vector, (Mention(f"name {n}", "", "", vector),), ())
        for n in range(4 * COLLECTED_UNITS)
    )
    value = ExtractionMessage("g", "d", 1, Extraction("d", 1, DocumentInfo(), units)).encode()
    collected: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        collected.extend([info["generation"]] if phase == "start" else [])

    gc.callbacks.append(note)
    try:
        assert decode_extraction(value).extraction is not None
    finally:
        gc.callbacks.remove(note)
    assert collected.count(1) >= 4, collected


def test_rows_of_edges_are_in_order_however_many_there_are() -> None:
    """Sorting in parts gives the order of the rows that a smaller batch has, too."""
    extraction = random_extraction(random.Random(3), "d", 1)
    changed = Consolidator("g").apply([DocumentChange("d", None, extraction)])
    ends = [(row.u, row.v) for row in changed.edges]
    assert ends == sorted(ends)
