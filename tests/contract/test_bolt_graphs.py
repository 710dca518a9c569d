"""Graphs of real documents in the graph database: the same as in SQLite, explorable, and exported completely."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, cast
from xml.etree import ElementTree

import networkx as nx
import pytest
from neo4j import GraphDatabase

from graphtide.graph.communities import Hierarchy
from graphtide.graph.digest import differences, digest
from graphtide.graph.records import GraphDelta
from graphtide.infra.bolt import BoltBackend
from graphtide.infra.bolt.database import Transaction, driver_options
from graphtide.infra.settings import Settings
from graphtide.infra.sqlite import SqliteBackend
from graphtide.services.cli.commands.export import Export, export
from graphtide.services.cli.exit_codes import FAILED, NOT_FOUND, CommandError
from graphtide.streams.clock import now_ms
from graphtide.streams.ports import Commit, GraphCommit, GraphStore
from tests.model.memory import MemoryLog
from tests.support.commits import GRAPH, HOSTILE_NAMES, hostile, sample, write_to
from tests.support.neo4j_server import GraphServer, clear
from tests.support.records import plain
from tests.support.worlds import RandomWorld

DOCS = Path(__file__).parents[2] / "docs" / "cypher.md"
NAME = "Kittiwake Station"
QUERIES = re.findall(r"^## (\d+)\. .*?```cypher\n(.*?)```", DOCS.read_text(), re.S | re.M)
Row = dict[str, Any]


@pytest.fixture
async def backend(graph_server: GraphServer) -> AsyncIterator[BoltBackend]:
    clear(graph_server.address)
    one = await BoltBackend.open(graph_server.address, MemoryLog(1, now_ms))
    yield one
    await one.close()


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    one = await SqliteBackend.open(tmp_path / "data")
    yield one
    await one.close()


async def run(backend: BoltBackend, statement: str, **values: Any) -> list[Row]:
    async def work(tx: Transaction) -> list[Row]:
        return [dict(row) for row in await tx.run(statement, **values)]

    return await backend.database.read(work)


# -- the same stream ---------------------------------------------------------------------------------------------------


async def test_graph_is_the_same_to_the_bit_in_neo4j_and_in_sqlite(
    backend: BoltBackend, embedded: SqliteBackend
) -> None:
    """One stream of real and of hostile documents, edits and deletions gives the same rows and the same digest."""
    documents = [*sample(), *hostile()]
    edited = [replace(one, text=f"{one.text} Ida Moreau visited Port Amsel.") for one in documents[:6]]
    gone = sorted({one.doc_id for one in documents[3:50:7]})
    writer = await write_to([backend.store, embedded.store], [*documents, *edited], gone)
    ours, theirs = await backend.store.snapshot(GRAPH), await embedded.store.snapshot(GRAPH)
    assert plain(ours) == plain(theirs)
    assert digest(ours) == digest(theirs), differences(ours, theirs)
    assert isinstance(ours.communities, Hierarchy)
    assert plain(replace(ours.communities, next_id=0)) == plain(replace(writer.hierarchy(), next_id=0))
    left = [pair async for pair in backend.store.extractions(GRAPH)]
    assert left == [pair async for pair in embedded.store.extractions(GRAPH)] and len(left) == len(
        {one.doc_id for one in documents}
    ) - len(gone)


DERIVED = {
    "HAS": "MATCH (a:Document)-[:HAS]->(b) RETURN a.doc_id AS a, b.number AS b",
    "NAMES": "MATCH (a:Label)-[:NAMES]->(b) RETURN a.number AS a, b.number AS b",
    "SUBJECT": "MATCH (a:Statement)-[:SUBJECT]->(b) RETURN a.number AS a, b.number AS b",
    "OBJECT": "MATCH (a:Statement)-[:OBJECT]->(b) RETURN a.number AS a, b.number AS b",
    "MEMBER_OF": "MATCH (a:Entity)-[:MEMBER_OF]->(b) RETURN a.number AS a, b.number AS b",
    "PART_OF": "MATCH (a:Community)-[:PART_OF]->(b) RETURN a.number AS a, b.number AS b",
}


def derived(rows: GraphDelta) -> dict[str, list[tuple[Any, int]]]:
    """Return the relationships that must be derived from the rows."""
    tree = rows.communities
    assert isinstance(tree, Hierarchy)
    return {
        "HAS": [(one.doc_id, chunk) for one in rows.documents for chunk in one.chunks],
        "NAMES": [(one.label, one.node) for one in rows.labels],
        "SUBJECT": [(one.statement, one.subject) for one in rows.statements],
        "OBJECT": [(one.statement, one.object) for one in rows.statements],
        "MEMBER_OF": [pair for pair in zip(tree.nodes.tolist(), tree.communities.tolist(), strict=True) if pair[1]],
        "PART_OF": [pair for pair in zip(tree.ids.tolist(), tree.parents.tolist(), strict=True) if pair[1]],
    }


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2))
async def test_derived_relationships_are_what_the_rows_say_after_every_commit(backend: BoltBackend, seed: int) -> None:
    """Documents are added, edited and deleted, labels merge and split, numbers are reused: each relationship exists
    once, at the right node, in the graph and in its rebuild.
    """
    print(f"seed {seed}")
    world = RandomWorld(Random(seed))
    held, kinds = await backend.store.claim(0), Counter[str]()
    for step in range(16):
        delta = world.step()
        await backend.store.commit(Commit(0, replace(held, next_offset=step), step + 1, (GraphCommit(delta, {}),), ()))
        rows = await backend.store.snapshot(delta.graph)
        if not isinstance(rows.communities, Hierarchy):
            continue
        for kind, pairs in derived(rows).items():
            found = [(row["a"], row["b"]) for row in await run(backend, DERIVED[kind])]
            assert sorted(found) == sorted(pairs), f"{kind} at version {delta.version}"
            kinds[kind] += len(pairs)
    assert set(kinds) == set(DERIVED) and all(kinds.values())
    await backend.store.replace(replace(rows, version=99))
    for kind, pairs in derived(rows).items():
        assert sorted((row["a"], row["b"]) for row in await run(backend, DERIVED[kind])) == sorted(pairs), kind


@pytest.mark.thorough
async def test_hostile_documents_change_nothing_but_their_own_rows(backend: BoltBackend) -> None:
    """Every name is read back unchanged; no label, type or property appears outside the layout."""
    await write_to([backend.store], sample())
    layout = "MATCH (n) UNWIND labels(n) AS label UNWIND keys(n) AS name RETURN DISTINCT label, name"
    types = "MATCH ()-[r]->() UNWIND keys(r) AS name RETURN DISTINCT type(r) AS type, name"
    before = [await run(backend, layout), await run(backend, types)]
    whole = digest(await backend.store.snapshot(GRAPH))
    other = [replace(one, graph="other") for one in hostile()]
    writer = await write_to([cast("GraphStore", _Renamed(backend))], other)
    after = [await run(backend, layout), await run(backend, types)]
    assert [sorted(map(str, one)) for one in before] == [sorted(map(str, one)) for one in after]
    assert digest(await backend.store.snapshot(GRAPH)) == whole
    rows = await backend.store.snapshot("other")
    assert {name for name in HOSTILE_NAMES if name.strip()} <= {row.info.title for row in rows.documents}
    assert rows.version == writer.version


class _Renamed:
    """The store for a writer of another graph on another partition."""

    def __init__(self, backend: BoltBackend) -> None:
        self._store = backend.store

    async def claim(self, _: int) -> Any:
        return await self._store.claim(1)

    async def commit(self, commit: Commit) -> None:
        parts = tuple(GraphCommit(replace(one.delta, graph="other"), one.standings) for one in commit.graphs)
        await self._store.commit(replace(commit, partition=1, graphs=parts))


# -- the queries of docs/cypher.md -------------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_queries_of_the_docs_show_what_they_say(backend: BoltBackend) -> None:
    """Each of the ten queries, on a real graph, returns what the rows contain."""
    await write_to([backend.store], sample())
    await backend.store.replace(replace(await backend.store.snapshot(GRAPH), version=99))  # two generations
    rows = await backend.store.snapshot(GRAPH)
    found = {number: await run(backend, text, graph=GRAPH, name=NAME) for number, text in QUERIES}
    assert sorted(found, key=int) == [str(number) for number in range(1, 11)]
    for number, expected in EXPECTED.items():
        print(number, found[number][:3])
        assert found[number] and found[number] == expected(rows), f"query {number}"


def _entity(rows: GraphDelta) -> dict[int, int]:
    return {row.label: row.node for row in rows.labels}


def _names(rows: GraphDelta) -> dict[int, str]:
    return {row.node: row.name for row in rows.entities}


def _node(rows: GraphDelta) -> int:
    [node] = [row.node for row in rows.entities if row.name == NAME]
    return node


def _documents(rows: GraphDelta) -> dict[int, Any]:
    return {chunk: row for row in rows.documents for chunk in row.chunks}


def _counts(rows: GraphDelta) -> list[Row]:
    assert isinstance(rows.communities, Hierarchy)
    kinds = {
        "Chunk": rows.chunks,
        "Community": rows.communities.ids,
        "Document": rows.documents,
        "Entity": rows.entities,
        "Label": rows.labels,
        "Statement": rows.statements,
    }
    return [{"version": rows.version, "kind": kind, "nodes": len(held)} for kind, held in kinds.items()]


def _busiest(rows: GraphDelta) -> list[Row]:
    degrees, weights = Counter[int](), Counter[int]()
    for row in rows.edges:
        for node in (row.u, row.v):
            degrees[node] += 1
            weights[node] += row.weight
    entities = {row.node: row for row in rows.entities}
    order = sorted(degrees, key=lambda node: (-degrees[node], -weights[node], entities[node].name))
    return [
        {
            "entity": entities[node].name,
            "type": entities[node].type,
            "neighbours": degrees[node],
            "weight": weights[node],
        }
        for node in order[:10]
    ]


def _neighbours(rows: GraphDelta) -> list[Row]:
    names, node = _names(rows), _node(rows)
    near = [
        {"neighbour": names[one.v if one.u == node else one.u], "weight": one.weight, "trussness": one.trussness}
        for one in rows.edges
        if node in (one.u, one.v)
    ]
    return sorted(near, key=lambda row: (-row["trussness"], -row["weight"], row["neighbour"]))


def _said(rows: GraphDelta) -> list[Row]:
    names, of = _names(rows), _entity(rows)
    said = [
        {"subject": NAME, "predicate": one.predicate, "object": names[of[one.object]], "said": one.count}
        for one in rows.statements
        if of[one.subject] == _node(rows)
    ]
    return sorted(said, key=lambda row: (-row["said"], row["predicate"], row["object"]))


def _sources(rows: GraphDelta) -> list[Row]:
    of, documents = _entity(rows), _documents(rows)
    mine = {one.statement: one for one in rows.statements if of[one.subject] == _node(rows)}
    chunks = {one.chunk: one.chunk_id for one in rows.chunks}
    found = [
        {
            "predicate": mine[one.statement].predicate,
            "sentence": one.sentence,
            "document": documents[one.chunk].doc_id,
            "chunk": chunks[one.chunk],
        }
        for one in rows.evidence
        if one.statement in mine
    ]
    return sorted(found, key=lambda row: (row["document"], row["chunk"], row["sentence"], row["predicate"]))


def _mentioning(rows: GraphDelta) -> list[Row]:
    of, documents = _entity(rows), _documents(rows)
    counts = Counter[str]()
    for one in rows.mentions:
        if of[one.label] == _node(rows):
            counts[documents[one.chunk].doc_id] += one.count
    titles = {row.doc_id: row.info.title for row in rows.documents}
    return [
        {"document": doc_id, "title": titles[doc_id], "mentions": counts[doc_id]}
        for doc_id in sorted(counts, key=lambda doc_id: (-counts[doc_id], doc_id))
    ]


def _merged(rows: GraphDelta) -> list[Row]:
    labels, names = {row.label: row for row in rows.labels}, _names(rows)
    merged = [
        {
            "entity": names[labels[same.a].node],
            "one": labels[same.a].name,
            "other": labels[same.b].name,
            "rule": same.rule,
            "score": same.score_milli / 1000,
        }
        for same in rows.same_as
        if labels[same.a].node == labels[same.b].node
    ]
    return sorted(merged, key=lambda row: (row["entity"], row["one"], row["other"]))


def _core(rows: GraphDelta) -> list[Row]:
    names, top = _names(rows), max(one.trussness for one in rows.edges)
    core = [
        {"one": names[one.u], "other": names[one.v], "weight": one.weight, "trussness": top}
        for one in rows.edges
        if one.trussness == top
    ]
    return sorted(core, key=lambda row: (row["one"], row["other"]))


def _largest(rows: GraphDelta) -> list[Row]:
    assert isinstance(rows.communities, Hierarchy)
    entities = {row.node: row for row in rows.entities}
    members = defaultdict(list)
    for node, community in zip(rows.communities.nodes.tolist(), rows.communities.communities.tolist(), strict=True):
        members[community].append(entities[node])
    found = [
        {
            "community": community,
            "entities": len(held),
            "among_them": [row.name for row in sorted(held, key=lambda row: (-row.mentions, row.name))][:5],
        }
        for community, held in members.items()
    ]
    return sorted(found, key=lambda row: (-row["entities"], row["community"]))[:10]


def _alike(rows: GraphDelta) -> list[Row]:
    of, documents = _entity(rows), _documents(rows)
    about = defaultdict(set)
    for one in rows.mentions:
        about[documents[one.chunk].doc_id].add(of[one.label])
    pairs = [
        {"one": one, "other": other, "shared": len(about[one] & about[other])}
        for one in about
        for other in about
        if one < other and about[one] & about[other]
    ]
    return sorted(pairs, key=lambda row: (-row["shared"], row["one"], row["other"]))[:10]


EXPECTED: dict[str, Callable[[GraphDelta], list[Row]]] = {
    "1": _counts,
    "2": _busiest,
    "3": _neighbours,
    "4": _said,
    "5": _sources,
    "6": _mentioning,
    "7": _merged,
    "8": _core,
    "9": _largest,
    "10": _alike,
}


# -- exports -----------------------------------------------------------------------------------------------------------


def settings_for(server: GraphServer) -> Settings:
    address = server.address
    return Settings(bolt=address.uri, bolt_user=address.user, bolt_password=address.password)  # type: ignore[arg-type]


def write_export(settings: Settings, form: str, file: Path, graph: str = GRAPH) -> Any:
    told: list[int] = []
    body = export(Export(graph, form, str(file)), settings, lambda _, total: (told.append(total), lambda _: None)[1])  # type: ignore[func-returns-value]
    assert told[0] > 0 and not file.with_name(f"{file.name}.part").exists()
    return body


@pytest.mark.parametrize("form", ["jsonl", "graphml", "cypher"])
async def test_export_is_the_same_from_the_graph_database_and_from_the_data_folder(
    form: str, backend: BoltBackend, embedded: SqliteBackend, graph_server: GraphServer, tmp_path: Path
) -> None:
    """The exports are equal except for the order of lines, hostile texts included, while both stores are in use."""
    await write_to([backend.store, embedded.store], [*sample(), *hostile()])
    ours, theirs = tmp_path / "bolt", tmp_path / "sqlite"
    said = write_export(settings_for(graph_server), form, ours)
    other = write_export(Settings(data=tmp_path / "data"), form, theirs)
    assert {**said, "file": ""} == {**other, "file": ""} and said["nodes"] > 100
    if form == "jsonl":
        read = [sorted(_line(text) for text in file.read_text().splitlines()) for file in (ours, theirs)]
        assert read[0] == read[1]
    elif form == "graphml":
        graphs = [nx.read_graphml(file, force_multigraph=True) for file in (ours, theirs)]
        assert graphs[0].number_of_nodes() == said["nodes"] and graphs[0].number_of_edges() == said["relationships"]
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
    held = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
    assert read == [held.sub("\ufffd", text) for text in texts]


def test_data_folder_stays_readable_while_it_is_exported(tmp_path: Path) -> None:
    """An export opens the data folder read-only, so it cannot change the service's file."""
    from graphtide.infra.sqlite.connection import open_reader

    sqlite3.connect(tmp_path / "x").execute("CREATE TABLE t (a)").connection.close()
    reader = open_reader(tmp_path / "x")
    with pytest.raises(sqlite3.OperationalError):
        reader.execute("INSERT INTO t VALUES (1)")
    reader.close()
