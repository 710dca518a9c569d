"""Graphs of real documents in the graph database: the same as in SQLite, and explorable."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any, cast

import pytest

from graphtide.graph.communities import Hierarchy
from graphtide.graph.digest import differences, digest
from graphtide.graph.records import GraphDelta
from graphtide.infra.bolt import BoltBackend
from graphtide.infra.sqlite import SqliteBackend
from graphtide.streams.ports import Commit, GraphCommit, GraphStore
from tests.support.bolt_queries import run
from tests.support.commits import GRAPH, HOSTILE_NAMES, hostile, sample, write_to
from tests.support.records import plain
from tests.support.worlds import RandomWorld


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
    watermark, kinds = await backend.store.claim(0), Counter[str]()
    for step in range(16):
        delta = world.step()
        await backend.store.commit(
            Commit(0, replace(watermark, next_offset=step), step + 1, (GraphCommit(delta, {}),), ())
        )
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
