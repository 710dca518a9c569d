"""Deletion of a graph: its head leaves its rows at once, and what is keyed by the graph's name is deleted in portions.

Invariant: the graph gets no new version before it is erased, so no document, verdict or report that is found under its
name belongs to a later one; of revisions, their position decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from graphtide.infra.bolt.codec import key, scope
from graphtide.infra.bolt.cypher import graphs as cypher
from graphtide.infra.bolt.database import Row, Transaction
from graphtide.infra.bolt.graph_store import generations as heads
from graphtide.infra.models.cache.keys import scope_of
from graphtide.streams.checks import check_next
from graphtide.streams.ports import Commit, GraphCommit, GraphDeletion

MEMO_TABLES = ("embeddings", "extractions", "reports")


async def delete_graph(tx: Transaction, commit: Commit, part: GraphCommit, deletion: GraphDeletion) -> None:
    """End the graph within the transaction of a commit. Its rows are deleted by the sweep of dead scopes."""
    graph = deletion.graph
    head = await heads.lock_head(tx, graph)
    await heads.bind(tx, graph, commit)
    check_next(part.delta, head.version)
    await tx.run(cypher.LEAVE_SCOPE, scope=head.scope, graph=graph)
    generation = head.generations + 1
    values = {"scope": scope(graph, generation), "generation": generation, "version": deletion.version}
    await tx.run(cypher.DELETE_GRAPH, graph=graph, before=as_list(deletion), **values)


async def erase(tx: Transaction, deletion: GraphDeletion, limit: int) -> int:
    """Delete at most `limit` nodes of each kind; return their number."""
    graph = deletion.graph
    erased = 0
    for statement in (cypher.ERASE_STANDINGS, cypher.ERASE_QUESTIONS, cypher.ERASE_QUESTION_EVENTS):
        erased += await _gone(tx, statement, prefix=key(graph, ""), limit=limit)
    for statement in (cypher.ERASE_VERDICTS, cypher.ERASE_REPORTS):
        erased += await _gone(tx, statement, graph=graph, limit=limit)
    erased += await _erase_revisions(tx, deletion, limit)
    for prefix in memo_prefixes(graph):
        erased += await _gone(tx, cypher.ERASE_MEMOS, prefix=prefix, limit=limit)
    if not erased:
        await tx.run(cypher.NOTE_ERASED, graph=graph)
    return erased


def read(row: Row) -> GraphDeletion:
    """Return the deletion in a row of the heads."""
    return GraphDeletion(row["name"], dict(enumerate(row["before"])), row["version"], bool(row["erased"]))


def covers(before: Sequence[int] | None, partition: int, offset: int) -> bool:
    """Return True if a deletion with these offsets, by partition, covers the position."""
    return before is not None and partition < len(before) and offset < before[partition]


def as_list(deletion: GraphDeletion) -> list[int]:
    """Return the offsets in the order of the partitions: a property holds no map."""
    return [deletion.before.get(partition, 0) for partition in range(max(deletion.before, default=-1) + 1)]


def memo_prefixes(graph: str) -> list[str]:
    """Return the beginnings of the keys of the graph's memoised answers, one for each table."""
    return [key(table, scope_of(graph).hex()) for table in MEMO_TABLES]


async def _gone(tx: Transaction, statement: str, **values: object) -> int:
    [row] = await tx.run(statement, **values)
    return int(row["gone"])


async def _erase_revisions(tx: Transaction, deletion: GraphDeletion, limit: int) -> int:
    """Delete revisions, their share of the totals, and the costs of their documents."""
    graph = deletion.graph
    found = await tx.run(cypher.COVERED_REVISIONS, prefix=key(graph, ""), before=as_list(deletion), limit=limit)
    await tx.each_key(cypher.ERASE_REVISIONS, [row["place"] for row in found])
    await tx.each_key(cypher.ERASE_SPENDING, sorted({row["document"] for row in found}))
    states = Counter(str(row["state"]) for row in found)
    await tx.each(cypher.LOWER_TOTALS, [{"key": key(graph, state), "erased": n} for state, n in sorted(states.items())])
    return len(found)
