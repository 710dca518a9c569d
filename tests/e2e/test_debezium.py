"""Rows of a real PostgreSQL as documents: a real Debezium reads its replication stream, and changes of rows change the
answers. One database, engine and service serve the tests of this module in order.
"""

# ruff: noqa: S608 -- the statements are the test's own

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaProducer

from tests.support.cluster import until
from tests.support.kafka_server import KafkaServer
from tests.support.maven import Unavailable
from tests.support.row_changes import GRAPH, RowWorld, row_world

pytestmark = pytest.mark.thorough

SEED = int(os.environ.get("GRAPHTIDE_TEST_SEED", "7"))
CHANGES = int(os.environ.get("GRAPHTIDE_TEST_ROW_CHANGES", "40"))
PATIENCE_S = 180.0
SIGNERS = ("Ana Ruiz", "Bo Lind", "Cleo Marsh", "Dan Okafor")


@pytest.fixture(scope="module")
def world(kafka: KafkaServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RowWorld]:
    """Yield the running world."""
    try:
        with row_world(kafka, tmp_path_factory.mktemp("rows")) as found:
            yield found
            print(found.log()[-3000:], found.engine.log())
    except Unavailable as error:
        pytest.skip(str(error))


def test_answers_follow_the_rows(world: RowWorld) -> None:
    """INSERT, UPDATE and DELETE of a row; its date and decimal are readable, and its metadata is the column's."""
    question = "Who signed the contract Boiler?"
    world.database.run("INSERT INTO contracts VALUES (1, 'Boiler', 'Ana Ruiz', '2025-11-22', 1234.50)")
    until(lambda: "Ana Ruiz" in world.answer(question), PATIENCE_S)
    found = world.document(1)
    assert found["text"] == "Ana Ruiz signed the contract Boiler on 2025-11-22 for 1234.50 euros."
    assert (found["title"], found["occurred_at"], found["metadata"]) == ("Boiler", "2025-11-22", {"amount": "1234.50"})
    world.database.run("UPDATE contracts SET signer = 'Bo Lind' WHERE id = 1")
    until(lambda: "Bo Lind" in world.answer(question), PATIENCE_S)
    assert "Ana Ruiz" not in world.answer(question)
    world.database.run("DELETE FROM contracts WHERE id = 1")
    until(lambda: world.document(1)["state"] == "deleted", PATIENCE_S)
    assert "Bo Lind" not in world.answer(question)


async def test_bad_records_are_dead_letters_and_nothing_waits(world: RowWorld, kafka: KafkaServer) -> None:
    """Records that no connector writes, in each partition, before a good change. The log has none of their text."""
    topic = next(line for line in (world.folder / "sources.toml").read_text().splitlines() if "topic" in line)
    name = topic.split('"')[1]
    hostile = [
        b"\xff SECRET",
        b'{"SECRET":1}',
        b"[" * 100_000,
        b'{"op":"c","after":{"id":9,"name":"SECRET"}}',
        b"\0" * 9,
    ]
    producer = AIOKafkaProducer(bootstrap_servers=kafka.address)
    await producer.start()
    try:
        for partition in range(2):
            for value in hostile:
                await producer.send_and_wait(name, value, partition=partition)
    finally:
        await producer.stop()
    world.database.run("INSERT INTO contracts VALUES (2, 'Pump', 'Cleo Marsh', '2025-01-02', 5)")
    until(lambda: world.document(2)["state"] == "applied", PATIENCE_S)

    def letters() -> list[dict[str, str]]:
        return list(world.http.get(f"{GRAPH}/dead-letters").json()["letters"])

    until(lambda: len(letters()) == 2 * len(hostile), PATIENCE_S)
    assert all(name in each["doc_id"] and each["reason"] for each in letters())
    assert "SECRET" not in world.log() + json.dumps(letters())
    metrics = world.http.get("/metrics").text
    assert f'graphtide_source_records_total{{outcome="rejected",topic="{name}"}} {2.0 * len(hostile)}' in metrics


def test_digest_is_that_of_the_rows_whatever_is_killed(world: RowWorld) -> None:
    """Random inserts, updates, deletions and new keys; kill -9 of engine, service, database and broker in
    between. The digest is that of a graph built from the table's rows alone.
    """
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    parts = (world.kill_engine, world.kill_broker, world.kill_service, world.kill_database)
    kills = {CHANGES * (number + 1) // 5: kill for number, kill in enumerate(parts)}
    for step in range(CHANGES):
        number = rng.randrange(10, 16)
        statements = (
            f"INSERT INTO contracts VALUES ({number}, 'Lot {rng.randrange(99)}', '{rng.choice(SIGNERS)}',"
            f" '2025-01-{rng.randrange(1, 29):02}', {rng.randrange(9999)}) ON CONFLICT DO NOTHING",
            f"UPDATE contracts SET signer = '{rng.choice(SIGNERS)}', notes = 'Note {step}.' WHERE id = {number}",
            f"UPDATE contracts SET amount = amount + 1 WHERE id >= {number}",
            f"DELETE FROM contracts WHERE id = {number}",
            f"UPDATE contracts SET id = id + 10 WHERE id = {number}"
            f" AND NOT EXISTS (SELECT 1 FROM contracts WHERE id = {number + 10})",
        )
        world.database.run(*rng.sample(statements, 2))
        if step in kills:
            kills[step]()
    rows = json.loads(world.database.run("SELECT json_agg(c ORDER BY id) FROM contracts c"))
    for row in rows:
        document = {
            "text": f"{row['signer']} signed the contract {row['name']} on {row['signed_on']} for {row['amount']:.2f}"
            f" euros. {row['notes'] or ''}".strip(),
            "title": row["name"],
            "occurred_at": row["signed_on"],
            "metadata": {"amount": f"{row['amount']:.2f}"},
        }
        sent = world.http.put(f"/v1/graphs/clean/documents/contracts/{row['id']}", json=document)
        assert sent.status_code == 202, sent.text

    def digest(graph: str) -> str:
        return str(world.http.get(f"/v1/graphs/{graph}/digest").json().get("digest", ""))

    listed = "/v1/graphs/clean/documents?state=applied"
    until(lambda: len(world.http.get(listed).json().get("documents", ())) == len(rows), PATIENCE_S)
    until(lambda: digest("contracts") == digest("clean") != "", PATIENCE_S)
