"""Graph store, ledger, shared memo and usage ledger of a cluster, on Neo4j or Memgraph over Bolt."""

import graphtide.infra.bolt.light_driver  # noqa: F401 -- before the modules that import the driver
from graphtide.infra.bolt.address import BoltAddress
from graphtide.infra.bolt.backend import BoltBackend
from graphtide.infra.bolt.graph_store.store import BoltStore
from graphtide.infra.bolt.ledger import BoltLedger
from graphtide.infra.bolt.memo import BoltVectorStore
from graphtide.infra.bolt.usage import BoltUsageLedger

__all__ = ["BoltAddress", "BoltBackend", "BoltLedger", "BoltStore", "BoltUsageLedger", "BoltVectorStore"]
