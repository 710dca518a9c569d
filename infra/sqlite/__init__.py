"""Storage of the embedded runtime in one SQLite file (WAL, synchronous=FULL), locked by one process."""

from graphtide.infra.sqlite.backend import SqliteBackend
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.graph_store.store import SqliteGraphStore
from graphtide.infra.sqlite.ledger import SqliteLedger
from graphtide.infra.sqlite.log import SqliteLog
from graphtide.infra.sqlite.memo import SqliteVectorStore
from graphtide.infra.sqlite.usage import SqliteUsageLedger

__all__ = [
    "SqliteBackend",
    "SqliteDatabase",
    "SqliteGraphStore",
    "SqliteLedger",
    "SqliteLog",
    "SqliteUsageLedger",
    "SqliteVectorStore",
]
