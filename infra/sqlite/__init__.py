"""Everything the embedded runtime keeps, in one SQLite file (WAL, synchronous=FULL) that one process holds."""

from infra.sqlite.backend import SqliteBackend
from infra.sqlite.database import Database
from infra.sqlite.ledger import SqliteLedger
from infra.sqlite.log import SqliteLog
from infra.sqlite.memo import SqliteVectorStore
from infra.sqlite.spending import SqliteSpending
from infra.sqlite.store import SqliteGraphStore

__all__ = [
    "Database",
    "SqliteBackend",
    "SqliteGraphStore",
    "SqliteLedger",
    "SqliteLog",
    "SqliteSpending",
    "SqliteVectorStore",
]
