"""The graph store, the ledger, the shared memo and the books of a cluster, on Neo4j or Memgraph over Bolt."""

from infra.bolt.address import BoltAddress
from infra.bolt.backend import BoltBackend
from infra.bolt.ledger import BoltLedger
from infra.bolt.memo import BoltVectorStore
from infra.bolt.spending import BoltSpending
from infra.bolt.store import BoltStore

__all__ = ["BoltAddress", "BoltBackend", "BoltLedger", "BoltSpending", "BoltStore", "BoltVectorStore"]
