"""The queries of docs/cypher.md, run in the graph database."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphtide.graph.communities import Hierarchy
from graphtide.graph.records import GraphDelta
from graphtide.infra.bolt import BoltBackend
from tests.support.bolt_queries import Row, run
from tests.support.commits import GRAPH, sample, write_to

DOCS = Path(__file__).parents[3] / "docs" / "cypher.md"
NAME = "Kittiwake Station"
QUERIES = re.findall(r"^## (\d+)\. .*?```cypher\n(.*?)```", DOCS.read_text(), re.S | re.M)


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
    return [{"version": rows.version, "kind": kind, "nodes": len(members)} for kind, members in kinds.items()]


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


def _stated_rows(rows: GraphDelta) -> list[Row]:
    names, of = _names(rows), _entity(rows)
    rows_stated = [
        {"subject": NAME, "predicate": one.predicate, "object": names[of[one.object]], "said": one.count}
        for one in rows.statements
        if of[one.subject] == _node(rows)
    ]
    return sorted(rows_stated, key=lambda row: (-row["said"], row["predicate"], row["object"]))


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
            "entities": len(rows_of),
            "among_them": [row.name for row in sorted(rows_of, key=lambda row: (-row.mentions, row.name))][:5],
        }
        for community, rows_of in members.items()
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
    "4": _stated_rows,
    "5": _sources,
    "6": _mentioning,
    "7": _merged,
    "8": _core,
    "9": _largest,
    "10": _alike,
}
