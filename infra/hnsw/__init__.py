"""VectorIndex over hnswlib: index (threads, policy), generation (one graph), rebuild, snapshot (files)."""

from infra.hnsw.index import HnswIndex
from infra.hnsw.parameters import HnswParameters
from infra.hnsw.snapshot import IndexDamaged, IndexNotSaved

__all__ = ["HnswIndex", "HnswParameters", "IndexDamaged", "IndexNotSaved"]
