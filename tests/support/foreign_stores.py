"""Stores in the formats of Microsoft GraphRAG and LightRAG, written from one description of passages and facts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import networkx
import pyarrow as pa
from pyarrow import parquet

SEPARATOR = "<SEP>"


@dataclass(frozen=True, slots=True)
class Fact:
    """A relation, or with an empty `target` an entity, of the passages of these numbers."""

    source: str
    target: str
    about: Sequence[str]
    passages: Sequence[int]
    kind: str = ""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Described:
    """The contents of a store: the texts of passages, all of one document, and what was extracted."""

    texts: Sequence[str]
    entities: Sequence[Fact]
    relations: Sequence[Fact]
    ids: Sequence[str] = field(default=())

    def passage_id(self, number: int) -> str:
        return self.ids[number] if self.ids else f"chunk-{number}"

    def ids_of(self, fact: Fact) -> list[str]:
        return [self.passage_id(number) for number in fact.passages]


SMALL = Described(
    (
        "Ana Ruiz signed the contract for the boiler with Kessel AG.",
        "Kessel AG delivered the boiler to Oslo.",
        "The third passage names no entity.",
    ),
    (
        Fact("Ana Ruiz", "", ("Ana Ruiz signs contracts.",), (0,), "person"),
        Fact("Kessel AG", "", ("Kessel AG sells boilers.", "Kessel AG delivers."), (0, 1), "organization"),
        Fact("Oslo", "", ("Oslo is a city.",), (1,), "geo"),
        Fact("Nowhere", "", ("Of no passage.",), (), "geo"),
    ),
    (
        Fact("Ana Ruiz", "Kessel AG", ("Ana Ruiz signed a contract with Kessel AG.",), (0,), "signed with", 2.0),
        Fact("Kessel AG", "Oslo", ("Kessel AG delivered to Oslo.",), (1,), "delivered to, logistics", 9.0),
    ),
)


def write_graphrag(folder: Path, described: Described, old_names: bool = False) -> Path:
    """Write the tables of GraphRAG 3, or of 0.3 with its names; return the folder."""
    prefix = "create_final_" if old_names else ""
    name, text, document = ("name", "text", "document_ids") if old_names else ("title", "text", "document_id")
    numbers = range(len(described.texts))
    tables: dict[str, dict[str, Sequence[Any]]] = {
        "documents": {"id": ["doc-1"], "title": ["deal.txt"], "raw_content" if old_names else "text": ["…"]},
        "text_units": {
            "id": [described.passage_id(number) for number in numbers],
            "human_readable_id": list(numbers),
            text: described.texts,
            document: [["doc-1"] if old_names else "doc-1" for _ in numbers],
        },
        "entities": {
            "id": [f"e{number}" for number in range(len(described.entities))],
            name: [each.source.upper() for each in described.entities],
            "type": [each.kind.upper() for each in described.entities],
            "description": [" ".join(each.about) for each in described.entities],
            "text_unit_ids": [described.ids_of(each) for each in described.entities],
        },
        "relationships": {
            "id": [f"r{number}" for number in range(len(described.relations))],
            "source": [each.source.upper() for each in described.relations],
            "target": [each.target.upper() for each in described.relations],
            "description": [" ".join(each.about) for each in described.relations],
            "weight": [each.weight for each in described.relations],
            "text_unit_ids": [described.ids_of(each) for each in described.relations],
        },
        "communities": {"id": ["c0"], "community": [0]},
    }
    folder.mkdir(parents=True, exist_ok=True)
    for table, columns in tables.items():
        parquet.write_table(pa.table(dict(columns)), folder / f"{prefix}{table}.parquet")
    return folder


def write_lightrag(folder: Path, described: Described) -> Path:
    """Write the stores of LightRAG's working folder; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    chunks = {
        described.passage_id(number): {
            "tokens": len(text.split()),
            "content": text,
            "full_doc_id": "doc-1",
            "chunk_order_index": number,
            "file_path": "deals/deal.txt",
        }
        for number, text in enumerate(described.texts)
    }
    (folder / "kv_store_text_chunks.json").write_text(json.dumps(chunks))
    (folder / "kv_store_full_docs.json").write_text(json.dumps({"doc-1": {"content": "…"}}))
    (folder / "vdb_entities.json").write_text("{}")
    graph = networkx.Graph()
    for each in described.entities:
        graph.add_node(each.source, entity_id=each.source, entity_type=each.kind, **_fields(described, each))
    for each in described.relations:
        fields = _fields(described, each) | {"keywords": each.kind.replace(", ", ","), "weight": each.weight}
        graph.add_edge(each.source, each.target, **fields)
    networkx.write_graphml(graph, folder / "graph_chunk_entity_relation.graphml")
    return folder


def _fields(described: Described, fact: Fact) -> dict[str, Any]:
    return {"description": SEPARATOR.join(fact.about), "source_id": SEPARATOR.join(described.ids_of(fact))}
