"""Re-embedding while the service runs: the old vectors answer until one switch, at every crash the work continues."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from graphtide.graph.records import DocumentInfo
from graphtide.infra.settings import Settings
from graphtide.infra.sqlite import SqliteBackend
from graphtide.infra.sqlite.administration.embedding_model import recorded_model
from graphtide.services.administration import online_reembedding
from graphtide.services.administration.online_reembedding import OnlineReembedding
from graphtide.services.application import Application, QueryRequest
from graphtide.services.wiring import open_application
from graphtide.streams.errors import Broken
from graphtide.streams.messages import DocumentMessage
from tests.recovery.test_reembed import GRAPHS, NAMES, _digests, _documents, _fill, _settings, _vectors

OLD, NEW = "offline-hashing-1-384", "wordllama/l2-supercat-256"
QUESTION = QueryRequest("Who met Michael Faraday?", mode="vector", generate=False)
CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from graphtide.infra.sqlite.administration.reembedded import ReembeddedDocuments
from graphtide.services.administration import online_reembedding
from graphtide.services.administration.online_reembedding import OnlineReembedding
from graphtide.services.wiring import open_application
from tests.recovery.test_online_reembedding import reembedding_settings
place, count = sys.argv[2], int(sys.argv[3])
seen = {}
def at(name):
    seen[name] = seen.get(name, 0) + 1
    if (name, seen[name]) == (place, count):
        os.kill(os.getpid(), signal.SIGKILL)
def before(owner, attribute, name):
    real = getattr(owner, attribute)
    def call(*given):
        at(name)
        return real(*given)
    setattr(owner, attribute, call)
before(ReembeddedDocuments, "put", "embed")
before(online_reembedding, "build", "build")
before(OnlineReembedding, "_commit", "commit")
before(OnlineReembedding, "_show", "show")
before(online_reembedding, "switch_extractions", "transaction")
async def main():
    async with open_application(reembedding_settings(Path(sys.argv[1]))) as application:
        while (shown := (await application.health()).components.get("re-embedding")) and shown.message:
            await asyncio.sleep(0.01)
asyncio.run(main())
"""


def reembedding_settings(folder: Path) -> Settings:
    """Return the settings of a start that changes the model."""
    return Settings(data=folder, embedding_model="wordllama", reembed=True)


class _Pause:
    """The running task, held before a step until it is released. `owner` has the step as an attribute."""

    def __init__(self, owner: object, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.released = asyncio.Event(), asyncio.Event()
        real = getattr(owner, step)

        async def paused(*given: object) -> object:
            self.reached.set()
            await self.released.wait()
            return await real(*given)

        monkeypatch.setattr(owner, step, paused)


@asynccontextmanager
async def _ending(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[asyncio.Event]:
    """Yield an event that is set at the end of the re-embedding."""
    ended, real = asyncio.Event(), OnlineReembedding.run

    async def run(task: OnlineReembedding) -> None:
        await real(task)
        ended.set()

    monkeypatch.setattr(OnlineReembedding, "run", run)
    yield ended


async def _passages(application: Application, graph: str) -> list[tuple[str, float]]:
    found = await application.query(graph, QUESTION)
    return sorted((passage.chunk_id, passage.score) for passage in found.passages)


async def _answers(folder: Path, model: str) -> dict[str, list[tuple[str, float]]]:
    async with open_application(_settings(folder, model)) as application:
        return {graph: await _passages(application, graph) for graph in GRAPHS}


def _late(graph: str, number: int) -> DocumentMessage:
    text = f"{NAMES[number % 5]} moved to Bath and met Michael Faraday in year {1800 + number}."
    return DocumentMessage(graph, f"late-{number}", text, DocumentInfo(f"Late {number}"))


async def test_old_vectors_answer_until_the_switch_and_new_ones_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents that are published, edited and deleted meanwhile are in both; the result is that of a new folder."""
    await _fill(tmp_path / "data", "hashing")
    await _fill(tmp_path / "fresh", "wordllama")
    before = await _answers(tmp_path / "data", "hashing")
    embedded = _Pause(online_reembedding, "build", monkeypatch)
    switching = _Pause(OnlineReembedding, "_commit", monkeypatch)
    async with (
        _ending(monkeypatch) as ended,
        open_application(reembedding_settings(tmp_path / "data")) as application,
    ):
        await embedded.reached.wait()
        assert (await application.stats(GRAPHS[0])).models["embedding"] == OLD
        assert {graph: await _passages(application, graph) for graph in GRAPHS} == before
        await application.publish([_late(GRAPHS[0], 0)])
        await application.publish([_late(GRAPHS[1], 1)])
        token = (await application.delete(GRAPHS[0], "note-3")).token
        edit = DocumentMessage(GRAPHS[1], "note-4", "Mary Somerville translated a book for Michael Faraday.")
        edited = (await application.publish([edit])).token
        for graph, after in zip(GRAPHS, (token, edited), strict=True):
            await application.query(graph, QueryRequest("Bath?", after=after, generate=False))
        embedded.released.set()
        await switching.reached.wait()
        waiting = (await application.publish([_late(GRAPHS[0], 2)])).token  # accepted, applied after the switch
        shown = (await application.health()).components["re-embedding"]
        assert OLD in shown.message and NEW in shown.message
        assert await _passages(application, GRAPHS[1])
        switching.released.set()
        await ended.wait()
        await application.query(GRAPHS[0], QueryRequest("Bath?", after=waiting, generate=False))
        assert not (await application.health()).components["re-embedding"].message
        assert (await application.stats(GRAPHS[0])).models["embedding"] == NEW
        for graph in GRAPHS:
            assert (await application.verify(graph)).differences == ()
        answered = {graph: await _passages(application, graph) for graph in GRAPHS}
        digests = {graph: (await application.digest(graph)).digest for graph in GRAPHS}
    async with open_application(_settings(tmp_path / "fresh", "wordllama")) as fresh:
        await fresh.publish([_late(GRAPHS[0], 0)])
        await fresh.delete(GRAPHS[0], "note-3")
        tokens = [(await fresh.publish([document])).token for document in (_late(GRAPHS[0], 2), edit)]
        tokens[1] = (await fresh.publish([_late(GRAPHS[1], 1)])).token
        for graph, after in zip(GRAPHS, tokens, strict=True):
            await fresh.query(graph, QueryRequest("Bath?", after=after, generate=False))
        assert {graph: (await fresh.digest(graph)).digest for graph in GRAPHS} == digests
        assert {graph: await _passages(fresh, graph) for graph in GRAPHS} == answered
    assert _vectors(tmp_path / "data") == _vectors(tmp_path / "fresh")
    assert await _answers(tmp_path / "data", "wordllama") == answered


async def test_steady_stream_of_documents_does_not_postpone_the_switch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document is published and applied whenever others get new vectors, so there is always one without."""
    await _fill(tmp_path / "data", "hashing")
    real, opened = OnlineReembedding._prepare_graphs, list[Application]()

    async def embed_batch(task: OnlineReembedding, documents: object, batch: object) -> None:
        await embed(task, documents, batch)  # type: ignore[arg-type]
        if opened and task.progress.step == "embedding":
            document = _late(GRAPHS[0], task.progress.documents)
            token = (await opened[0].publish([document])).token
            await opened[0].query(GRAPHS[0], QueryRequest("Bath?", after=token, generate=False))

    async def prepare_graphs(task: OnlineReembedding, documents: object, left: int) -> None:
        await real(task, documents, left)  # type: ignore[arg-type]
        opened.clear()  # then the stages end, and nothing is applied

    embed = OnlineReembedding._embed_batch
    monkeypatch.setattr(OnlineReembedding, "_embed_batch", embed_batch)
    monkeypatch.setattr(OnlineReembedding, "_prepare_graphs", prepare_graphs)
    async with (
        _ending(monkeypatch) as ended,
        open_application(reembedding_settings(tmp_path / "data")) as application,
    ):
        opened.append(application)
        await ended.wait()
        assert (await application.stats(GRAPHS[0])).models["embedding"] == NEW
        assert (await application.verify(GRAPHS[0])).differences == ()


async def test_settings_that_return_to_the_old_model_give_the_work_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder has its old model, graphs and answers, and no table of the work."""
    old = await _fill(tmp_path / "data", "hashing")
    paused = _Pause(OnlineReembedding, "_commit", monkeypatch)
    async with open_application(reembedding_settings(tmp_path / "data")):
        await paused.reached.wait()
    assert await _digests(tmp_path / "data", "hashing") == old
    backend = await SqliteBackend.open(tmp_path / "data")
    query = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'reembed%'"
    assert await backend.database.read(lambda connection: connection.execute(query).fetchone()[0]) == 0
    await backend.close()


async def test_failed_embedding_is_repeated_and_shown_and_the_service_stays_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the new model delays the switch; the old one answers."""
    await _fill(tmp_path / "data", "hashing", GRAPHS[:1])
    failed, real = asyncio.Event(), getattr(online_reembedding, "reembedded")  # noqa: B009 - a name that the module does not export

    async def failing(*given: object) -> object:
        if failed.is_set():
            return await real(*given)
        failed.set()
        raise Broken("the endpoint is unreachable")

    monkeypatch.setattr(online_reembedding, "reembedded", failing)
    async with _ending(monkeypatch) as ended, open_application(reembedding_settings(tmp_path / "data")) as application:
        await failed.wait()
        health = await application.health()
        assert health.ready
        assert await _passages(application, GRAPHS[0])
        await ended.wait()
        assert (await application.stats(GRAPHS[0])).models["embedding"] == NEW


@pytest.mark.thorough
async def test_killed_reembedding_continues_at_the_next_start(tmp_path: Path) -> None:
    """After kill -9 at random steps, the last start ends with the graphs of a new folder; each start has one model."""
    seed = int(os.environ.get("GRAPHTIDE_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"seed {seed}")
    rng = random.Random(seed)
    await _fill(tmp_path / "data", "hashing")
    fresh = await _fill(tmp_path / "fresh", "wordllama")
    places = [("embed", 1), ("embed", 2), ("build", 1), ("build", 2), ("commit", 1), ("transaction", 1)]
    for place, count in [*sorted(rng.sample(places, 2)), ("show", 1)]:
        command = [sys.executable, "-c", CHILD, str(tmp_path / "data"), place, str(count)]
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode in (-signal.SIGKILL, 0), done.stderr
        backend = await SqliteBackend.open(tmp_path / "data")
        recorded = await recorded_model(backend.database, tmp_path / "data")
        await backend.close()
        switched = place == "show" or done.returncode == 0  # an earlier start may have left a step out
        assert recorded is not None and recorded.name == (NEW if switched else OLD), (place, count)
    assert await _digests(tmp_path / "data", "wordllama") == fresh
    assert _vectors(tmp_path / "data") == _vectors(tmp_path / "fresh")


def test_documents_of_the_test_name_the_person_of_its_question() -> None:
    """The question has more than one answer in each graph."""
    assert sum("Michael Faraday" in each.text for each in _documents(GRAPHS[0])) > 1
