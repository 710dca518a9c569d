"""A graph as a file that other programs read: what is in it, the formats, and where the rows come from.

`bolt_source` is imported on its own: the embedded runtime needs no driver.
"""

from graphtide.infra.export.elements import EDGE_KINDS, NODE_KINDS, Edge, Node, edges, nodes
from graphtide.infra.export.formats import FORMATS, write
from graphtide.infra.export.sources import Source, SqliteSource

__all__ = ["EDGE_KINDS", "FORMATS", "NODE_KINDS", "Edge", "Node", "Source", "SqliteSource", "edges", "nodes", "write"]
