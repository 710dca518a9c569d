"""Queries of the graph database in tests."""

from __future__ import annotations

from typing import Any

from graphtide.infra.bolt import BoltBackend
from graphtide.infra.bolt.database import Transaction

Row = dict[str, Any]


async def run(backend: BoltBackend, statement: str, **values: Any) -> list[Row]:
    async def work(tx: Transaction) -> list[Row]:
        return [dict(row) for row in await tx.run(statement, **values)]

    return await backend.database.read(work)
