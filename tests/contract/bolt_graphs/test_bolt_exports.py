"""Exports of a graph are complete, and the same from the graph database and from the data folder."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import pytest
from neo4j import GraphDatabase

from graphtide.infra.bolt import BoltBackend
from graphtide.infra.bolt.database import driver_options
from graphtide.infra.settings import Settings
from graphtide.infra.sqlite import SqliteBackend
from graphtide.services.cli.commands.export import Export, export
from graphtide.services.cli.exit_codes import FAILED, NOT_FOUND, CommandError
from tests.support.commits import GRAPH, HOSTILE_NAMES, hostile, sample, write_to
from tests.support.neo4j_server import GraphServer, clear


def settings_for(server: GraphServer) -> Settings:
    address = server.address
    return Settings(bolt=address.uri, bolt_user=address.user, bolt_password=address.password)  # type: ignore[arg-type]


def write_export(settings: Settings, form: str, file: Path, graph: str = GRAPH) -> Any:
    totals: list[int] = []
    body = export(Export(graph, form, str(file)), settings, lambda _, total: (totals.append(total), lambda _: None)[1])  # type: ignore[func-returns-value]
    assert totals[0] > 0 and not file.with_name(f"{file.name}.part").exists()
    return body


@pytest.mark.parametrize("form", ["jsonl", "graphml", "cypher"])
async def test_export_is_the_same_from_the_graph_database_and_from_the_data_folder(
    form: str, backend: BoltBackend, embedded: SqliteBackend, graph_server: GraphServer, tmp_path: Path
) -> None:
    """The exports are equal except for the order of lines, hostile texts included, while both stores are in use."""
    await write_to([backend.store, embedded.store], [*sample(), *hostile()])
    ours, theirs = tmp_path / "bolt", tmp_path / "sqlite"
    counts = write_export(settings_for(graph_server), form, ours)
    other = write_export(Settings(data=tmp_path / "data"), form, theirs)
    assert {**counts, "file": ""} == {**other, "file": ""} and counts["nodes"] > 100
    if form == "jsonl":
        read = [sorted(_line(text) for text in file.read_text().splitlines()) for file in (ours, theirs)]
        assert read[0] == read[1]
    elif form == "graphml":
        graphs = [nx.read_graphml(file, force_multigraph=True) for file in (ours, theirs)]
        assert graphs[0].number_of_nodes() == counts["nodes"] and graphs[0].number_of_edges() == counts["relationships"]
        assert dict(graphs[0].nodes(data=True)) == dict(graphs[1].nodes(data=True))
        assert _bag(graphs[0]) == _bag(graphs[1])


def _line(text: str) -> str:
    row = json.loads(text)
    return json.dumps({**row, "id": row["id"] if row["type"] == "node" else ""}, sort_keys=True)


def _bag(graph: Any) -> Counter[str]:
    return Counter(str((u, v, sorted(data.items()))) for u, v, data in graph.edges(data=True))


@pytest.mark.thorough
async def test_exported_cypher_makes_the_graph_again(
    embedded: SqliteBackend, graph_server: GraphServer, tmp_path: Path
) -> None:
    """Run on the real server, statement by statement, it creates every node, relationship and text exactly."""
    await write_to([embedded.store], [*sample()[:5], *hostile()])
    for form in ("cypher", "jsonl"):
        write_export(Settings(data=tmp_path / "data"), form, tmp_path / form)
    rows = [json.loads(line) for line in (tmp_path / "jsonl").read_text().splitlines()]
    clear(graph_server.address)
    lines = (tmp_path / "cypher").read_text().split(";\n")
    with GraphDatabase.driver(**driver_options(graph_server.address)) as driver, driver.session() as session:
        for line in lines:
            statement = "\n".join(part for part in line.split("\n") if not part.startswith("//"))
            if statement.strip() and not statement.startswith("CREATE INDEX"):
                session.run(statement).consume()
        made = {one["n"]["id"]: dict(one["n"]) for one in session.run("MATCH (n) WHERE n.id IS NOT NULL RETURN n")}
        tied = session.run("MATCH (a)-[r]->(b) RETURN a.id AS a, type(r) AS t, properties(r) AS own, b.id AS b")
        edges = Counter(str((one["a"], one["t"], sorted(one["own"].items()), one["b"])) for one in tied)
    nodes = {row["id"]: {"id": row["id"], **row["properties"]} for row in rows if row["type"] == "node"}
    assert made == nodes
    assert edges == Counter(
        str((row["start"]["id"], row["label"], sorted(row["properties"].items()), row["end"]["id"]))
        for row in rows
        if row["type"] == "relationship"
    )
    clear(graph_server.address)


async def test_export_refuses_what_is_not_there_and_a_graph_that_moves(
    backend: BoltBackend, graph_server: GraphServer, tmp_path: Path
) -> None:
    """The export refuses unknown graphs, missing folders and impossible files; it leaves no partial file."""
    await write_to([backend.store], sample()[:3])
    bolt, nothing = settings_for(graph_server), Settings(data=tmp_path / "none")
    for settings, file, graph, code in (
        (bolt, tmp_path / "x", "unknown", NOT_FOUND),
        (nothing, tmp_path / "x", GRAPH, NOT_FOUND),
        (bolt, tmp_path / "no" / "folder", GRAPH, FAILED),
    ):
        with pytest.raises(CommandError) as refused:
            export(Export(graph, "jsonl", str(file)), settings, lambda *_: lambda _: None)
        assert refused.value.code == code
    assert not (tmp_path / "none").exists()

    def meanwhile(_: int) -> None:
        with GraphDatabase.driver(**driver_options(graph_server.address)) as driver, driver.session() as session:
            session.run("MATCH (g:Graph {name: $graph}) SET g.version = g.version + 1", graph=GRAPH).consume()

    with pytest.raises(CommandError, match="meanwhile: try again"):
        export(Export(GRAPH, "jsonl", str(tmp_path / "x")), bolt, lambda *_: meanwhile)
    assert not os.listdir(tmp_path)  # noqa: PTH208 - one look at a small folder


def test_graphml_is_well_formed_when_texts_are_hostile() -> None:
    """A parser reads back every text, with U+FFFD for the characters that XML cannot hold."""
    from graphtide.infra.export import FORMATS, ExportNode

    texts = [*HOSTILE_NAMES, "\ud800", "]]>", "\r", "&#0;"]
    nodes = [ExportNode(f"document-{i} {text}", "Document", {"title": text}) for i, text in enumerate(texts)]
    form = FORMATS["graphml"]()
    written = "".join([*form.begin(), *form.nodes(nodes), *form.edges([]), *form.end()])
    space = "{http://graphml.graphdrawing.org/xmlns}"
    read = [
        data.text
        for node in ElementTree.fromstring(written).iter(f"{space}node")  # noqa: S314 - our own
        for data in node.iter(f"{space}data")
        if data.get("key") == "title"
    ]
    forbidden = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
    assert read == [forbidden.sub("\ufffd", text) for text in texts]


def test_data_folder_stays_readable_while_it_is_exported(tmp_path: Path) -> None:
    """An export opens the data folder read-only, so it cannot change the service's file."""
    from graphtide.infra.sqlite.connection import open_reader

    sqlite3.connect(tmp_path / "x").execute("CREATE TABLE t (a)").connection.close()
    reader = open_reader(tmp_path / "x")
    with pytest.raises(sqlite3.OperationalError):
        reader.execute("INSERT INTO t VALUES (1)")
    reader.close()
