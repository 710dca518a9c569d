"""A measured model of a graph's cost as it grows, and its projection to many graphs over partitions and replicas.

Measured, each size in a process of its own: the memory of the write model and of the view with its indexes, CPU per
document of both, bytes per document in `documents`, `extractions` and `deltas`. Fitted by least squares: bytes per
document and per relation. Computed from the fit: the number of writers and replicas for 10^5 to 10^9 relations, with
graphs of very different sizes on partitions by their keys. It asserts nothing; docs/scaling.md has its tables.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
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
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.infra.hnsw import HnswIndex
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.follow.delta_codec import decode, encode
from graphtide.streams.messages import DocumentMessage, ExtractionMessage, GivenFact
from tests.bench.cluster_documents import bodies
from tests.bench.cluster_table import Row, in_ms, resident_bytes, write
from tests.bench.scaling_plan import plan_rows
from tests.support.bench_data import ROOT

BATCH = 16
DIMENSIONS = 384
LARGEST = 32_000
SHAPES = ((16, 8), (4, 8), (1, 8), (16, 24), (4, 24))
"""The shape of each graph: its share of the largest one's documents, and the approximate relations per document."""
KIB = 1024


@dataclass(frozen=True, slots=True)
class Measured:
    """One graph of `documents` documents. Bytes are of the whole graph, seconds per document of the last quarter."""

    documents: int
    relations: int
    entities: int
    writer_bytes: int
    view_bytes: int
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


async def write_graph(documents: int, edges: int, folder: Path) -> dict[str, float]:
    """Build the write model, and write its deltas into the folder."""
    models = ExtractionModels(SemanticChunker(), OfflineExtractor(), HashingEmbedder(DIMENSIONS))
    writer, sizes, spent, batch = Consolidator("g"), [0, 0, 0], 0.0, list[DocumentChange]()
    before = own_bytes()
    for number, body in enumerate(bodies(documents, edges=edges)):
        facts = tuple(GivenFact(one["subject"], one["predicate"], one["object"]) for one in body["facts"])
        message = DocumentMessage("g", body["id"], body["text"], facts=facts)
        extraction = await extract(message, number, models, ExtractionLimits())
        sizes[0] += len(message.encode())
        sizes[1] += len(ExtractionMessage("g", body["id"], number, extraction).encode())
        batch.append(DocumentChange(body["id"], None, extraction))
        if len(batch) < BATCH and number + 1 < documents:
            continue
        started = time.process_time()
        delta = writer.apply(batch)
        if number >= documents * 3 // 4:
            spent += time.process_time() - started
        sent = encode(delta, sums=False)
        sizes[2] += len(sent)
        (folder / f"{delta.version:08d}").write_bytes(sent)
        batch = []
    grown = own_bytes() - before
    late = documents - documents * 3 // 4
    return {"writer_bytes": grown, "writer_s": spent / late, **dict(zip(SIZES, sizes, strict=True))}


SIZES = ("document_bytes", "extraction_bytes", "delta_bytes")


def follow_graph(documents: int, folder: Path) -> dict[str, float]:
    """Build the view and its three indexes from the deltas in the folder."""
    view = LiveView("g", VectorIndexes(*(HnswIndex(DIMENSIONS) for _ in range(3))))
    files, spent, before = sorted(folder.iterdir()), 0.0, own_bytes()
    for number, file in enumerate(files):
        started = time.process_time()
        with view.lock.write():
            view.apply(decode(file.read_bytes()))
        for index in (view.indexes.chunks, view.indexes.entities, view.indexes.statements):
            assert isinstance(index, HnswIndex)
            index.settle()
        if number >= len(files) * 3 // 4:
            spent += time.process_time() - started
    grown = own_bytes() - before
    late = documents * (len(files) - len(files) * 3 // 4) / len(files)
    found = {"relations": len(view.statements), "entities": len(view.entities)}
    return {"view_bytes": grown, "view_s": spent / late, **found}


def own_bytes() -> int:
    return resident_bytes(os.getpid())


def measured(documents: int, edges: int) -> Measured:
    """Measure both halves, each in a child process, so that their memory does not mix."""
    found: dict[str, float] = {"documents": documents}
    with tempfile.TemporaryDirectory() as folder:
        for part in ("write", "follow"):
            command = [sys.executable, "-m", "tests.bench.scaling", "--part", part, str(documents), str(edges), folder]
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
            found |= json.loads(done.stdout)
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
            f"{one.writer_bytes / one.documents / KIB:.1f} / {one.view_bytes / one.documents / KIB:.1f} KiB",
            f"{in_ms(one.writer_s)} / {in_ms(one.view_s)}; "
            + " / ".join(f"{getattr(one, name) / one.documents / KIB:.1f}" for name in SIZES)
            + " KiB",
        )
        for one in found
    ]


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=LARGEST, help="of the largest graph")
    parser.add_argument("--no-page", action="store_true", help="print the tables, leave docs/scaling.md alone")
    parser.add_argument("--part", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.part:
        part, documents, edges, folder = chosen.part
        count, place = int(documents), Path(folder)
        figures = asyncio.run(write_graph(count, int(edges), place)) if part == "write" else follow_graph(count, place)
        print(json.dumps(figures))
        return
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
