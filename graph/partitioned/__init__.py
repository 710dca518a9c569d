"""One graph in several processes: a prototype that answers questions from shards. Nothing in the services uses it.

    shards.py     the share of one process: its rows and its indexes, and the requests it serves
    gathering.py  tables that read rows from their shards, in rounds
    view.py       a view over shards, which every mode of retrieval reads as it reads a whole one

The path of a question: each shard searches its indexes; the coordinator merges the hits, walks, and reads the rows that
the mode asks for. docs/scaling.md ("One graph in several processes") has the design and what it measures.
"""

from graphtide.graph.partitioned.gathering import ShardTransport, Traffic
from graphtide.graph.partitioned.shards import Read, ReadReply, Request, Search, SearchReply, Shard, divide
from graphtide.graph.partitioned.view import LocalShards, PartitionedView, retrieve_partitioned

__all__ = [
    "LocalShards",
    "PartitionedView",
    "Read",
    "ReadReply",
    "Request",
    "Search",
    "SearchReply",
    "Shard",
    "ShardTransport",
    "Traffic",
    "divide",
    "retrieve_partitioned",
]
