"""Backup and restore of a graph database: every node and relationship, at one cut through all partitions.

The locks of the watermarks and heads make the cut: no commit happens while a backup reads, so rows, stored documents,
reports, ledger and watermark of every graph have the same state. Consolidators wait, and continue when the backup ends.
Memoised model answers are left out; at worst they are paid for again.

A restored database is older than the log, and the consolidators continue from its watermarks. The database is marked
until it is complete and its digests equal those of the backup; a process refuses a marked database.

Invariant: a backup folder is complete or absent; a process only opens a database whose restore has finished.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from graphtide.graph.digest import digest, has_digest
from graphtide.infra.backup_folder import (
    BackupManifest,
    GraphState,
    Progress,
    check_files,
    read_manifest,
    seal,
    silent,
    writing,
)
from graphtide.infra.bolt.address import BoltAddress
from graphtide.infra.bolt.administration.schema import SCHEMA_VERSION, execute, prepare, stored_schema
from graphtide.infra.bolt.codec import key
from graphtide.infra.bolt.cypher import backup as backup_cypher
from graphtide.infra.bolt.cypher import graphs as graph_cypher
from graphtide.infra.bolt.cypher import schema as schema_cypher
from graphtide.infra.bolt.database import BlockingTransaction, BoltDatabase
from graphtide.infra.bolt.graph_store import snapshot
from graphtide.streams.errors import Broken

KIND = "graph database"
NODES, TIES = "nodes.jsonl.gz", "relationships.jsonl.gz"
PORTION = 1_000
CLEAR_BATCH_SIZE = 5_000
KEPT_MEMOS = "cluster"
"""The memo table that names the cluster's embedding model."""
COMPRESSION = 3


@dataclass(frozen=True, slots=True)
class _Cut:
    graphs: dict[str, GraphState]
    watermarks: dict[str, int]


async def backup(address: BoltAddress, target: Path, on_progress: Progress = silent) -> BackupManifest:
    """Write a backup of the database to `target`, which does not exist or is empty. Commits wait meanwhile.

    Raises Broken, and Retryable when the database is unreachable. Cost: all data is read twice, for files and digests.
    """
    database = await BoltDatabase.connect(address)
    try:
        schema = await asyncio.to_thread(stored_schema, address)
        if schema != SCHEMA_VERSION:
            raise Broken(
                f"the graph database has schema {schema}, and this version backs up schema {SCHEMA_VERSION}:"
                " run graphtide migrate first, or back up with the version that wrote it"
            )
        with writing(target) as beside:
            cut = await database.read_in_thread(lambda tx: _write(tx, beside, on_progress))
            return seal(beside, KIND, schema, cut.graphs, cut.watermarks)
    finally:
        await database.close()


async def restore(
    address: BoltAddress, source: Path, *, force: bool = False, on_progress: Progress = silent
) -> BackupManifest:
    """Write the backup `source` to the database, which must be empty unless `force` clears it.

    Raises Broken for a damaged backup, a database that holds data, and digests other than the backup's. The
    cluster's processes must not be running.
    """
    manifest = read_manifest(source, KIND, SCHEMA_VERSION)
    check_files(source, manifest, on_progress)
    database = await BoltDatabase.connect(address)
    try:
        [row] = await database.ask(backup_cypher.any_node())
        if row["found"] and not force:
            raise Broken(f"the graph database {address.shown} holds data: restore into another one, or use --force")
        await database.ask(schema_cypher.BEGIN_RESTORE)
        while (await database.ask(backup_cypher.clear_all(), limit=CLEAR_BATCH_SIZE))[0]["found"]:
            continue
        await _fill(database, source, on_progress)
        await _check(database, manifest)
        await database.ask(schema_cypher.END_RESTORE, version=0, history=uuid4().hex)
        await asyncio.to_thread(prepare, address, database.dialect)
    finally:
        await database.close()
    return manifest


def _write(tx: BlockingTransaction, folder: Path, on_progress: Progress) -> _Cut:
    """Read in one transaction: 1 lock all commits, 2 digests, 3 files. An interrupted run starts again from 1."""
    watermarks, heads = backup_cypher.hold_all()  # 1
    marks = {str(row["partition"]): int(row["next_offset"]) for row in tx.run(watermarks)}
    names = [row["name"] for row in tx.run(heads)]
    graphs: dict[str, GraphState] = {}
    for number, name in enumerate(names):  # 2
        on_progress("graphs digested", number, len(names))
        [head] = tx.run(graph_cypher.READ_HEAD, graph=name)
        if head["version"]:
            rows = snapshot.read(tx, head["scope"], name, head["version"], head["next_community"])
            graphs[name] = GraphState(rows.version, digest(rows))
    seen: set[int] = set()
    with _file(folder / NODES, "wt") as file:  # 3
        for number, (id_, labels, properties) in enumerate(
            tx.stream(backup_cypher.every_node(), kept=key(KEPT_MEMOS, ""))
        ):
            on_progress("nodes", number, 0)
            seen.add(id_)
            file.write(json.dumps([id_, labels, properties]) + "\n")
    with _file(folder / TIES, "wt") as file:
        for number, (a, b, type_, properties) in enumerate(tx.stream(backup_cypher.every_relationship())):
            on_progress("relationships", number, 0)
            if a in seen and b in seen:  # ledger and usage ledger may grow meanwhile, without relationships
                file.write(json.dumps([a, b, type_, properties]) + "\n")
    return _Cut(graphs, marks)


async def _fill(database: BoltDatabase, source: Path, on_progress: Progress) -> None:
    await asyncio.to_thread(execute, database.address, backup_cypher.restored_index(database.dialect, drop=False))
    done = 0
    for label, rows in _portions(source / NODES, 1):
        made = [{"id": id_, "properties": properties} for id_, _, properties in rows]
        await database.ask(backup_cypher.restore_nodes(_known(label[0])), rows=made)
        on_progress("nodes", done := done + len(rows), 0)
    done = 0
    for type_, rows in _portions(source / TIES, 2):
        ties = [{"a": a, "b": b, "properties": properties} for a, b, _, properties in rows]
        [found] = await database.ask(backup_cypher.restore_relationships(_known(type_)), rows=ties)
        if found["made"] != len(ties):
            raise Broken(f"{source / TIES} ties nodes that {NODES} does not hold: use another backup")
        on_progress("relationships", done := done + len(rows), 0)
    while (await database.ask(backup_cypher.end_restore(), limit=CLEAR_BATCH_SIZE))[0]["found"]:
        continue
    await asyncio.to_thread(execute, database.address, backup_cypher.restored_index(database.dialect, drop=True))


async def _check(database: BoltDatabase, manifest: BackupManifest) -> None:
    def compare(tx: BlockingTransaction) -> None:
        for name, state in manifest.graphs.items():
            [head] = tx.run(graph_cypher.READ_HEAD, graph=name)
            rows = snapshot.read(tx, head["scope"], name, head["version"], head["next_community"])
            if rows.version != state.version or not has_digest(rows, state.digest):
                raise Broken(f"graph {name!r} differs from the backup after the restore: use another backup")

    await database.read_in_thread(compare)


def _portions(path: Path, column: int) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the rows of a file, at most PORTION with equal values in a column at a time. Memory: one portion
    per value.
    """
    by_key: dict[str, list[Any]] = defaultdict(list)
    with _file(path, "rt") as file:
        for line in file:
            row = json.loads(line)
            some = by_key[json.dumps(row[column])]
            some.append(row)
            if len(some) == PORTION:
                yield row[column], some
                some.clear()
    for some in by_key.values():
        if some:
            yield some[0][column], some


def _known(name: Any) -> str:
    """Check that a label or type is a plain word, and so safe in a statement."""
    if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
        raise Broken(f"the backup names {str(name)[:40]!r}, an unknown label or type: use another backup")
    return name


def _file(path: Path, mode: str) -> IO[str]:
    if mode == "wt":
        path.touch(0o600)
        return gzip.open(path, "wt", COMPRESSION, encoding="utf-8")
    return gzip.open(path, "rt", encoding="utf-8")
