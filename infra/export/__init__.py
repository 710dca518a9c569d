"""Export of a graph to a file for other programs: elements, formats and row sources.

`bolt_source` is imported separately: the embedded runtime needs no driver.
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
