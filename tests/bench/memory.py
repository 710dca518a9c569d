"""Memory of one graph by structure: its write model, its view with indexes, and the embedded service that has both,
also after a restart.

    python -m tests.bench.memory [--documents N] [--part write|view|service|restarted] [--anonymous-vectors] [--no-page]

Each part runs in a process of its own on the MuSiQue passages, with the extraction and the vectors of the data set; the
service embeds with its default model; write model and view have the allocator's settings of service processes. Resident
memory is the difference to the process before the graph, after a collection and with free pages returned; anonymous
memory and mapped files are listed apart, since the kernel can drop the latter. Vectors move into files every
SPILL_EVERY documents, in a service periodically, unless `--anonymous-vectors` is given. Sizes of structures are those
that objects report, vectors in files included; the rest is the allocator's.
It asserts nothing; docs/scaling.md has its table.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange
from graphtide.graph.vector_store import keep_in_chunks, spill
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.infra.hnsw import HnswIndex
from graphtide.services.process.interpreter import tune_interpreter
from graphtide.services.sdk.embedded import open_database
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.follow.delta_codec import decode, encode
from graphtide.streams.messages import ExtractionMessage, decode_extraction, extractions
from tests.bench.cluster_table import Row, memory_bytes, write
from tests.bench.musique_stream import DIMENSIONS, GRAPH, KnownVectors, NoExtractor, WholeText, messages
from tests.bench.object_sizes import attributes_of, sizes_of
from tests.support.bench_data import ROOT, corpus

KIB = 1024
SHOWN = 8
"""The largest structures of each part that the table names."""
SPILL_EVERY = 50
OPENED = ("_tables", "_resolver", "_entities", "indexes")
"""The attributes whose own attributes are listed instead."""


Memory = dict[str, int]
"""Bytes by kind, see memory_bytes."""


def allocated() -> Memory:
    """Return the resident memory by kind after a collection, without pages that the allocator could return."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return memory_bytes(Path("/proc/self/status").read_text())


def grown_since(before: Memory) -> Memory:
    """Return by how much each kind of resident memory has grown."""
    return {kind: size - before[kind] for kind, size in allocated().items()}


def spilled(number: int, folder: Path) -> None:
    """Move vectors into files every SPILL_EVERY documents."""
    if number % SPILL_EVERY == 0:
        spill(folder)


def structures(root: object, seen: set[int], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Yield (path, bytes) of the attributes of an object, every object under the first path that reaches it."""
    for name, value in attributes_of(root):
        if name in OPENED:
            yield from structures(value, seen, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}".replace("_tables.", "").lstrip("_"), sizes_of(value, seen).total


async def extract_part(documents: int, folder: Path) -> dict[str, object]:
    """Write the passages' extractions into the folder, so that extraction's memory is not part of the write model's."""
    models = ExtractionModels(WholeText(), NoExtractor(), KnownVectors())
    for number, message in enumerate(messages()[:documents]):
        extraction = await extract(message, number, models, ExtractionLimits())
        encoded = ExtractionMessage(GRAPH, message.doc_id, number, extraction).encode()
        (folder / f"{number:08d}.extraction").write_bytes(encoded)
    return {}


def write_part(folder: Path) -> dict[str, object]:
    """Build the write model from the extractions in the folder, and write its deltas beside them."""
    writer, before = Consolidator(GRAPH), allocated()
    for number, file in enumerate(sorted(folder.glob("*.extraction"))):
        spilled(number, folder)
        message = decode_extraction(file.read_bytes())
        delta = writer.apply([DocumentChange(message.doc_id, None, message.extraction)])
        file.with_suffix(".delta").write_bytes(encode(delta, sums=False))
        del message, delta
    spill(folder)
    extractions._decode_small_extraction.cache_clear()  # the last messages, which are not the write model's
    return _found(writer, before, len(writer._tables.statements))


def view_part(folder: Path) -> dict[str, object]:
    """Build the view and its indexes from the deltas in the folder."""
    view = LiveView(GRAPH, VectorIndexes(*(HnswIndex(DIMENSIONS) for _ in range(3))))
    before = allocated()
    for number, file in enumerate(sorted(folder.glob("*.delta"))):
        spilled(number, folder)
        with view.lock.write():
            view.apply(decode(file.read_bytes()))
        for index in (view.indexes.chunks, view.indexes.entities, view.indexes.statements):
            assert isinstance(index, HnswIndex)
            index.settle()
    spill(folder)
    return _found(view, before, len(view.statements))


async def service_part(documents: int, folder: Path, in_files: bool) -> dict[str, object]:
    """Publish the passages to an embedded service, which was used before: its models are loaded."""
    async with open_database(str(folder), settings={"vectors_in_files": in_files}) as database:
        small = database.graph("small")
        first = await small.add("one", "Ada Lovelace met Charles Babbage in London.")
        await small.ask("Who met Charles Babbage?", after=first.token)
        before, graph = allocated(), database.graph(GRAPH)
        for number, passage in enumerate(corpus()[:documents], 1):
            body = passage.body()
            added = await graph.add(passage.doc_id, body.pop("text"), **body)
            if number % 25 == 0 or number == documents:
                await graph.ask("Who is it?", after=added.token, mode="vector")
        counts = (await graph.stats()).counts
        await asyncio.to_thread(spill, folder)
        memory = grown_since(before)
        return {"memory": memory, "relations": counts["relations"], "idle": before, "structures": []}


async def restarted_part(folder: Path, in_files: bool) -> dict[str, object]:
    """Open the service's data again, apply a document and answer a question: view and write model are restored."""
    async with open_database(str(folder), settings={"vectors_in_files": in_files}) as database:
        graph = database.graph(GRAPH)
        added = await graph.add("later", "Ada Lovelace met Charles Babbage in London.")
        await graph.ask("Who met Charles Babbage?", after=added.token)
        await asyncio.to_thread(spill, folder)
        return {"memory": allocated(), "relations": (await graph.stats()).counts["relations"], "structures": []}


def beyond(found: dict[str, object], idle: Memory) -> dict[str, object]:
    """Return the measurement of a whole process without what the idle one needs."""
    memory: Memory = found["memory"]  # type: ignore[assignment]
    return {**found, "memory": {kind: size - idle[kind] for kind, size in memory.items()}, "idle": idle}


def _found(root: object, before: Memory, relations: int) -> dict[str, object]:
    memory = grown_since(before)
    largest = sorted(structures(root, set()), key=lambda item: -item[1])
    return {"memory": memory, "relations": relations, "structures": largest}


def measured(part: str, documents: int, folder: str, in_files: bool) -> dict[str, object]:
    """Measure one part in a child process."""
    command = [sys.executable, "-m", "tests.bench.memory", "--part", part, "--documents", str(documents), folder]
    command += [] if in_files else ["--anonymous-vectors"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def rows_of(name: str, found: dict[str, object]) -> list[Row]:
    """Return one row for a part, and one for its structures."""
    memory: Memory = found["memory"]  # type: ignore[assignment]
    resident, relations = memory["resident"], int(str(found["relations"]))
    structures = [(str(path), int(size)) for path, size in found["structures"]]  # type: ignore[attr-defined]
    listed = ", ".join(f"{path} {size / KIB / KIB:.1f}" for path, size in structures[:SHOWN])
    rest = (resident - sum(size for _, size in structures)) / KIB / KIB
    if structures:
        note = f"MiB: {listed}; allocator and free pages {rest:.1f}"
    else:
        idle: Memory = found["idle"]  # type: ignore[assignment]
        note = f"an idle one: {_mib(idle['resident'])}"
    kinds = ", ".join(f"{kind} {_mib(memory[kind])}" for kind in ("anonymous", "file", "shared"))
    anonymous = memory["anonymous"] / relations / KIB
    size = f"{resident / relations / KIB:.1f} KiB a relation resident, {anonymous:.1f} of it anonymous"
    return [Row(f"{name}, {relations:,} relations", size, f"{kinds}; {note}")]


def _mib(size: object) -> str:
    return f"{int(str(size)) / KIB / KIB:.0f} MiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_500)
    parser.add_argument("--part", choices=("extract", "write", "view", "service", "restarted"))
    parser.add_argument("--anonymous-vectors", action="store_true")
    parser.add_argument("--no-page", action="store_true")
    parser.add_argument("folder", nargs="?")
    chosen = parser.parse_args()
    in_files = not chosen.anonymous_vectors
    if chosen.part:
        folder = Path(chosen.folder)
        keep_in_chunks(in_files and chosen.part not in ("service", "restarted"))
        if chosen.part in ("write", "view"):
            tune_interpreter()  # as every process of a service does
        if chosen.part == "view":
            found = view_part(folder)
        elif chosen.part == "write":
            found = write_part(folder)
        elif chosen.part == "extract":
            found = asyncio.run(extract_part(chosen.documents, folder))
        elif chosen.part == "restarted":
            found = asyncio.run(restarted_part(folder, in_files))
        else:
            found = asyncio.run(service_part(chosen.documents, folder, in_files))
        print(json.dumps(found))
        return
    rows = []
    with tempfile.TemporaryDirectory() as deltas, tempfile.TemporaryDirectory() as data:
        measured("extract", chosen.documents, deltas, in_files)
        for name, part, folder_name in (
            ("write model", "write", deltas),
            ("view with indexes", "view", deltas),
            ("embedded service", "service", data),
        ):
            found = measured(part, chosen.documents, folder_name, in_files)
            rows += rows_of(name, found)
            print(rows[-1].line(), flush=True)
        idle: Memory = found["idle"]  # type: ignore[assignment]
        rows += rows_of("the same restarted", beyond(measured("restarted", chosen.documents, data, in_files), idle))
        print(rows[-1].line(), flush=True)
    if not chosen.no_page:
        note = f"{chosen.documents:,} MuSiQue passages with their facts, {DIMENSIONS} dimensions, of the service 256"
        write(ROOT / "docs" / "scaling.md", "bench-memory", rows, note, "the largest structures")


if __name__ == "__main__":
    main()
