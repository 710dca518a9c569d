"""A table whose rows are documents of a service: PostgreSQL, Debezium's engine, Kafka and `graphtide serve`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.support.debezium import DebeziumEngine
from tests.support.kafka_server import KafkaServer, make_topic
from tests.support.postgres_server import PostgresServer
from tests.support.processes import Service, start_service

CREATE = """CREATE TABLE {table} (
    id int PRIMARY KEY, name text NOT NULL, signer text, signed_on date, amount numeric(10,2), notes text
)"""
SOURCES = """
[[sources]]
topic = "{topic}"
graph = "contracts"
text = "{{signer}} signed the contract {{name}} on {{signed_on}} for {{amount}} euros. {{notes}}"
title = "{{name}}"
occurred_at = "{{signed_on}}"
metadata = ["amount"]
"""
GRAPH = "/v1/graphs/contracts"
PARTITIONS = 2


@dataclass
class RowWorld:
    """The table, the engine that reads it, and the service; each can be killed and started again."""

    broker: KafkaServer
    database: PostgresServer
    engine: DebeziumEngine
    table: str
    folder: Path
    settings: Mapping[str, str]
    service: Service
    http: httpx.Client

    def kill_service(self) -> None:
        """Send kill -9 to the service, and start it again on its data."""
        self.service.kill()
        self.service = start_service(self.folder / "data", self.settings, self.folder / "service.log")
        self.http.base_url = httpx.URL(self.service.url)

    def kill_engine(self) -> None:
        """Send kill -9 to the engine, and start it again: it delivers its last changes again."""
        self.engine.kill()
        self.engine.start()

    def kill_database(self) -> None:
        """Send kill -9 to PostgreSQL, and start it and the engine again, as Kafka Connect restarts a failed task."""
        self.database.kill()
        self.kill_engine()

    def kill_broker(self) -> None:
        """Send kill -9 to the broker, and start it again; engine and service find it by themselves."""
        self.broker.kill()
        self.broker.restart()

    def document(self, number: int) -> dict[str, Any]:
        """Return the status of a row's document; an unknown one has the state "none"."""
        found = self.http.get(f"{GRAPH}/documents/{self.table}/{number}")
        return {"state": "none"} if found.status_code == 404 else dict(found.raise_for_status().json())

    def answer(self, question: str) -> str:
        """Return the answer to a question; "" while the graph does not exist."""
        found = self.http.post(f"{GRAPH}/query", json={"question": question})
        return "" if found.status_code == 404 else str(found.raise_for_status().json()["answer"])

    def log(self) -> str:
        """Return the service's log."""
        return (self.folder / "service.log").read_text()


@contextmanager
def row_world(kafka: KafkaServer, folder: Path, model: str = "hashing") -> Iterator[RowWorld]:
    """Start everything for the duration of a block, with an embedding model in the process. Raises Unavailable."""
    prefix = f"shop{uuid.uuid4().hex[:8]}"
    table = "contracts"
    topic = f"{prefix}.public.{table}"
    with ExitStack() as stack:
        database = PostgresServer()
        stack.callback(database.end)
        database.run(CREATE.format(table=table))
        (folder / "engine").mkdir()
        engine = DebeziumEngine(folder / "engine", database, kafka.address, prefix, f"public.{table}")
        stack.callback(engine.kill)
        make_topic(kafka, topic, PARTITIONS)
        sources = folder / "sources.toml"
        sources.write_text(SOURCES.format(topic=topic))
        settings = {
            "GRAPHTIDE_KAFKA": kafka.address,
            "GRAPHTIDE_SOURCES_FILE": str(sources),
            "GRAPHTIDE_KAFKA_SESSION_TIMEOUT_S": "3",
            "GRAPHTIDE_EMBEDDING_MODEL": model,
        }
        engine.start()
        service = start_service(folder / "data", settings, folder / "service.log")
        http = stack.enter_context(httpx.Client(base_url=service.url, timeout=60))
        world = RowWorld(kafka, database, engine, table, folder, settings, service, http)
        try:
            yield world
        finally:
            world.service.kill()
