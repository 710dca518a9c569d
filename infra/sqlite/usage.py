"""The UsageLedger port on SQLite: one row per day and stage, one per document, and one per call in flight.

Invariant: the folder is locked, so the opening process is the only one. Entries that are open then belong to a dead
process; the real cost of their calls is unknown, and they are settled at their expected cost.
"""

# ruff: noqa: S608 -- the queries are made of names of this module, never of values

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.streams.errors import BudgetExceeded
from graphtide.streams.usage import Budget, Charge, ModelUsage, Stage, check_budget, for_document

_AMOUNTS = ("calls", "prompt_tokens", "completion_tokens", "cost_nano")
_COLUMNS = ", ".join(_AMOUNTS)
_SUMS = ", ".join(f"sum({name})" for name in _AMOUNTS)
_ADDED = ", ".join(f"{name} = {name} + excluded.{name}" for name in _AMOUNTS)
_TYPES = ", ".join(f"{name} INTEGER NOT NULL" for name in _AMOUNTS)
_TABLES = (
    f"spending (graph TEXT, day TEXT, stage TEXT, {_TYPES}, PRIMARY KEY (graph, day, stage)) WITHOUT ROWID",
    f"spending_documents (graph TEXT, doc_id TEXT, {_TYPES}, PRIMARY KEY (graph, doc_id)) WITHOUT ROWID",
    "spending_open (number INTEGER PRIMARY KEY AUTOINCREMENT, graph TEXT, day TEXT, stage TEXT, doc_id TEXT, "
    f"{_TYPES})",
)


class SqliteUsageLedger:
    """See `graphtide.streams.usage.UsageLedger`. Made by `open`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    @classmethod
    async def open(cls, database: SqliteDatabase) -> SqliteUsageLedger:
        """Create missing tables, and settle the open calls of a dead process."""
        await database.write(_prepare)
        return cls(database)

    async def reserve(self, charge: Charge, expected: ModelUsage, budget: Budget) -> int:
        """See UsageLedger.reserve. One durable write."""
        number = await self._database.write(lambda connection: _reserve(connection, charge, expected, budget))
        if isinstance(number, BudgetExceeded):  # raised inside the transaction, it would undo the writes beside it
            raise number
        return number

    async def settle(self, number: int, spent: ModelUsage) -> None:
        """See UsageLedger.settle. Completes even if the caller is cancelled meanwhile."""
        await self._database.write(lambda connection: _settle(connection, number, spent))

    async def day(self, graph: str, day: str) -> Mapping[Stage, ModelUsage]:
        """See UsageLedger.day."""
        both = (
            f"SELECT stage, {_COLUMNS} FROM spending WHERE graph = ?1 AND day = ?2 UNION ALL SELECT stage, {_COLUMNS}"
        )
        found = f"SELECT stage, {_SUMS} FROM ({both} FROM spending_open WHERE graph = ?1 AND day = ?2) GROUP BY stage"
        return await self._database.read(lambda connection: _by_stage(connection, found, (graph, day)))

    async def stages(self, graph: str) -> Mapping[Stage, ModelUsage]:
        """See UsageLedger.stages. Cost: the number of days with calls."""
        found = f"SELECT stage, {_SUMS} FROM spending WHERE graph = ? GROUP BY stage"
        return await self._database.read(lambda connection: _by_stage(connection, found, (graph,)))

    async def document(self, graph: str, doc_id: str) -> ModelUsage:
        """See UsageLedger.document."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                f"SELECT {_COLUMNS} FROM spending_documents WHERE graph = ? AND doc_id = ?",
                (graph, doc_id),
            ).fetchall()
        )
        return ModelUsage(*rows[0]) if rows else ModelUsage()


def extracted_so_far(path: Path) -> ModelUsage:
    """Return the cost of extraction in a data folder, over all graphs; zero without a ledger. Takes no lock."""
    if not path.exists():
        return ModelUsage()
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            rows = connection.execute(
                f"SELECT {_SUMS} FROM spending WHERE stage = ?", (Stage.EXTRACT.value,)
            ).fetchall()
        except sqlite3.OperationalError:  # a folder of an earlier version has no usage ledger
            return ModelUsage()
    return ModelUsage(*(amount or 0 for amount in rows[0]))


def _prepare(connection: sqlite3.Connection) -> None:
    for table in _TABLES:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table}")
    for number, *amounts in connection.execute(f"SELECT number, {_COLUMNS} FROM spending_open").fetchall():
        _settle(connection, number, ModelUsage(*amounts))


def _reserve(
    connection: sqlite3.Connection, charge: Charge, expected: ModelUsage, budget: Budget
) -> int | BudgetExceeded:
    if budget.tokens or budget.cost_nano:
        try:
            check_budget(charge, _figures(connection, charge), expected, budget)
        except BudgetExceeded as refusal:
            return refusal
    row = (charge.graph, charge.day, charge.stage.value, charge.doc_id, *_amounts(expected))
    found = connection.execute(
        f"INSERT INTO spending_open (graph, day, stage, doc_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )
    return int(found.lastrowid or 0)


def _figures(connection: sqlite3.Connection, charge: Charge) -> dict[str, Mapping[Stage, ModelUsage]]:
    tables = {"settled": "spending", "open": "spending_open"}
    where = "WHERE graph = ? AND day = ? GROUP BY stage"
    return {
        name: _by_stage(connection, f"SELECT stage, {_SUMS} FROM {table} {where}", (charge.graph, charge.day))
        for name, table in tables.items()
    }


def _settle(connection: sqlite3.Connection, number: int, spent: ModelUsage) -> None:
    gone = "DELETE FROM spending_open WHERE number = ? RETURNING graph, day, stage, doc_id"
    rows = connection.execute(gone, (number,)).fetchall()
    for graph, day, stage, doc_id in rows:
        _add(connection, "spending (graph, day, stage,", (graph, day, stage, *_amounts(spent)))
        if doc_id:
            _add(
                connection,
                "spending_documents (graph, doc_id,",
                (graph, doc_id, *_amounts(for_document(Stage(stage), spent))),
            )


def _add(connection: sqlite3.Connection, table: str, row: tuple[object, ...]) -> None:
    places = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} {_COLUMNS}) VALUES ({places}) ON CONFLICT DO UPDATE SET {_ADDED}", row)


def _amounts(spent: ModelUsage) -> tuple[int, int, int, int]:
    return spent.calls, spent.prompt_tokens, spent.completion_tokens, spent.cost_nano


def _by_stage(connection: sqlite3.Connection, query: str, values: tuple[object, ...]) -> dict[Stage, ModelUsage]:
    found = {Stage(stage): ModelUsage(*amounts) for stage, *amounts in connection.execute(query, values).fetchall()}
    return {stage: spent for stage, spent in found.items() if spent != ModelUsage()}
