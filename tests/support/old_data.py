"""Recorded data of earlier versions (`tests/fixtures/record.py`), opened as if those versions had written it."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from neo4j import GraphDatabase, Session

from graphtide.graph.records import GraphDelta
from graphtide.infra.bolt import BoltAddress
from graphtide.infra.sqlite.folder_lock import DATABASE
from graphtide.infra.sqlite.graph_store import snapshot
from graphtide.streams.ports import Record
from tests.support.neo4j_server import clear

FIXTURES = Path(__file__).parents[1] / "fixtures"


def stored_rows(folder: Path, graph: str) -> GraphDelta:
    """Return the rows of a graph in a data folder that no process uses."""
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        return snapshot.read(connection, graph)


@dataclass(frozen=True, slots=True)
class OldData:
    """One recording. `expected` holds the digests, answers and counts of the recording version."""

    place: Path

    @property
    def expected(self) -> Any:
        return json.loads((self.place / "expected.json").read_text())

    def unpack(self, folder: Path) -> Path:
        """Write the data folder and return it."""
        with tarfile.open(self.place / "folder.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        return folder

    def records(self, topic: str) -> list[Record]:
        """Return the records of a topic, byte for byte."""
        topics = json.loads(gzip.decompress((self.place / "topics.json.gz").read_bytes()))
        return [
            Record(
                key,
                None if value is None else base64.b64decode(value),
                tuple((name, base64.b64decode(value)) for name, value in headers),
            )
            for key, value, headers in topics[topic]
        ]

    def load(self, address: BoltAddress) -> None:
        """Replace the content of the graph database by the recorded one."""
        lines = gzip.decompress((self.place / "bolt.jsonl.gz").read_bytes()).decode().splitlines()
        rows = [json.loads(line) for line in lines]
        clear(address)
        with (
            GraphDatabase.driver(address.uri, auth=(address.user, address.password)) as driver,
            driver.session() as session,
        ):
            session.run("MATCH (s:Schema) DELETE s").consume()
            _create(session, [row for row in rows if "labels" in row], [row for row in rows if "type" in row])


def _create(session: Session, nodes: list[Any], ties: list[Any]) -> None:
    for label, some in _by(nodes, lambda row: row["labels"][0]):
        made = f"UNWIND $rows AS row CREATE (n:{label}:Loaded) SET n = row.properties, n.loaded = row.id"
        session.run(made, rows=some).consume()
    session.run("CREATE INDEX loaded IF NOT EXISTS FOR (n:Loaded) ON (n.loaded)").consume()
    for kind, some in _by(ties, lambda row: row["type"]):
        found = "UNWIND $rows AS row MATCH (a:Loaded {loaded: row.from}) MATCH (b:Loaded {loaded: row.to})"
        session.run(f"{found} CREATE (a)-[r:{kind}]->(b) SET r = row.properties", rows=some).consume()
    session.run("MATCH (n:Loaded) REMOVE n:Loaded, n.loaded").consume()
    session.run("DROP INDEX loaded IF EXISTS").consume()


def _by(rows: list[Any], name: Any) -> Iterator[tuple[str, list[Any]]]:
    for key, some in groupby(sorted(rows, key=name), key=name):
        yield key, list(some)


RECORDINGS = tuple(OldData(place) for place in sorted(FIXTURES.glob("data-*")))
