"""Memory of large values: encoding copies them at most once, and the database keeps none after their use."""

from __future__ import annotations

import asyncio
import base64
import tracemalloc
import weakref
from pathlib import Path

import numpy as np

from graphtide.graph.records import ChunkContribution, DocumentInfo, Extraction, Mention
from graphtide.infra.sqlite.connection import LARGE_BYTES, drop_large_value, open_writer
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.folder_lock import DATABASE
from graphtide.infra.sqlite.log import PARTITION, SqliteLog, ends
from graphtide.streams.json_parts import Base64Text, dump, dump_in_parts
from graphtide.streams.messages import EXTRACTIONS, ExtractionMessage, decode_extraction
from graphtide.streams.messages.extractions import BASE64_SLICE
from graphtide.streams.ports import Record

TIMEOUT_S = 300


class _Result:
    """A result that can be watched."""


def test_base64_text_in_blocks_equals_that_of_the_whole() -> None:
    """The blocks have a multiple of three bytes, so that no padding comes between them."""
    whole = bytes(range(200)) * 3
    blocks = [whole[start : start + 99] for start in range(0, len(whole), 99)]
    expected = dump({"a": [1], "vectors": base64.b64encode(whole).decode(), "empty": {}})
    assert dump_in_parts({"a": [1], "vectors": Base64Text(blocks), "empty": {}}) == expected


def large_message() -> ExtractionMessage:
    vector = np.ones(256, np.float16)
    mentions = tuple(Mention(f"name {number}", "", "", vector) for number in range(100))
    units = tuple(
        ChunkContribution(bytes(16), f"passage {number}", 0, 1, vector, mentions, ()) for number in range(200)
    )
    return ExtractionMessage("g", "d", 1, Extraction("d", 1, DocumentInfo(), units))


def test_encoding_of_an_extraction_needs_little_more_memory_than_its_result() -> None:
    """The vectors are not copied as a whole: a large document would occupy several times its size."""
    message = large_message()
    tracemalloc.start()
    value = message.encode()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * len(value), (peak, len(value))
    assert decode_extraction(value).encode() == value


def test_decoding_of_vectors_needs_little_more_memory_than_the_vectors() -> None:
    """Neither their text nor their bytes are copied as a whole."""
    value = large_message().encode()
    vectors = 200 * 101 * 512
    tracemalloc.start()
    decoded = decode_extraction(value)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * vectors + (BASE64_SLICE << 1), (peak, vectors)
    assert decoded.encode() == value


async def test_database_keeps_no_result_of_a_finished_write_or_read(tmp_path: Path) -> None:
    """Its threads wait for the next work without the last result."""
    database = await SqliteDatabase.open(tmp_path)
    loop = asyncio.get_running_loop()
    try:
        for run in (database.write, database.read):
            freed = asyncio.Event()
            result = await run(lambda _: _Result())
            weakref.finalize(result, loop.call_soon_threadsafe, freed.set)
            del result
            async with asyncio.timeout(TIMEOUT_S):
                await freed.wait()
    finally:
        await database.close()


def test_statement_keeps_no_large_value(tmp_path: Path) -> None:
    """A cached statement holds a copy of the values of its last use; a small value leaves the statements alone."""
    connection = open_writer(tmp_path / DATABASE, None)
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    drop_large_value(connection, LARGE_BYTES - 1)
    assert not asked
    drop_large_value(connection, LARGE_BYTES)
    assert len(set(asked)) == len(asked) > 1
    connection.close()


async def test_first_offset_is_found_without_reading_its_record(tmp_path: Path) -> None:
    """The lag is measured at intervals, also while a record of hundreds of megabytes is applied."""
    database = await SqliteDatabase.open(tmp_path)
    try:
        log = SqliteLog(database, await database.read(ends), lambda: 0)
        await log.append(EXTRACTIONS, [Record("g", bytes(4 * LARGE_BYTES))])
        tracemalloc.start()
        assert await log.start(EXTRACTIONS) == {PARTITION: 0}
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < LARGE_BYTES, peak
    finally:
        await database.close()
