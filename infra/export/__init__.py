"""A graph as a file that other programs read: what is in it, the formats, and where the rows come from.

`bolt_source` is imported on its own: the embedded runtime needs no driver.
"""

from graphtide.infra.export.elements import EDGE_KINDS, NODE_KINDS, ExportEdge, ExportNode, edges, nodes
from graphtide.infra.export.formats import FORMATS, write
from graphtide.infra.export.sources import ExportSource, SqliteSource

__all__ = [
    "EDGE_KINDS",
    "FORMATS",
    "NODE_KINDS",
    "ExportEdge",
    "ExportNode",
    "ExportSource",
    "SqliteSource",
    "edges",
    "nodes",
    "write",
]
