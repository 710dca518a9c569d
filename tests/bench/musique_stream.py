"""The MuSiQue passages as extractions, and a writer with its view that times each step of a document.

The vectors are the ones shipped with the embedding endpoint, looked up and not computed: model time is not measured. It
runs without HTTP and log; the graph store is SQLite, as in the embedded runtime.
"""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import ChunkContribution, DocumentChange, DocumentInfo, Extraction, Fact, GraphDelta
from graphtide.graph.vector_index import ExactIndex, Vectors
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.infra.hnsw import HnswIndex
from graphtide.infra.sqlite import SqliteBackend
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.follow.delta_codec import decode, encode
from graphtide.streams.follow.delta_records import notice
from graphtide.streams.messages import (
    DocumentMessage,
    ExtractionMessage,
    GivenEntity,
    GivenFact,
    decode_extraction,
    unit_key,
)
from graphtide.streams.model_ports import ExtractionResult, SplitPassage
from graphtide.streams.ports import Commit, GraphCommit, Record, StoredDocument, Watermark
from tests.bench.core_resolution import find_data, load_vectors
from tests.support import bench_data

GRAPH = "musique"
DIMENSIONS = 384

T = TypeVar("T")


class KnownVectors:
    """An Embedder that looks texts up. Raises KeyError for a text that was never embedded."""

    name = "looked up"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        data = find_data()
        if data is None:
            raise FileNotFoundError("no benchmark data: GRAPHTIDE_BENCH_DATA names its folder, `embedder` beside it")
        self._vectors = load_vectors(data)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts]) if texts else np.empty((0, DIMENSIONS), np.float32)


class WholeText:
    """A Chunker that returns a passage whole."""

    name = "whole"

    def split(self, text: str, media_type: str = "") -> tuple[SplitPassage, ...]:
        return (SplitPassage(text, 0, len(text)),)

    def describe(self, text: str, media_type: str = "") -> DocumentInfo:
        return DocumentInfo()


class NoExtractor:
    """An Extractor that is never called: every document carries its extraction."""

    name = "none"

    async def extract(self, text: str, *, title: str = "") -> ExtractionResult:
        raise AssertionError(f"asked about {title!r}, {len(text)} characters")


def messages() -> list[DocumentMessage]:
    """Yield the passages as they are published, in file order, with the extraction of a language model."""
    return [_message(passage) for passage in bench_data.corpus()]


def _message(passage: bench_data.Passage) -> DocumentMessage:
    return DocumentMessage(
        GRAPH,
        passage.doc_id,
        passage.text,
        DocumentInfo(passage.title),
        tuple(GivenEntity(name) for name in passage.entities),
        tuple(GivenFact(*triple) for triple in passage.triples),
    )


def edited(document: Extraction, other: Extraction) -> Extraction:
    """Return the document without every second fact, followed by another document's passage."""
    return replace(document, units=(*(_thinned(unit) for unit in document.units), *other.units), gaps=())


def _thinned(unit: ChunkContribution) -> ChunkContribution:
    facts: tuple[Fact, ...] = unit.facts[::2]
    return replace(unit, facts=facts, key=unit_key(unit.text, unit.vector, unit.mentions, facts))


@dataclass(slots=True)
class Clock:
    """CPU seconds of the process by step, one number per document."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def time(self, step: str, work: Callable[[], T]) -> T:
        started = time.process_time()
        result = work()
        self.seconds[step].append(time.process_time() - started)
        return result

    def ms(self, step: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array(self.seconds[step]) * 1e3

    def figures(self, step: str) -> str:
        millis = self.ms(step)
        return f"mean {millis.mean():.2f}, median {np.median(millis):.2f}, p99 {np.quantile(millis, 0.99):.2f} ms"


@contextmanager
def collections_timed(clock: Clock) -> Iterator[None]:
    """Count the time of Python's garbage collector during the block, in whatever step it occurs."""
    started = 0.0

    def note(phase: str, _: dict[str, int]) -> None:
        nonlocal started
        if phase == "start":
            started = time.process_time()
        else:
            clock.seconds["garbage"].append(time.process_time() - started)

    gc.callbacks.append(note)
    try:
        yield
    finally:
        gc.callbacks.remove(note)


class TimedKernel:
    """A kernel whose updates are timed; all other calls are forwarded."""

    def __init__(self, kernel: Any, step: str, clock: Clock) -> None:
        self._kernel, self._step, self._clock = kernel, step, clock

    def update(self, *arguments: Any) -> Any:
        return self._clock.time(self._step, lambda: self._kernel.update(*arguments))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


def timed_writer(clock: Clock) -> Any:
    """Return a write model whose parts are timed from outside: it does not time itself."""
    writer = Consolidator(GRAPH)
    for part in ("trussness", "communities", "resolver"):
        setattr(writer, f"_{part}", TimedKernel(getattr(writer, f"_{part}"), part, clock))
    return writer


class TimedGraph:
    """One graph through extraction, message, write model, store and view, a document at a time."""

    def __init__(self, backend: SqliteBackend) -> None:
        self.clock = Clock()
        self.writer: Any = timed_writer(self.clock)
        self.view = LiveView(GRAPH, VectorIndexes(*(HnswIndex(DIMENSIONS) for _ in range(3))))
        self.live: dict[str, Extraction] = {}
        self.delta_bytes: list[int] = []
        self._backend = backend
        self._models = ExtractionModels(WholeText(), NoExtractor(), KnownVectors())
        self._watermark = Watermark(0, 0)

    async def open(self) -> None:
        self._watermark = await self._backend.store.claim(0)

    async def publish(self, document: DocumentMessage, revision: int) -> None:
        """Take a document through all steps."""
        started = time.process_time()
        extraction = await extract(document, revision, self._models, ExtractionLimits())
        self.clock.seconds["extract"].append(time.process_time() - started)
        await self.change(document.doc_id, extraction)

    async def change(self, doc_id: str, new: Extraction | None) -> None:
        """Apply a revision, or a deletion."""
        revision = self._watermark.next_offset
        message = ExtractionMessage(GRAPH, doc_id, revision, new)
        value = self.clock.time("message", message.encode)
        self.clock.time("message", lambda: decode_extraction(value))
        change = DocumentChange(doc_id, self.live.get(doc_id), new)
        delta = self.clock.time("consolidate", lambda: self.writer.apply([change]))
        standing = StoredDocument(revision, value if new else None)
        await self._store(delta, {doc_id: standing})
        sent = self.clock.time("encode a delta", lambda: encode(delta, sums=False))
        self.clock.time("decode a delta", lambda: decode(sent))
        self.delta_bytes.append(len(sent))
        self.clock.time("follow", lambda: self._follow(delta))
        self.live.pop(doc_id, None)
        if new is not None:
            self.live[doc_id] = new

    async def _store(self, delta: GraphDelta, standings: dict[str, StoredDocument]) -> None:
        started = time.process_time()
        after = self._watermark.next_offset + 1
        record = Record(GRAPH, notice(delta).encode())
        await self._backend.store.commit(
            Commit(0, self._watermark, after, (GraphCommit(delta, standings),), (), (record,))
        )
        self._watermark = Watermark(self._watermark.epoch, after)
        self.clock.seconds["store"].append(time.process_time() - started)

    def _follow(self, delta: GraphDelta) -> None:
        with self.view.lock.write():
            self.view.apply(delta)
        for index in (self.view.indexes.chunks, self.view.indexes.entities, self.view.indexes.statements):
            assert isinstance(index, HnswIndex)
            index.settle()

    def close(self) -> None:
        for index in (self.view.indexes.chunks, self.view.indexes.entities, self.view.indexes.statements):
            assert isinstance(index, HnswIndex)
            index.close()


def exact_view() -> LiveView:
    return LiveView(GRAPH, VectorIndexes(*(ExactIndex(DIMENSIONS) for _ in range(3))))


async def opened(folder: Path) -> tuple[SqliteBackend, TimedGraph]:
    """Yield a graph on an empty store in the folder."""
    backend = await SqliteBackend.open(folder)
    graph = TimedGraph(backend)
    await graph.open()
    return backend, graph
