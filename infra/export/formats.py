"""Export formats: Cypher for Neo4j and Memgraph, GraphML for Gephi and networkx, JSON lines for other programs.

A file is written while rows arrive, nodes first, so memory stays bounded. Invariant: no text of the graph can end its
quotes; characters that XML cannot represent (most control characters, lone surrogates) are written as U+FFFD in
GraphML, and in no other format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import IO, Protocol, TypeVar
from xml.sax.saxutils import escape, quoteattr

from graphtide.infra.export.elements import BROKEN, LABELS, TEXTS, WHOLE, ExportEdge, ExportNode, Value

BATCH = 200
"""Elements per Cypher statement: few enough for a parser, enough for speed."""

_INDEX_MEMGRAPH = "CREATE INDEX ON :{label}(id)"
_INDEX_NEO4J = "CREATE INDEX export_{label} IF NOT EXISTS FOR (x:{label}) ON (x.id)"
_NODES = "UNWIND [{rows}] AS row CREATE (n:{label}) SET n = row"
_EDGES = (
    "UNWIND [{rows}] AS row MATCH (a:{start} {{id: row.start}}) MATCH (b:{end} {{id: row.end}})"
    " CREATE (a)-[r:{type}]->(b) SET r = row.own"
)


class ExportFormat(Protocol):
    """Writer of a file from its beginning to its end."""

    def begin(self) -> Iterator[str]: ...

    def nodes(self, found: Iterable[ExportNode]) -> Iterator[str]: ...

    def edges(self, found: Iterable[ExportEdge]) -> Iterator[str]: ...

    def end(self) -> Iterator[str]: ...


def write(format_: ExportFormat, file: IO[str], nodes: Iterable[ExportNode], edges: Iterable[ExportEdge]) -> None:
    """Write the nodes, then the relationships."""
    for pieces in (format_.begin(), format_.nodes(nodes), format_.edges(edges), format_.end()):
        file.writelines(pieces)


class JsonLinesFormat:
    """Writer of one JSON object per line, in the form of Neo4j's own JSON export."""

    def begin(self) -> Iterator[str]:
        yield from ()

    def nodes(self, found: Iterable[ExportNode]) -> Iterator[str]:
        for node in found:
            yield _json({"type": "node", "id": node.id, "labels": [node.label], "properties": node.properties})

    def edges(self, found: Iterable[ExportEdge]) -> Iterator[str]:
        for number, edge in enumerate(found):
            ends = {
                name: {"id": at, "labels": [label]} for name, (label, at) in (("start", edge.start), ("end", edge.end))
            }
            own = {"type": "relationship", "id": str(number), "label": edge.type, "properties": edge.properties}
            yield _json(own | ends)

    def end(self) -> Iterator[str]:
        yield from ()


class GraphMl:
    """Writer of GraphML 1.0 with every property declared; tools expect the names `labels` of nodes and `label` of
    edges.
    """

    def begin(self) -> Iterator[str]:
        yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        kinds = ((TEXTS | {"labels", "label"}, "string"), (WHOLE, "long"), (BROKEN, "double"))
        for names, kind in kinds:
            for name in sorted(names):
                yield f'<key id="{name}" for="all" attr.name="{name}" attr.type="{kind}"/>\n'
        yield '<graph id="G" edgedefault="directed">\n'

    def nodes(self, found: Iterable[ExportNode]) -> Iterator[str]:
        for node in found:
            data = _data({"labels": f":{node.label}", **node.properties})
            yield f"<node id={_attribute(node.id)}>{data}</node>\n"

    def edges(self, found: Iterable[ExportEdge]) -> Iterator[str]:
        for number, edge in enumerate(found):
            ends = f"source={_attribute(edge.start[1])} target={_attribute(edge.end[1])}"
            yield f'<edge id="e{number}" {ends}>{_data({"label": edge.type, **edge.properties})}</edge>\n'

    def end(self) -> Iterator[str]:
        yield "</graph>\n</graphml>\n"


class Cypher:
    """Writer of statements that create the graph in an empty database, for cypher-shell or mgconsole."""

    def begin(self) -> Iterator[str]:
        yield "// For Neo4j. For Memgraph, use each line that begins with //! instead of the line after it.\n"
        for label in LABELS:
            yield f"//! {_INDEX_MEMGRAPH.format(label=label)};\n"
            yield f"{_INDEX_NEO4J.format(label=label)};\n"

    def nodes(self, found: Iterable[ExportNode]) -> Iterator[str]:
        for label, batch in _batches(found, lambda node: node.label):
            rows = ", ".join(_map({"id": node.id, **node.properties}) for node in batch)
            yield f"{_NODES.format(rows=rows, label=label)};\n"

    def edges(self, found: Iterable[ExportEdge]) -> Iterator[str]:
        for (type_, start, end), batch in _batches(found, lambda edge: (edge.type, edge.start[0], edge.end[0])):
            rows = ", ".join(
                f"{{start: {_text(edge.start[1])}, end: {_text(edge.end[1])}, own: {_map(edge.properties)}}}"
                for edge in batch
            )
            yield f"{_EDGES.format(rows=rows, type=type_, start=start, end=end)};\n"

    def end(self) -> Iterator[str]:
        yield from ()


FORMATS: dict[str, type[JsonLinesFormat] | type[GraphMl] | type[Cypher]] = {
    "cypher": Cypher,
    "graphml": GraphMl,
    "jsonl": JsonLinesFormat,
}

_Element = TypeVar("_Element", ExportNode, ExportEdge)
_Kind = TypeVar("_Kind")

# Characters outside the production Char of XML 1.0 (section 2.2). Line ends are written as references, since a reader
# would normalize them.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LINE_ENDS = {"\r": "&#13;"}


def _batches(
    found: Iterable[_Element], kind: Callable[[_Element], _Kind]
) -> Iterator[tuple[_Kind, Sequence[_Element]]]:
    """Yield elements of one kind, at most BATCH at a time. Kinds may alternate: a few batches are open at once."""
    open_: dict[_Kind, list[_Element]] = {}
    rest = iter(found)
    while portion := list(islice(rest, BATCH)):
        for element in portion:
            batch = open_.setdefault(kind(element), [])
            batch.append(element)
            if len(batch) == BATCH:
                yield kind(element), open_.pop(kind(element))
    yield from open_.items()


def _json(value: object) -> str:
    return json.dumps(value) + "\n"


def _map(properties: dict[str, Value]) -> str:
    return f"{{{', '.join(f'{name}: {_literal(value)}' for name, value in properties.items())}}}"


def _literal(value: Value) -> str:
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    """Return a literal, quoted as JSON: Cypher has the same escapes."""
    return json.dumps(value, ensure_ascii=False)


def _data(properties: dict[str, Value]) -> str:
    return "".join(f'<data key="{name}">{_xml(str(value))}</data>' for name, value in properties.items())


def _xml(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text), _LINE_ENDS)


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", text))
