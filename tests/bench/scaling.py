"""A measured model of a graph's cost as it grows, and its projection to many graphs over partitions and replicas.

Measured, each size and part in a process of its own with the allocator's settings of service processes and vectors in
files: the memory of the write model and of the view with its indexes (resident, and of it anonymous), CPU per document
of both, bytes per document in `documents`, `extractions` and `deltas`. Fitted by least squares: anonymous and resident
bytes per document and per relation. Computed from the fit of resident bytes: the number of writers and replicas for
10^5 to 10^9 relations, with graphs of very different sizes on partitions by their keys. It asserts nothing;
docs/scaling.md has its tables.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange
from graphtide.graph.vector_store import keep_in_chunks, spill
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.infra.hnsw import HnswIndex
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.services.process.interpreter import tune_interpreter
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.follow.delta_codec import decode, encode
from graphtide.streams.messages import DocumentMessage, ExtractionMessage, GivenFact, decode_extraction, extractions
from tests.bench.cluster_documents import bodies
from tests.bench.cluster_table import Row, in_ms, write
from tests.bench.memory import Memory, allocated, grown_since, spilled
from tests.bench.scaling_plan import plan_rows
from tests.support.bench_data import ROOT

BATCH = 16
DIMENSIONS = 384
LARGEST = 32_000
SMALLEST = 4 * BATCH
"""Documents of the smallest graph: a batch for each quarter."""
SHAPES = ((16, 8), (4, 8), (1, 8), (16, 24), (4, 24))
"""The shape of each graph: its share of the largest one's documents, and the approximate relations per document."""
KIB = 1024
SENT = ("document_bytes", "extraction_bytes", "delta_bytes")


@dataclass(frozen=True, slots=True)
class Measured:
    """One graph of `documents` documents. Bytes are of the whole graph, seconds per document of the last quarter.

    Memory is resident and anonymous bytes; of the resident ones, the rest is in mapped files.
    """

    documents: int
    relations: int
    entities: int
    writer_bytes: int
    writer_anonymous: int
    view_bytes: int
    view_anonymous: int
    writer_s: float
    view_s: float
    document_bytes: int
    extraction_bytes: int
    delta_bytes: int


@dataclass(frozen=True, slots=True)
class Fit:
    """bytes = a_document * documents + a_relation * relations; `off` is the largest relative error."""

    a_document: float
    a_relation: float
    off: float


# -- measuring, in a process of its own --------------------------------------------------------------------------------


async def extract_documents(documents: int, edges: int, folder: Path) -> dict[str, float]:
    """Write the extractions into the folder, so that the memory of extraction is not counted to the write model."""
    models = ExtractionModels(SemanticChunker(), OfflineExtractor(), HashingEmbedder(DIMENSIONS))
    sizes = [0, 0]
    for number, body in enumerate(bodies(documents, edges=edges)):
        facts = tuple(GivenFact(one["subject"], one["predicate"], one["object"]) for one in body["facts"])
        message = DocumentMessage("g", body["id"], body["text"], facts=facts)
        extraction = await extract(message, number, models, ExtractionLimits())
        encoded = ExtractionMessage("g", body["id"], number, extraction).encode()
        sizes = [sizes[0] + len(message.encode()), sizes[1] + len(encoded)]
        (folder / f"{number:08d}.extraction").write_bytes(encoded)
    return {"document_bytes": sizes[0], "extraction_bytes": sizes[1]}


def write_graph(documents: int, folder: Path) -> dict[str, float]:
    """Build the write model from the extractions in the folder, and write its deltas beside them."""
    writer, size, spent, before = Consolidator("g"), 0, 0.0, allocated()
    files = sorted(folder.glob("*.extraction"))
    for start in range(0, documents, BATCH):
        spilled(start // BATCH, folder)
        messages = [decode_extraction(file.read_bytes()) for file in files[start : start + BATCH]]
        changes = [DocumentChange(message.doc_id, None, message.extraction) for message in messages]
        started = time.process_time()
        delta = writer.apply(changes)
        if start >= documents * 3 // 4:
            spent += (time.process_time() - started) / len(changes)
        sent = encode(delta, sums=False)
        size += len(sent)
        (folder / f"{delta.version:08d}.delta").write_bytes(sent)
        del messages, changes, delta, sent
    batches = len(range(0, documents, BATCH)) - len(range(0, documents * 3 // 4, BATCH))
    spill(folder)
    extractions._decode_small_extraction.cache_clear()  # the last messages, which are not the write model's
    grown = grown_since(before)
    return sizes_of("writer", grown) | {"writer_s": spent / batches, "delta_bytes": size}


def follow_graph(documents: int, folder: Path) -> dict[str, float]:
    """Build the view and its three indexes from the deltas in the folder."""
    view = LiveView("g", VectorIndexes(*(HnswIndex(DIMENSIONS) for _ in range(3))))
    files, spent, before = sorted(folder.glob("*.delta")), 0.0, allocated()
    for number, file in enumerate(files):
        spilled(number, folder)
        started = time.process_time()
        with view.lock.write():
            view.apply(decode(file.read_bytes()))
        for index in (view.indexes.chunks, view.indexes.entities, view.indexes.statements):
            assert isinstance(index, HnswIndex)
            index.settle()
        if number >= len(files) * 3 // 4:
            spent += time.process_time() - started
    spill(folder)
    grown = grown_since(before)
    late = documents * (len(files) - len(files) * 3 // 4) / len(files)
    found = {"relations": len(view.statements), "entities": len(view.entities)}
    return sizes_of("view", grown) | {"view_s": spent / late, **found}


def sizes_of(part: str, grown: Memory) -> dict[str, float]:
    """Return the resident and the anonymous bytes of a part, as fields of Measured."""
    return {f"{part}_bytes": grown["resident"], f"{part}_anonymous": grown["anonymous"]}


def measured(documents: int, edges: int) -> Measured:
    """Measure each part in a child process, so that their memory does not mix."""
    found: dict[str, float] = {"documents": documents}
    with tempfile.TemporaryDirectory() as folder:
        for part in ("extract", "write", "follow"):
            command = [sys.executable, "-m", "tests.bench.scaling", "--part", part, str(documents), str(edges), folder]
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
            found |= json.loads(done.stdout.splitlines()[-1])
    one = Measured(**found)  # type: ignore[arg-type]
    print(one, flush=True)
    return one


# -- fitting -----------------------------------------------------------------------------------------------------------


def fitted(found: Sequence[Measured], sizes: Sequence[float]) -> Fit:
    """Fit least squares of the relative errors, so that small graphs count as much as large ones."""
    columns = np.array([[one.documents, one.relations] for one in found], float)
    wanted = np.array(sizes, float)
    [a_document, a_relation], *_ = np.linalg.lstsq(columns / wanted[:, None], np.ones(len(found)), rcond=None)
    off = np.abs(columns @ np.array([a_document, a_relation]) / wanted - 1).max()
    return Fit(float(a_document), float(a_relation), float(off))


def exponent(found: Sequence[Measured], costs: Sequence[float]) -> float:
    """Return the slope of log cost over log size, of the sizes with the first shape: 0 is flat, 1 is linear."""
    first = round(found[0].relations / found[0].documents)
    same = [
        (one.documents, cost)
        for one, cost in zip(found, costs, strict=True)
        if abs(one.relations / one.documents - first) < first / 4
    ]
    sizes, seconds = np.log(np.array(same, float)).T
    return float(np.polyfit(sizes, seconds, 1)[0])


def cost_rows(found: Sequence[Measured]) -> list[Row]:
    """Return the measurements at each size as rows."""
    return [
        Row(
            f"{one.documents:,} documents, {one.entities:,} entities, {one.relations:,} relations",
            f"{_each(one, one.writer_bytes, one.writer_anonymous)} / {_each(one, one.view_bytes, one.view_anonymous)}",
            f"{in_ms(one.writer_s)} / {in_ms(one.view_s)}; "
            + " / ".join(f"{getattr(one, name) / one.documents / KIB:.1f}" for name in SENT)
            + " KiB",
        )
        for one in found
    ]


def _each(one: Measured, resident: int, anonymous: int) -> str:
    """Return KiB a relation, resident and of it anonymous."""
    return f"{resident / one.relations / KIB:.2f} ({anonymous / one.relations / KIB:.2f}) KiB"


def fit_rows(writer: Fit, view: Fit, found: Sequence[Measured]) -> list[Row]:
    def size_of_fit(fit: Fit) -> str:
        return f"{fit.a_document / KIB:.1f} KiB a document + {fit.a_relation / KIB:.2f} KiB a relation"

    def growth(costs: Sequence[float]) -> str:
        return f"CPU a document grows with documents to the power of {exponent(found, costs):.2f}"

    return [
        Row(
            "write model",
            size_of_fit(writer),
            f"fits within {writer.off:.0%}; {growth([one.writer_s for one in found])}",
        ),
        Row(
            "view and indexes",
            size_of_fit(view),
            f"fits within {view.off:.0%}; {growth([one.view_s for one in found])}",
        ),
    ]


def measured_part(part: str, documents: int, edges: int, folder: Path) -> dict[str, float]:
    """Measure one part in this process."""
    tune_interpreter()  # as every process of a service does
    keep_in_chunks(True)
    if part == "extract":
        return asyncio.run(extract_documents(documents, edges, folder))
    return write_graph(documents, folder) if part == "write" else follow_graph(documents, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=LARGEST, help="of the largest graph")
    parser.add_argument("--no-page", action="store_true", help="print the tables, leave docs/scaling.md alone")
    parser.add_argument("--part", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.part:
        part, documents, edges, folder = chosen.part
        print(json.dumps(measured_part(part, int(documents), int(edges), Path(folder))))
        return
    smallest = SMALLEST * max(part for part, _ in SHAPES)
    if chosen.documents < smallest:
        parser.error(
            f"--documents must be at least {smallest:,}: cost is measured over the last quarter of the batches"
        )
    found = [measured(chosen.documents // part, edges) for part, edges in SHAPES]
    writer = fitted(found, [one.writer_bytes for one in found])
    view = fitted(found, [one.view_bytes for one in found])
    density = found[0].relations / found[0].documents
    planned = plan_rows(*(fit.a_document / density + fit.a_relation for fit in (writer, view)))
    page, note = ROOT / "docs" / "scaling.md", f"vectors of {DIMENSIONS} dimensions"
    tables = (
        ("scaling-cost", [*cost_rows(found), *fit_rows(writer, view, found)], note),
        ("scaling-plan", planned, f"computed from the fit, {density:.1f} relations a document"),
    )
    heads = ("CPU a document, write model / view; bytes a document in documents / extractions / deltas", "what limits")
    for (marker, rows, text), head in zip(tables, heads, strict=True):
        print(*(row.line() for row in rows), sep="\n")
        if not chosen.no_page:
            write(page, marker, rows, text, head)


if __name__ == "__main__":
    main()
