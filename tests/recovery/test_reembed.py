"""Re-embedding a data folder: another model is refused, and `graphtide reembed` gives the graphs of a fresh folder."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from graphtide.graph.records import DocumentInfo
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.infra.settings import Settings
from graphtide.infra.sqlite import SqliteBackend
from graphtide.infra.sqlite.administration.embedding_model import MODEL_FILE, recorded_model
from graphtide.infra.sqlite.folder_lock import DATABASE
from graphtide.services.administration.reembedding import SCRATCH, reembed
from graphtide.services.application import QueryRequest
from graphtide.services.wiring import open_application
from graphtide.streams.errors import Broken
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.messages import EXTRACTIONS, DocumentMessage, ExtractionMessage
from graphtide.streams.ports import Record

GRAPHS = ("notes", "other")
NAMES = ("Ada Lovelace", "Charles Babbage", "Mary Somerville", "Augustus De Morgan", "Michael Faraday")
CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from graphtide.infra.settings import Settings
from graphtide.services.administration import reembedding
folder, place, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
seen = {}
def at(name):
    seen[name] = seen.get(name, 0) + 1
    if (name, seen[name]) == (place, count):
        os.kill(os.getpid(), signal.SIGKILL)
real, written = reembedding.to_disk, reembedding.write_file
reembedding.to_disk = lambda path: (real(path), at("to disk"))
reembedding.write_file = lambda folder, name: (at("file"), written(folder, name))
asyncio.run(reembedding.reembed(Settings(data=folder), lambda about, done, total: at(about)))
"""


def _documents(graph: str) -> list[DocumentMessage]:
    pairs = [(first, second) for first in NAMES for second in NAMES if first < second]
    return [
        DocumentMessage(
            graph, f"note-{number}", f"{a} met {b} in London. {a} wrote a letter to {b}.", DocumentInfo(f"{a} and {b}")
        )
        for number, (a, b) in enumerate(pairs)
    ]


def _settings(folder: Path, model: str) -> Settings:
    return Settings(data=folder, embedding_model=model)


async def _fill(folder: Path, model: str, graphs: Sequence[str] = GRAPHS) -> dict[str, str]:
    """Publish, edit and delete documents; return the digests."""
    async with open_application(_settings(folder, model)) as application:
        found: dict[str, str] = {}
        for graph in graphs:
            await application.publish(_documents(graph))
            await application.publish([DocumentMessage(graph, "note-1", "Ada Lovelace wrote a program for Babbage.")])
            token = (await application.delete(graph, "note-2")).token
            await application.query(graph, QueryRequest("Ada?", after=token, generate=False))
            found[graph] = (await application.digest(graph)).digest
        return found


async def _digests(folder: Path, model: str) -> dict[str, str]:
    """Open the folder, verify its graphs, and return their digests."""
    async with open_application(_settings(folder, model)) as application:
        found: dict[str, str] = {}
        for graph in GRAPHS:
            assert (await application.verify(graph)).differences == ()
            found[graph] = (await application.digest(graph)).digest
        return found


def _vectors(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the stored vectors of each kind by their row's content: ids depend on the order of arrival."""
    queries = {
        "chunks": "SELECT graphs.name, chunk_id, vector FROM chunks JOIN graphs USING (graph)",
        "labels": "SELECT graphs.name, labels.name, vector_sum FROM labels JOIN graphs USING (graph)",
        "entities": "SELECT graphs.name, entities.name, vector FROM entities JOIN graphs USING (graph)",
        "statements": "SELECT graphs.name, predicate, vector FROM statements JOIN graphs USING (graph)",
    }
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        return {kind: sorted(connection.execute(query).fetchall()) for kind, query in queries.items()}


async def test_folder_of_another_model_is_refused_with_the_command_that_embeds_it_again(tmp_path: Path) -> None:
    """The message names both models, the command, and the setting that restores the old one; nothing changes."""
    await _fill(tmp_path / "data", "hashing", GRAPHS[:1])
    with pytest.raises(
        Broken, match=r"offline-hashing.*wordllama.*graphtide reembed.*GRAPHTIDE_EMBEDDING_MODEL=hashing"
    ):
        async with open_application(_settings(tmp_path / "data", "")):
            pass
    async with open_application(_settings(tmp_path / "data", "hashing")) as application:
        assert (await application.stats(GRAPHS[0])).counts["documents"] == len(_documents(GRAPHS[0])) - 1


async def test_lost_file_of_the_models_name_does_not_admit_another_model(tmp_path: Path) -> None:
    """The database records the model, too: the file is written again with its name."""
    await _fill(tmp_path / "data", "hashing", GRAPHS[:1])
    name = (tmp_path / "data" / MODEL_FILE).read_text()
    (tmp_path / "data" / MODEL_FILE).unlink()
    with pytest.raises(Broken, match="graphtide reembed"):
        async with open_application(_settings(tmp_path / "data", "wordllama")):
            pass
    async with open_application(_settings(tmp_path / "data", "hashing")):
        assert (tmp_path / "data" / MODEL_FILE).read_text() == name


async def test_reembedded_folder_has_the_digests_of_a_fresh_one(tmp_path: Path) -> None:
    """Edits and deletions included; the progress ends at the number of documents; later documents are accepted."""
    await _fill(tmp_path / "data", "hashing")
    fresh = await _fill(tmp_path / "fresh", "wordllama")
    steps: list[tuple[str, int, int]] = []
    done = await reembed(_settings(tmp_path / "data", ""), lambda *step: steps.append(step))
    documents = len(GRAPHS) * (len(_documents("")) - 1)
    assert (done.before, done.after, done.dimensions) == ("offline-hashing-1-384", "wordllama/l2-supercat-256", 256)
    assert (done.graphs, done.documents) == (len(GRAPHS), documents)
    assert ("documents embedded", documents, documents) in steps
    assert await _digests(tmp_path / "data", "wordllama") == fresh
    assert _vectors(tmp_path / "data") == _vectors(tmp_path / "fresh")
    assert not (tmp_path / "data" / SCRATCH).exists()
    with pytest.raises(Broken, match="GRAPHTIDE_EMBEDDING_MODEL=wordllama"):
        async with open_application(_settings(tmp_path / "data", "hashing")):
            pass


async def test_extraction_that_the_writer_has_yet_to_read_is_embedded_again_too(tmp_path: Path) -> None:
    """A record in the log has vectors of the new model when the writer reads it, so its document is applied."""
    await _fill(tmp_path / "data", "hashing", GRAPHS[:1])
    models = ExtractionModels(SemanticChunker(), OfflineExtractor(), HashingEmbedder())
    document = DocumentMessage(GRAPHS[0], "late", "Caroline Herschel discovered a comet in Bath.")
    extraction = await extract(document, 1_000_000, models, ExtractionLimits())
    backend = await SqliteBackend.open(tmp_path / "data")
    message = ExtractionMessage(GRAPHS[0], "late", 1_000_000, extraction)
    await backend.log.append(EXTRACTIONS, [Record(GRAPHS[0], message.encode())])
    await backend.close()
    await reembed(_settings(tmp_path / "data", ""))
    async with open_application(_settings(tmp_path / "data", "")) as application:
        while (await application.stats(GRAPHS[0])).counts["documents"] != len(_documents(GRAPHS[0])):
            await application.query(GRAPHS[0], QueryRequest("Who discovered a comet?", generate=False))
        assert (await application.verify(GRAPHS[0])).differences == ()


@pytest.mark.parametrize(
    ("place", "count"),
    [("pages", 1), ("documents embedded", 1), ("documents embedded", 3), ("graphs built", 2)]
    + [("to disk", count) for count in (1, 2, 3)]
    + [("file", 1)],
)
async def test_killed_reembedding_leaves_the_old_folder_or_the_new_one(tmp_path: Path, place: str, count: int) -> None:
    """After kill -9 at any step the folder opens with one of the two models; the command completes when repeated."""
    old = await _fill(tmp_path / "data", "hashing")
    fresh = await _fill(tmp_path / "fresh", "wordllama")
    command = [sys.executable, "-c", CHILD, str(tmp_path / "data"), place, str(count)]
    killed = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    switched = (place, count) in (("to disk", 3), ("file", 1))
    model, digests = ("wordllama", fresh) if switched else ("hashing", old)
    assert await _digests(tmp_path / "data", model) == digests
    assert not (tmp_path / "data" / SCRATCH).exists()
    await reembed(_settings(tmp_path / "data", "wordllama"))
    assert await _digests(tmp_path / "data", "wordllama") == fresh


async def test_reembedding_refuses_a_folder_in_use_and_one_without_data(tmp_path: Path) -> None:
    """The service must be stopped first, and the folder must hold a database."""
    with pytest.raises(Broken, match=f"contains no {DATABASE}"):
        await reembed(_settings(tmp_path / "data", ""))
    async with open_application(_settings(tmp_path / "data", "")):
        with pytest.raises(Broken, match="in use by process"):
            await reembed(_settings(tmp_path / "data", ""))


async def test_data_folder_records_name_and_dimension_of_its_model(tmp_path: Path) -> None:
    """A new folder records them before its first document."""
    async with open_application(_settings(tmp_path, "")):
        pass
    backend = await SqliteBackend.open(tmp_path)
    recorded = await recorded_model(backend.database, tmp_path)
    await backend.close()
    assert recorded is not None and (recorded.name, recorded.dimensions) == ("wordllama/l2-supercat-256", 256)
