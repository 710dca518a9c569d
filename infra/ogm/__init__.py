"""Classes of gqlalchemy's object-graph mapper for a stored graph, for the queries of its users.

    nodes.py           a class for each kind of node
    relationships.py   a class for each type of relationship
    reader.py          a connection that returns them, and cannot write

The properties are those that `infra/bolt/cypher` writes. Graphtide itself does not use these classes.
"""

from graphtide.infra.ogm.nodes import Chunk, Community, Document, Entity, Graph, Label, Report, Statement
from graphtide.infra.ogm.reader import GraphReader
from graphtide.infra.ogm.relationships import (
    About,
    Has,
    MemberOf,
    Mentions,
    Names,
    Object,
    PartOf,
    Relates,
    SameAs,
    Subject,
    Supports,
)

__all__ = [
    "About",
    "Chunk",
    "Community",
    "Document",
    "Entity",
    "Graph",
    "GraphReader",
    "Has",
    "Label",
    "MemberOf",
    "Mentions",
    "Names",
    "Object",
    "PartOf",
    "Relates",
    "Report",
    "SameAs",
    "Statement",
    "Subject",
    "Supports",
]
