"""Real documents as a writer's commits: the result of the stages with the models that need no endpoint."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from importlib.resources import files

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange, DocumentInfo, Extraction
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.messages import DocumentMessage, ExtractionMessage, GivenEntity, GivenFact
from graphtide.streams.ports import Commit, GraphCommit, GraphStore, StoredDocument
from tests.support.bench_data import Passage
from tests.support.hostile import ATTEMPTS

GRAPH = "demo"


def sample() -> list[DocumentMessage]:
    """Return the documents of the bundled sample, including edits of some of them."""
    lines = files("graphtide.services.demo.sample").joinpath("documents.jsonl").read_text().splitlines()
    found = []
    for row in map(json.loads, lines):
        if "text" not in row:  # a deletion
            continue
        info = DocumentInfo(row.get("title", ""), row.get("source", ""), row.get("occurred_at", ""))
        found.append(DocumentMessage(GRAPH, row["id"], row["text"], info))
    return found


def brought(passage: Passage) -> DocumentMessage:
    """Return a passage of a corpus with its recorded extraction."""
    entities = tuple(GivenEntity(name) for name in passage.entities)
    facts = tuple(GivenFact(*triple) for triple in passage.triples)
    return DocumentMessage(GRAPH, passage.doc_id, passage.text, DocumentInfo(passage.title), entities, facts)


HOSTILE_NAMES = (
    "'}) MATCH (n) DETACH DELETE n //",
    '"}) MATCH (n) DETACH DELETE n //',
    "`) DELETE n //",
    "$rows",
    "{key: row.key}",
    "Entity) SET n:Admin //",
    "\\",
    "\\' \\\" \\u0027 \\\\u0022",
    "\\u0022}) MATCH (n) DETACH DELETE n //",
    "]]></data><edge/><!--",
    "<script>&amp;&lt;",
    "line\nbreak\r\ntab\t",
    "nul \0 and \x1f",
    "\u202eright to left\u202c \u200bzero",
    "e\u0301 é 🜁 \ufffe",
    "RELATES {weight: 1}]->() //",
    "; DROP CONSTRAINT entity_key; //",
    "*/ RETURN 1 /*",
)


def hostile() -> list[DocumentMessage]:
    """Return documents that try to inject statements, in every field that a publisher fills in."""
    found = []
    for number, name in enumerate(HOSTILE_NAMES):
        other = HOSTILE_NAMES[number - 1]
        entities = (GivenEntity(f"Mallory {name}", name, name), GivenEntity(other, other, other))
        facts = (GivenFact(f"Mallory {name}", f"says {name}", other, name),)
        info = DocumentInfo(name, name, name, ((name, json.dumps(name)),))
        found.append(DocumentMessage(GRAPH, f"h{number} '\"`}}){{", f"Text: {name}", info, entities, facts))
    for number, (title, text) in enumerate(ATTEMPTS):
        found.append(DocumentMessage(GRAPH, f"i{number}", text, DocumentInfo(title)))
    return found


async def extracted(documents: Iterable[DocumentMessage], first_revision: int = 0) -> AsyncIterator[Extraction]:
    models = ExtractionModels(SemanticChunker(), OfflineExtractor(), HashingEmbedder())
    for revision, document in enumerate(documents, first_revision):
        yield await extract(document, revision, models, ExtractionLimits())


async def write_to(
    stores: Sequence[GraphStore], documents: Sequence[DocumentMessage], gone: Sequence[str] = (), batch_size: int = 8
) -> Consolidator:
    """Commit the documents, then the deletion of `gone`, to every store alike; return the writer."""
    writer = Consolidator(GRAPH)
    live: dict[str, Extraction] = {}
    watermark = [await store.claim(0) for store in stores]
    news: list[tuple[str, Extraction | None]] = [
        (extraction.doc_id, extraction) async for extraction in extracted(documents)
    ]
    news += [(doc_id, None) for doc_id in gone]
    for at in range(0, len(news), batch_size):
        batch = dict(news[at : at + batch_size])
        changes = [DocumentChange(doc_id, live.get(doc_id), new) for doc_id, new in batch.items()]
        part = GraphCommit(writer.apply(changes), {doc_id: _standing(doc_id, new, at) for doc_id, new in batch.items()})
        live |= {doc_id: new for doc_id, new in batch.items() if new is not None}
        for number, store in enumerate(stores):
            step = at // batch_size
            mark = type(watermark[number])(watermark[number].epoch, step)
            await store.commit(Commit(0, mark, step + 1, (part,), ()))
    return writer


def _standing(doc_id: str, new: Extraction | None, revision: int) -> StoredDocument:
    return StoredDocument(revision, None if new is None else ExtractionMessage(GRAPH, doc_id, revision, new).encode())
