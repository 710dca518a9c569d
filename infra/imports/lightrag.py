"""The working folder of LightRAG: JSON stores of chunks and documents, and GraphML of entities and relations.

XML with entities or a document type is refused: a few lines of it can expand to gigabytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graphtide.graph.text.storable import storable
from graphtide.infra.imports.types import (
    ImportedPassage,
    ImportLosses,
    PassageContents,
    StatedEntity,
    StatedRelation,
    UnreadableStoreError,
)

MARK = "kv_store_text_chunks.json"
_DOCUMENTS = "kv_store_full_docs.json"
_GRAPH = "graph_chunk_entity_relation.graphml"
_SEPARATOR = "<SEP>"
_UNKNOWN = frozenset({"", "unknown", "unknown_source", "no-file-path"})
_NAMESPACE = "{http://graphml.graphdrawing.org/xmlns}"
_DERIVED = ("vdb_entities.json", "vdb_relationships.json", "vdb_chunks.json")


def is_store(folder: Path) -> bool:
    """Return True if the folder contains LightRAG's stores."""
    return (folder / MARK).is_file()


def open_folder(folder: Path) -> LightRagStore:
    """Return the store in the folder. Raises UnreadableStoreError, and ImportError without defusedxml."""
    return LightRagStore(folder)


class LightRagStore:
    """The stores of one working folder, in memory."""

    format = "LightRAG"

    def __init__(self, folder: Path) -> None:
        self.losses = ImportLosses()
        self._chunks = _load(folder / MARK)
        self._documents = _load(folder / _DOCUMENTS) if (folder / _DOCUMENTS).is_file() else {}
        self._contents = PassageContents(self._chunks, self.losses)
        self._read_graph(folder)
        for name in _DERIVED:
            if (folder / name).is_file():
                self.losses.add(f"{name}: vectors are computed anew")

    def count(self) -> int:
        return len(self._chunks)

    def passages(self) -> Iterator[ImportedPassage]:
        for chunk_id, chunk in sorted(self._chunks.items(), key=_order):
            text = storable(_text(chunk, "content"))
            if not text.strip():
                self.losses.add("chunks without text")
                continue
            document = _text(chunk, "full_doc_id")
            record = self._documents.get(document)
            path = _text(chunk, "file_path") or (_text(record, "file_path") if record else "")
            source = "" if path in _UNKNOWN else storable(path)
            number = chunk.get("chunk_order_index")
            number = number if isinstance(number, int) else None
            title = Path(source).name
            yield ImportedPassage(chunk_id, text, document, title, source, number, *self._contents.of(chunk_id))

    def _read_graph(self, folder: Path) -> None:
        path = folder / _GRAPH
        if not path.is_file():
            raise UnreadableStoreError(
                f"{folder} lacks {_GRAPH}; LightRAG keeps the graph elsewhere (such as in Neo4j): export it to GraphML"
            )
        entities = _passage_lists(folder / "kv_store_entity_chunks.json")
        relations = _passage_lists(folder / "kv_store_relation_chunks.json")
        for ends, fields in _elements(path):
            stated = _parts(fields.get("source_id", ""))
            if len(ends) == 1:
                passages = entities.get(ends[0], stated)
                kind = "" if fields.get("entity_type", "") == "UNKNOWN" else fields.get("entity_type", "")
                name = _unquoted(fields.get("entity_id") or ends[0])
                self._contents.add_entity(
                    StatedEntity(name, _unquoted(kind), _parts(fields.get("description", "")), passages)
                )
                continue
            passages = relations.get(_SEPARATOR.join(sorted(ends)), stated)
            predicate = ", ".join(part for each in _parts(fields.get("keywords", "")) for part in _split(each))
            self._contents.add_relation(
                StatedRelation(
                    _unquoted(ends[0]), predicate, _unquoted(ends[1]), _parts(fields.get("description", "")),
                    _weight(fields.get("weight", "")), passages,
                )
            )  # fmt: skip


def _elements(path: Path) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Yield the ids of each node (one) and edge (two) with its fields, while the file is read."""
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import iterparse

    names: dict[str, str] = {}
    try:
        for _, element in iterparse(str(path), events=("end",), forbid_dtd=True):
            tag = element.tag.removeprefix(_NAMESPACE)
            if tag == "key":
                names[element.get("id", "")] = element.get("attr.name", "")
            if tag not in ("node", "edge"):
                continue
            ends = (element.get("id", ""),) if tag == "node" else (element.get("source", ""), element.get("target", ""))
            yield ends, {names.get(data.get("key", ""), ""): data.text or "" for data in element}
            element.clear()
    except DefusedXmlException as error:
        raise UnreadableStoreError(
            f"{path} declares XML entities, which can expand without bound; remove them"
        ) from error
    except ParseError as error:
        raise UnreadableStoreError(f"{path} is damaged or incomplete ({error}); copy it again") from error


def _load(path: Path) -> dict[str, dict[str, Any]]:
    """Return a JSON store: objects by id. Raises UnreadableStoreError."""
    try:
        body = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        reason = f"{path} is damaged or incomplete ({str(error)[:200]}); copy it again after LightRAG has ended"
        raise UnreadableStoreError(reason) from error
    if not isinstance(body, dict) or not all(isinstance(each, dict) for each in body.values()):
        raise UnreadableStoreError(f"{path} is not a store of LightRAG: it must be an object of objects")
    return body


def _passage_lists(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the complete lists of chunks by entity or relation, which newer versions keep beside the graph."""
    if not path.is_file():
        return {}
    lists = {key: each.get("chunk_ids") for key, each in _load(path).items()}
    return {key: tuple(map(str, each)) for key, each in lists.items() if isinstance(each, list) and each}


def _order(item: tuple[str, Mapping[str, Any]]) -> tuple[str, int, str]:
    number = item[1].get("chunk_order_index")
    return _text(item[1], "full_doc_id"), number if isinstance(number, int) else 0, item[0]


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part for each in text.split(_SEPARATOR) if (part := _unquoted(each.strip())))


def _split(keywords: str) -> list[str]:
    return [part.strip() for part in keywords.split(",") if part.strip()]


def _unquoted(text: str) -> str:
    """Return the text without the quotation marks that early versions kept around names and descriptions."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        return 1.0
    return weight if 0 < weight < float("inf") else 1.0
