"""Damage of stored data from outside: `verify` names it, `rebuild` repairs it, indexes are rebuilt from the store."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from graphtide.infra.settings import Settings
from graphtide.services.application import Application, QueryRequest
from graphtide.services.local_application import LocalApplication
from graphtide.services.wiring import open_application
from graphtide.streams.errors import Broken
from graphtide.streams.messages import DocumentMessage, GivenFact
from tests.support.crashing import behind
from tests.support.extractions import NAMES, PREDICATES

ROWS = {
    "the weight of an edge": "UPDATE edges SET weight = weight + 1 WHERE (u, v) IN (SELECT u, v FROM edges LIMIT 1)",
    "the trussness of an edge": "UPDATE edges SET trussness = 9 WHERE (u, v) IN (SELECT u, v FROM edges LIMIT 1)",
    "an edge too few": "DELETE FROM edges WHERE (u, v) IN (SELECT u, v FROM edges LIMIT 1)",
    "a mention too few": "DELETE FROM mentions WHERE (chunk, number) IN (SELECT chunk, number FROM mentions LIMIT 1)",
    "the weight of a relation": "UPDATE statements SET weight_milli = 5 WHERE key = (SELECT min(key) FROM statements)",
    "the count of a relation": "UPDATE statements SET count = 7 WHERE key = (SELECT min(key) FROM statements)",
    "a relation too few": "DELETE FROM statements WHERE key = (SELECT min(key) FROM statements)",
    "evidence too little": "DELETE FROM evidence WHERE chunk = (SELECT min(chunk) FROM evidence)",
    "the text of a passage": "UPDATE chunks SET text = 'forged' WHERE key = (SELECT min(key) FROM chunks)",
    "the vector of a passage": "UPDATE chunks SET vector = (SELECT vector FROM chunks ORDER BY key DESC LIMIT 1)"
    " WHERE key = (SELECT min(key) FROM chunks)",
    "the vectors of a label": "UPDATE labels SET vector_sum = (SELECT vector_sum FROM labels ORDER BY key DESC LIMIT 1)"
    " WHERE key = (SELECT min(key) FROM labels)",
    "the mentions of a label": "UPDATE labels SET mentions = 99 WHERE key = (SELECT min(key) FROM labels)",
    "a label too few": "DELETE FROM labels WHERE key = (SELECT min(key) FROM labels)",
    "the name of an entity": "UPDATE entities SET name = 'Wrong' WHERE key = (SELECT min(key) FROM entities)",
    "an entity too few": "DELETE FROM entities WHERE key = (SELECT min(key) FROM entities)",
    "a document too few": "DELETE FROM documents WHERE doc_id = 'd1'",
    "a link between labels too few": "DELETE FROM same_as WHERE (a, b) IN (SELECT a, b FROM same_as LIMIT 1)",
}


def documents(seed: int, count: int = 12) -> list[DocumentMessage]:
    """Return documents with facts about few names, so that labels merge and triangles close."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        facts = [GivenFact(*_triple(rng)) for _ in range(3)]
        text = " ".join(f"{fact.subject} {fact.predicate} {fact.object}." for fact in facts)
        made.append(DocumentMessage("g", f"d{number}", text, facts=tuple(facts)))
    return made


def _triple(rng: random.Random) -> tuple[str, str, str]:
    subject, object_ = rng.sample(NAMES, 2)
    return subject, rng.choice(PREDICATES), object_


async def applied(application: Application, token: str) -> None:
    """Wait until the graph includes the token."""
    await application.query("g", QueryRequest("?", mode="vector", after=token, generate=False))


@asynccontextmanager
async def opened(data: Path) -> AsyncIterator[LocalApplication]:
    """Yield the whole service without its protocols, in this event loop."""
    async with open_application(Settings(data=data)) as application:
        assert isinstance(application, LocalApplication)
        yield application


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with a sound graph of twelve documents, and saved indexes."""
    data = tmp_path_factory.mktemp("sound")

    async def fill() -> None:
        async with opened(data) as application:
            for document in documents(1):
                receipt = await application.publish([document])
            await applied(application, receipt.token)
            assert (await application.verify("g")).differences == ()

    asyncio.run(fill())
    return data


@pytest.fixture
def data(sound: Path, tmp_path: Path) -> Path:
    """Return a copy of the sound folder, to be damaged."""
    return Path(shutil.copytree(sound, tmp_path / "data"))


@pytest.mark.parametrize("statement", ROWS.values(), ids=ROWS)
async def test_verify_names_a_damaged_row_and_rebuild_mends_it(data: Path, statement: str) -> None:
    """One row is changed in the file while the service runs: verify names it, and a rebuild repairs it for good."""
    async with opened(data) as application:
        before = (await application.digest("g")).digest
        with behind(data) as database:
            assert database.execute(statement).rowcount > 0
        found = await application.verify("g")
        assert any(line.startswith(("stored", "the write model")) for line in found.differences), found
        rebuilt = await application.rebuild("g")
        assert rebuilt.after == before and rebuilt.version > found.version
        assert (await application.verify("g")).differences == ()
        await applied(application, (await application.publish(documents(2, 3))).token)
        assert (await application.verify("g")).differences == ()
    async with opened(data) as application:
        assert (await application.verify("g")).differences == ()


@pytest.mark.parametrize("kind", ["chunks", "entities", "statements"])
async def test_verify_names_an_index_that_lacks_an_entry_and_rebuild_mends_it(data: Path, kind: str) -> None:
    """One id is removed from an index in memory, then one stored under a wrong vector: verify names each."""
    async with opened(data) as application:
        view = application._runtime.views.get("g")
        assert view is not None
        index = getattr(view.indexes, kind)
        ids = index.live_ids()
        vectors = index.vectors(ids[:2])
        index.remove(ids[:1])
        found = await application.verify("g")
        assert [line for line in found.differences if "1 are missing" in line] == list(found.differences)
        index.add(ids[:1], -vectors[:1])
        [line] = (await application.verify("g")).differences
        assert "1 vectors that differ from the stored ones" in line
        await application.rebuild("g")
        assert (await application.verify("g")).differences == ()


UNUSABLE = {
    "a label that mentions refer to is deleted": ROWS["a label too few"],
    "a cell that is no JSON": "UPDATE documents SET metadata = 'Z]' WHERE doc_id = 'd1'",
    "a cell of JSON of another form": "UPDATE documents SET chunks = '7' WHERE doc_id = 'd1'",
}


@pytest.mark.parametrize("statement", UNUSABLE.values(), ids=UNUSABLE.keys())
async def test_service_refuses_to_start_on_rows_that_do_not_fit_together(data: Path, statement: str) -> None:
    """Broken with the graph's name, no traceback, and no reset."""
    with behind(data) as database:
        database.execute(statement)
    with pytest.raises(Broken, match="graph 'g' are inconsistent"):
        async with opened(data):
            pass


async def test_an_unreadable_extraction_is_named_with_a_remedy_by_verify_and_health(
    data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The stored extraction of one document is overwritten: verify is Broken, and the process is not ready."""
    async with opened(data) as application:
        assert (await application.health()).ready
        with behind(data) as database:
            assert database.execute("UPDATE standings SET extraction = X'7b' WHERE doc_id = 'd1'").rowcount == 1
        for ask in (application.verify("g"), application.document("g", "d1"), application.rebuild("g")):
            with pytest.raises(Broken, match=r"document 'd1' of graph 'g' is damaged.*restore the data from a backup"):
                await ask
        health = await application.health()
        assert not health.ready
        assert "restore the data from a backup" in health.components["graph g"].text
        assert "document 'd1' of graph 'g' is damaged" in caplog.text


async def test_rows_that_differ_are_told_by_health_until_a_rebuild(data: Path) -> None:
    """One weight is wrong: not ready after verify, with the command that repairs it; ready after the rebuild."""
    async with opened(data) as application:
        with behind(data) as database:
            assert database.execute(ROWS["the weight of an edge"]).rowcount == 1
        assert (await application.verify("g")).differences
        health = await application.health()
        text = health.components["graph g"].text
        assert not health.ready and "graphtide rebuild --graph g" in text
        assert not any(name in text for name in NAMES)
        await application.rebuild("g")
        health = await application.health()
        assert health.ready and "graph g" not in health.components


@pytest.mark.parametrize("lost", ["missing", "truncated"])
async def test_service_refuses_to_start_on_an_empty_database_beside_saved_indexes(data: Path, lost: str) -> None:
    """The database file is missing or empty: cause and remedy at every start, until the indexes are deleted."""
    lose_database(data, lost)
    for _ in range(2):
        with pytest.raises(Broken, match=r"holds no graph.*indexes of g.*restore it from a backup, or remove"):
            async with opened(data):
                pass
    shutil.rmtree(data / "indexes")
    async with opened(data) as application:
        assert (await application.health()).ready


def lose_database(data: Path, lost: str) -> None:
    for file in data.glob("graphtide.sqlite*"):
        file.unlink()
    if lost == "truncated":
        (data / "graphtide.sqlite").touch()


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x10
    file.write_bytes(content)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def widen(file: Path) -> None:
    """Write a manifest that claims another dimension."""
    if file.name == "manifest.json":
        content = json.loads(file.read_text())
        content["manifest"] = content["manifest"].replace('"dim": ', '"dim": 1')
        file.write_text(json.dumps(content))


@pytest.mark.parametrize("spoil", [truncate, flip, empty, widen, Path.unlink])
async def test_start_works_and_indexes_are_complete_when_their_files_are_damaged(
    data: Path, spoil: Callable[[Path], None]
) -> None:
    """Every file of every index is damaged the same way: the indexes are rebuilt from the store, complete."""
    files = [file for file in (data / "indexes").rglob("*") if file.is_file()]
    assert len(files) == 9
    for file in files:
        spoil(file)
    async with opened(data) as application:
        assert (await application.verify("g")).differences == ()


async def test_start_works_and_indexes_are_complete_when_their_files_are_stale_or_of_the_future(
    data: Path, tmp_path: Path
) -> None:
    """Indexes saved many versions ago, and indexes newer than the graph: both end up equal to the store."""
    old = Path(shutil.copytree(data / "indexes", tmp_path / "old"))
    store = Path(shutil.copytree(data, tmp_path / "earlier"))
    async with opened(data) as application:
        await application.delete("g", "d2")
        await applied(application, (await application.publish(documents(3, 8))).token)
    new = Path(shutil.copytree(data / "indexes", tmp_path / "new"))
    for folder, indexes in ((data, old), (store, new)):
        shutil.rmtree(folder / "indexes")
        shutil.copytree(indexes, folder / "indexes")
        async with opened(folder) as application:
            assert (await application.verify("g")).differences == ()


async def test_start_works_when_the_indexes_are_of_another_graph_of_the_same_name(data: Path, tmp_path: Path) -> None:
    """Files of a rebuilt graph carry other numbers: every entry older than its row is replaced."""
    saved = Path(shutil.copytree(data / "indexes", tmp_path / "before"))
    async with opened(data) as application:
        await application.delete("g", "d0")
        await applied(application, (await application.delete("g", "d1")).token)
        await application.rebuild("g")
    shutil.rmtree(data / "indexes")
    shutil.copytree(saved, data / "indexes")
    async with opened(data) as application:
        found = await application.verify("g")
        assert found.differences == ()
        view = application._runtime.views.get("g")
        assert view is not None and np.array_equal(view.indexes.chunks.live_ids(), sorted(view.chunks))
