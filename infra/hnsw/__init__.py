"""VectorIndex over hnswlib: index (threads, policy), generation (one graph), rebuild, snapshot (files)."""

from graphtide.infra.hnsw.index import HnswIndex
from graphtide.infra.hnsw.parameters import HnswParameters
from graphtide.infra.hnsw.snapshot import IndexDamaged, IndexNotSaved

__all__ = ["HnswIndex", "HnswParameters", "IndexDamaged", "IndexNotSaved"]
