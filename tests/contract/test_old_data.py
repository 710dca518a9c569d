"""Data written by earlier versions: this version opens it with the same digests and answers, or refuses it clearly."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from neo4j import GraphDatabase

from graphtide.graph.digest import digest, has_digest
from graphtide.infra.bolt import BoltBackend
from graphtide.infra.bolt.administration.schema import SCHEMA_VERSION as BOLT_SCHEMA
from graphtide.infra.settings import Settings
from graphtide.infra.sqlite.connection import SCHEMA_VERSION
from graphtide.infra.sqlite.folder_lock import DATABASE
from graphtide.services.application import Application, QueryRequest
from graphtide.services.wiring import open_application
from graphtide.streams.clock import now_ms
from graphtide.streams.errors import Broken, Rejected
from graphtide.streams.follow.delta_records import DeltaPart, assemble_delta, parse_record
from graphtide.streams.messages import (
    DEAD_LETTERS,
    DELTAS,
    DOCUMENTS,
    EXTRACTIONS,
    DeltaNotice,
    decode_dead_letter,
    decode_document,
    decode_extraction,
)
from graphtide.streams.ports import ConsumedRecord, Position, Record
from tests.model.memory import MemoryLog
from tests.support.neo4j_server import GraphServer, clear, is_memgraph
from tests.support.old_data import RECORDINGS, OldData, stored_rows
from tests.support.records import plain

every_recording = pytest.mark.parametrize("old", RECORDINGS, ids=lambda old: old.place.name)


async def _check(application: Application, old: OldData) -> None:
    for question, wanted in old.expected["answers"].items():
        answer = await application.query("fixture", QueryRequest(question, generate=False))
        # The order below the first belongs to the ranking of a release, not to the data.
        assert answer.passages[0].doc_id == wanted[0]
    found = (await application.stats("fixture")).revisions
    assert {state: count for state, count in found.items() if count} == {
        state: count for state, count in old.expected["revisions"].items() if count
    }
    assert (await application.verify("fixture")).differences == ()


@every_recording
async def test_old_data_folder_opens_with_its_digests_and_answers(
    tmp_path: Path, old: OldData, caplog: pytest.LogCaptureFixture
) -> None:
    """A migrated folder is equal to the last bit, and it accepts further documents.

    Its saved indexes are used, or, if they are of an older form, built anew from the store.
    """
    folder = old.unpack(tmp_path / "data")
    with caplog.at_level(logging.WARNING, "graphtide.index"):
        async with open_application(Settings(data=folder, embedding_model="hashing")) as application:
            await _check(application, old)
            for graph, (_, wanted) in old.expected["digests"].items():
                rows = stored_rows(folder, graph)
                assert has_digest(rows, wanted)
                assert (await application.digest(graph)).digest == digest(rows)
            before = (await application.digest("fixture")).digest
            receipt = await application.delete("fixture", "ada")
            await application.query("fixture", QueryRequest("Ada?", after=receipt.token, generate=False))
            after = (await application.digest("fixture")).digest
    assert not [line for line in caplog.messages if "index" in line and "has schema 1; this version reads" not in line]
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        assert connection.execute("SELECT version FROM schema_version").fetchall() == [(SCHEMA_VERSION,)]
    async with open_application(Settings(data=folder, embedding_model="hashing")) as application:
        assert (await application.digest("fixture")).digest == after != before


@every_recording
async def test_data_folder_of_a_newer_schema_is_refused_and_left_alone(tmp_path: Path, old: OldData) -> None:
    """An older version refuses a newer folder: the message has both numbers and two remedies."""
    folder = old.unpack(tmp_path / "data")
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        connection.execute("UPDATE schema_version SET version = ?", (SCHEMA_VERSION + 1,))
        connection.commit()
    before = (folder / DATABASE).read_bytes()
    with pytest.raises(Broken, match=rf"schema {SCHEMA_VERSION + 1}.*reads schema {SCHEMA_VERSION}.*restore"):
        async with open_application(Settings(data=folder, embedding_model="hashing")):
            pass
    assert (folder / DATABASE).read_bytes() == before


@every_recording
async def test_old_graph_database_opens_with_its_digests(graph_server: GraphServer, old: OldData) -> None:
    """After the migration its graphs and their extractions are the recorded ones, and it accepts commits."""
    if is_memgraph(graph_server.address):
        pytest.skip("the loader drops an index as Neo4j does")
    old.load(graph_server.address)
    backend = await BoltBackend.open(graph_server.address, MemoryLog(1, now_ms))
    try:
        for graph, (version, wanted) in old.expected["cluster"].items():
            rows = await backend.store.snapshot(graph)
            assert rows.version == version and has_digest(rows, wanted)
            extractions = [decode_extraction(value) async for _, value in backend.store.extractions(graph)]
            assert {one.doc_id for one in extractions} == {row.doc_id for row in rows.documents}
        watermark = await backend.store.claim(0)
        assert watermark.next_offset > 0
        assert await backend.ledger.pending("fixture") == 0
    finally:
        await backend.close()
        clear(graph_server.address)


@every_recording
async def test_edit_after_the_migration_is_newer_than_what_was_numbered_by_offsets(
    graph_server: GraphServer, old: OldData
) -> None:
    """Old revisions keep their offsets as numbers and are found by position; an edit is numbered above them."""
    if is_memgraph(graph_server.address):
        pytest.skip("the loader drops an index as Neo4j does")
    old.load(graph_server.address)
    backend = await BoltBackend.open(graph_server.address, MemoryLog(1, now_ms))
    try:
        documents = [row.doc_id for row in (await backend.store.snapshot("fixture")).documents]
        standings = await backend.store.standings("fixture", documents)
        latest = [entry for doc_id in documents if (entry := await backend.ledger.latest("fixture", doc_id))]
        assert [entry.revision for entry in latest] == [entry.position.offset for entry in latest] and latest
        again = [
            ConsumedRecord(entry.position, entry.accepted_ms, Record(f"fixture|{entry.doc_id}", b""))
            for entry in latest
        ]
        assert list(await backend.ledger.register(again)) == [entry.revision for entry in latest]
        edits = [ConsumedRecord(Position(7, i), now_ms(), replace(one.record)) for i, one in enumerate(again)]
        numbers = await backend.ledger.register(edits)
        assert all(number > standings[one.doc_id].revision for number, one in zip(numbers, latest, strict=True))
    finally:
        await backend.close()
        clear(graph_server.address)


async def test_graph_database_of_a_newer_schema_is_refused(graph_server: GraphServer) -> None:
    """An older version refuses a newer schema: nothing is changed, the message has both numbers and the remedies."""
    address = graph_server.address
    await (await BoltBackend.open(address, MemoryLog(1, now_ms))).close()
    with (
        GraphDatabase.driver(address.uri, auth=(address.user, address.password)) as driver,
        driver.session() as session,
    ):
        session.run("MATCH (s:Schema) SET s.version = $version", version=BOLT_SCHEMA + 1).consume()
        try:
            with pytest.raises(Broken, match=rf"schema {BOLT_SCHEMA + 1}.*reads schema {BOLT_SCHEMA}.*restore"):
                await BoltBackend.open(address, MemoryLog(1, now_ms))
        finally:
            session.run("MATCH (s:Schema) SET s.version = $version", version=BOLT_SCHEMA).consume()


@every_recording
def test_old_records_of_every_topic_are_read(old: OldData) -> None:
    """Documents, extractions, dead letters, notices followed by whole deltas: all but the record that is not JSON."""
    unread = 0
    for record in old.records(DOCUMENTS):
        try:
            decode_document(record.key, record.value or b'{"text":""}')
        except Rejected:
            unread += 1
    assert unread == 2, "the record that is no JSON, and the stand-in for a deletion"
    assert all(decode_extraction(record.value or b"").extraction for record in old.records(EXTRACTIONS))
    assert [decode_dead_letter(record.value or b"").doc_id for record in old.records(DEAD_LETTERS)] == ["broken"]
    records = [parse_record(ConsumedRecord(Position(0, 0), 0, record)) for record in old.records(DELTAS)]
    assert {type(one) for one in records} == {DeltaNotice, DeltaPart}
    assert all(assemble_delta([one]).chunks for one in records if isinstance(one, DeltaPart) and one.count == 1)


@every_recording
def test_records_with_fields_of_a_later_version_are_read_as_without(old: OldData) -> None:
    """In a cluster of mixed versions an older reader ignores optional fields that it does not know."""
    for record in old.records(EXTRACTIONS):
        later = json.dumps({**json.loads(record.value or b""), "later": {"deep": [1]}}).encode()
        assert plain(decode_extraction(later)) == plain(decode_extraction(record.value or b""))
    for record in old.records(DOCUMENTS)[:3]:
        later = json.dumps({**json.loads(record.value or b""), "later": None}).encode()
        assert decode_document(record.key, later) == decode_document(record.key, record.value or b"")
    for record in old.records(DEAD_LETTERS):
        later = json.dumps({**json.loads(record.value or b""), "later": 1}).encode()
        assert decode_dead_letter(later) == decode_dead_letter(record.value or b"")
    for record in (one for one in old.records(DELTAS) if not one.headers or (one.value or b"")[:1] == b"{"):
        later = json.dumps({**json.loads(record.value or b""), "later": []}).encode()
        delivered = [
            ConsumedRecord(Position(0, 0), 0, type(record)(record.key, value, record.headers))
            for value in (later, record.value)
        ]
        assert parse_record(delivered[0]) == parse_record(delivered[1])


@every_recording
def test_records_of_a_newer_schema_are_rejected_with_the_cause(old: OldData) -> None:
    """They become dead letters, which `graphtide dlq retry` publishes again after the upgrade."""
    [record, *_] = old.records(EXTRACTIONS)
    newer = json.dumps({**json.loads(record.value or b""), "schema": 2}).encode()
    with pytest.raises(Rejected, match="schema 2"):
        decode_extraction(newer)
