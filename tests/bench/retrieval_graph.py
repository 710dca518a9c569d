"""The graph of the retrieval bench: the MuSiQue corpus with its shipped vectors, and copies of it for growth.

No model runs: every text of the corpus was embedded beforehand. A copy imitates more documents of the same domain:
other names, other dates, texts with these names, slightly moved vectors, and a fifth of the names in common with the
rest.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import ChunkContribution, DocumentChange, DocumentInfo, Extraction, Fact, Mention, Vector
from graphtide.graph.vector_index import VectorIndex
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.messages import DocumentMessage, GivenEntity, GivenFact, unit_key
from tests.support.bench_data import Passage, embedder_script

DIMENSIONS = 384
NOISE = 0.6  # length of the random vector added to a unit vector: their cosine is then 0.86
CONSONANTS = "bcdfghjklmnpqrstvwxz"
DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class Shipped:
    """An Embedder of texts whose vectors are known."""

    rows: dict[str, int]
    vectors: NDArray[np.float32]

    @classmethod
    def read(cls) -> Shipped:
        folder = embedder_script().parent
        texts = json.loads(gzip.decompress((folder / "texts.json.gz").read_bytes()))
        return cls({text: row for row, text in enumerate(texts)}, np.load(folder / "vectors.npy").astype(np.float32))

    @property
    def name(self) -> str:
        return "shipped"

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.vectors[[self.rows[text] for text in texts]]


def extractions(passages: Sequence[Passage], embedder: Shipped) -> list[Extraction]:
    """Return the extraction of each passage, by the extract stage itself."""
    models, caps = (
        ExtractionModels(SemanticChunker(max_tokens=100_000), OfflineExtractor(), embedder),
        ExtractionLimits(),
    )

    async def all_of_them() -> list[Extraction]:
        return [await extract(message_of(one), number, models, caps) for number, one in enumerate(passages)]

    return asyncio.run(all_of_them())


def message_of(one: Passage, *, bare: bool = False) -> DocumentMessage:
    """Return the document with what a model extracted from it; `bare`: without."""
    if bare:
        return DocumentMessage("bench", one.doc_id, one.text, DocumentInfo(one.title))
    entities = tuple(GivenEntity(name) for name in one.entities)
    facts = tuple(GivenFact(*triple) for triple in one.triples)
    return DocumentMessage("bench", one.doc_id, one.text, DocumentInfo(one.title), entities, facts)


def build(batches: Iterator[list[Extraction]], index: Callable[[], VectorIndex]) -> LiveView:
    """Return a view of all documents, consolidated batch by batch."""
    consolidator, view = Consolidator("bench"), LiveView("bench", VectorIndexes(index(), index(), index()))
    for batch in batches:
        view.apply(consolidator.apply([DocumentChange(one.doc_id, None, one) for one in batch]))
    return view


def copies(originals: list[Extraction], times: int, seed: int = 0) -> Iterator[list[Extraction]]:
    """Yield the documents, and then copies of them, `times` batches in all."""
    rng = np.random.default_rng(seed)
    yield originals
    for number in range(1, times):
        names: dict[str, Vector] = {}
        yield [_copy(one, number, names, rng) for one in originals]


def _copy(one: Extraction, number: int, names: dict[str, Vector], rng: np.random.Generator) -> Extraction:
    info = replace(one.info, title=renamed(one.info.title, number))
    units = tuple(_copy_unit(unit, number, names, rng) for unit in one.units)
    return replace(one, doc_id=f"{one.doc_id}~{number}", info=info, units=units)


def _copy_unit(
    unit: ChunkContribution, number: int, names: dict[str, Vector], rng: np.random.Generator
) -> ChunkContribution:
    mentions: list[Mention] = []
    for mention in unit.mentions:
        name = renamed(mention.name, number)
        if name not in names:
            names[name] = mention.vector if name == mention.name else _moved(mention.vector, rng)
        mentions.append(replace(mention, name=name, vector=names[name]))
    facts: tuple[Fact, ...] = tuple(replace(fact, vector=_moved(fact.vector, rng)) for fact in unit.facts)
    text = unit.text
    for mention in sorted(unit.mentions, key=lambda mention: -len(mention.name)):
        if len(mention.name) > 3:
            text = text.replace(mention.name, renamed(mention.name, number))
    vector = _moved(unit.vector, rng)
    key = unit_key(text, vector, tuple(mentions), facts)
    return ChunkContribution(key, text, unit.start, unit.start + len(text), vector, tuple(mentions), facts)


def renamed(name: str, number: int) -> str:
    """Return the name in copy `number`: consonants and digits shifted; one name in five is the same everywhere."""
    if zlib.crc32(name.encode()) % 5 == 0:
        return name
    return "".join(_next(character, number) for character in name)


def _next(character: str, number: int) -> str:
    for row in (CONSONANTS, CONSONANTS.upper(), DIGITS):
        if character in row:
            return row[(row.index(character) + number) % len(row)]
    return character


def _moved(vector: Vector, rng: np.random.Generator) -> Vector:
    moved = vector.astype(np.float32) + rng.normal(size=len(vector)) * (NOISE / len(vector) ** 0.5)
    unit: Vector = (moved / np.linalg.norm(moved)).astype(np.float16)
    return unit
