"""Deletion of a graph in a service of one process: what is found afterwards, and the name used again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from graphtide.graph.records import DocumentInfo
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.infra.settings import Settings
from graphtide.infra.sqlite.graph_store.store import SqliteGraphStore
from graphtide.services.administration.maintenance import ClusterMaintenance, EmbeddedMaintenance
from graphtide.services.api.schema.requests.browsing import document_query
from graphtide.services.application import LetterQuery, QueryRequest
from graphtide.services.local_application import LocalApplication
from graphtide.services.wiring import open_application
from graphtide.streams.clock import now_ms
from graphtide.streams.consolidate import graph_deletion
from graphtide.streams.consolidate.graph_deletion import GraphEraser
from graphtide.streams.consolidate.maintenance_requests import MaintenanceKind, MaintenanceReply
from graphtide.streams.errors import NotFound
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DocumentMessage, GivenFact, document_key
from graphtide.streams.ports import Record
from graphtide.streams.standing.records import QuestionDefinition
from tests.model.memory.log import MemoryLog
from tests.support.canaries import canary, traces
from tests.support.crashing import behind
from tests.support.extractions import NAMES, PREDICATES

WAIT_S = 60.0


def document(graph: str, doc_id: str, rng: Random, title: str = "") -> DocumentMessage:
    a, b = rng.sample(NAMES, 2)
    predicate = rng.choice(PREDICATES)
    info = DocumentInfo(title)
    return DocumentMessage(graph, doc_id, f"{a} {predicate} {b}.", info, (), (GivenFact(a, predicate, b),))


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[LocalApplication]:
    async with open_application(Settings(data=folder, embedding_model="hashing")) as application:
        assert isinstance(application, LocalApplication)
        yield application


async def applied(application: LocalApplication, documents: Sequence[DocumentMessage]) -> str:
    """Publish, wait until it is queryable, and return the graph's digest."""
    graph = documents[0].graph
    receipt = await application.publish(documents)
    assert (await application.token_state(graph, receipt.token, WAIT_S)).reached
    return (await application.digest(graph)).digest


async def check_absent(application: LocalApplication, graph: str) -> None:
    assert graph not in await application.graphs()
    for read in (application.stats(graph), application.digest(graph), application.document(graph, "a")):
        with pytest.raises(NotFound):
            await read
    with pytest.raises(NotFound):
        await application.query(graph, QueryRequest("Who?"))
    with pytest.raises(NotFound):
        await application.delete_graph(graph, WAIT_S)


async def test_deleted_graph_is_not_found_and_others_are_unchanged(tmp_path: Path) -> None:
    """Its documents, entities and counts are gone, also after a restart; another graph keeps its digest."""
    async with opened(tmp_path) as application:
        rng = Random(1)
        await applied(application, [document("g", name, rng) for name in "abcd"])
        other = await applied(application, [document("h", name, rng) for name in "abcd"])
        assert (await application.delete_graph("g", WAIT_S)).deleted
        await check_absent(application, "g")
        assert (await application.digest("h")).digest == other
        assert (await application.verify("h")).differences == ()
    assert not (tmp_path / "indexes" / "g").exists()
    async with opened(tmp_path) as application:
        await check_absent(application, "g")
        assert (await application.digest("h")).digest == other


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_graph_published_again_equals_a_clean_build(tmp_path: Path, seed: int) -> None:
    """Random revisions, deletions of documents and of the graph, restarts: only what came after the last one counts."""
    print("seed", seed)
    rng, live, version = Random(seed), dict[str, DocumentMessage](), 0
    for _ in range(3):
        async with opened(tmp_path) as application:
            for _ in range(8):
                step = rng.random()
                if step < 0.2 and live:
                    assert (await application.delete_graph("g", WAIT_S)).deleted
                    live.clear()
                elif step < 0.4 and live:
                    doc_id = rng.choice(sorted(live))
                    await application.delete("g", doc_id)
                    del live[doc_id]
                else:
                    doc_id = rng.choice("abcdef")
                    live[doc_id] = document("g", doc_id, rng)
                    await application.publish([live[doc_id]])
            live["last"] = document("g", "last", rng)
            digest = await applied(application, [live["last"]])
            fresh = [replace(one, graph="clean") for one in live.values()]
            assert await applied(application, fresh) == digest
            assert (await application.delete_graph("clean", WAIT_S)).deleted
            assert (await application.verify("g")).differences == ()
            assert sum((await application.stats("g")).revisions.values()) >= len(live)
            assert (await application.digest("g")).version > version
            version = (await application.digest("g")).version


async def test_documents_published_while_a_graph_is_being_deleted_begin_the_next_one(tmp_path: Path) -> None:
    """The writer is held: revisions accepted before the request are deleted, those after it are the new graph."""
    async with opened(tmp_path) as application:
        rng = Random(5)
        await applied(application, [document("g", "a", rng)])
        maintenance = application._runtime.maintenance
        assert isinstance(maintenance, EmbeddedMaintenance)
        async with maintenance.consolidate.paused():
            await application.publish([document("g", "b", rng)])
            assert not (await application.delete_graph("g", 0.0)).deleted
            wanted = [document("g", name, rng) for name in "bc"]
            receipt = await application.publish(wanted)
        assert (await application.token_state("g", receipt.token, WAIT_S)).reached
        listed = await application.list_documents("g", document_query({}))
        assert [row.id for row in listed.documents] == ["b", "c"]
        clean = [replace(one, graph="clean") for one in wanted]
        assert await applied(application, clean) == (await application.digest("g")).digest


async def test_dead_letters_of_a_deleted_graph_are_not_listed_in_the_next(tmp_path: Path) -> None:
    """A letter of the new graph is."""
    async with opened(tmp_path) as application:
        rng = Random(6)

        async def fail(doc_id: str) -> None:
            await application._runtime.ledger.accept([Record(document_key("g", doc_id), b"no JSON")])
            await applied(application, [document("g", "a", rng)])

        await fail("old")
        [letter] = (await application.dead_letters("g", LetterQuery())).letters
        assert (await application.delete_graph("g", WAIT_S)).deleted
        await fail("new")
        listed = (await application.dead_letters("g", LetterQuery(resolved=True))).letters
        assert [one.doc_id for one in listed] == ["new"]
        with pytest.raises(NotFound):
            await application.dead_letter("g", letter.id)


async def test_purge_leaves_no_byte_of_a_deleted_graph(tmp_path: Path) -> None:
    """Texts, titles, names, dead letters and vectors of its documents are in no file; its name alone may be."""
    rng = Random(7)
    words = [canary(rng, kind) for kind in ("text", "title", "name", "id", "letter")]
    text, title, name, doc_id, letter = (one.word for one in words)
    async with opened(tmp_path) as application:
        kept = await applied(application, [document("h", name, rng) for name in "abc"])
        fact = GivenFact(name, "knows", "Ana Ruiz", text)
        secret = DocumentMessage("g", doc_id, f"{name} says {text}.", DocumentInfo(title), (), (fact,))
        await application._runtime.ledger.accept([Record(document_key("g", doc_id), letter.encode())])
        await applied(application, [secret])
        await application.query("g", QueryRequest(f"Who is {name}?", generate=False))
        await application._runtime.views.save()
        assert len(traces(tmp_path, words, {})) >= len(words)
        assert (await application.delete_graph("g", WAIT_S)).deleted
        await application.purge()
        assert traces(tmp_path, words, {}) == []
        assert (await application.digest("h")).digest == kept
        assert await applied(application, [secret])
        assert traces(tmp_path, words[:1], {}), "what is published again is there again"


async def test_purge_keeps_a_graph_without_documents_until_it_is_deleted(tmp_path: Path) -> None:
    """Only the deletion of a graph ends it: its version continues, so tokens and cursors keep their meaning."""
    rng = Random(3)
    async with opened(tmp_path) as application:
        await applied(application, [document("g", "a", rng), document("g", "b", rng)])
        for doc_id in ("a", "b"):
            receipt = await application.delete("g", doc_id)
            assert (await application.token_state("g", receipt.token, WAIT_S)).reached
        before = await application.graphs()
        await application.purge()
        assert await application.graphs() == before == {"g": before["g"]}
    async with opened(tmp_path) as application:
        assert await application.graphs() == before
        assert (await application.delete_graph("g", WAIT_S)).deleted
        await application.purge()
        assert await application.graphs() == {}
    async with opened(tmp_path) as application:
        assert await application.graphs() == {}


async def test_stream_of_a_standing_question_ends_when_its_graph_is_deleted(tmp_path: Path) -> None:
    """The last item gives the reason; the new graph of that name has no questions, and no old row is left."""
    async with opened(tmp_path) as application:
        rng = Random(9)
        await applied(application, [document("g", "a", rng)])
        await application.put_question("g", QuestionDefinition("q", "Who?"))
        events = application.question_events("g", "q", "")
        assert await anext(events) is None
        assert (await application.delete_graph("g", WAIT_S)).deleted
        await applied(application, [document("g", "b", rng)])
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(NotFound, match="was deleted"):
                await anext(events)
        assert (await application.list_questions("g", 10, "")).questions == ()
    with behind(tmp_path) as database:
        assert database.execute("SELECT count(*) FROM questions").fetchone() == (0,)


STEPS = (
    (GraphEraser, "plan", 1),
    (ViewRegistry, "drop", 1),
    (GraphEraser, "leave_marks", 1),
    (SqliteGraphStore, "erase", 1),
    (SqliteGraphStore, "erase", 2),
    (GraphEraser, "erase", 1),
)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("owner", "name", "passage"), STEPS)
async def test_deletion_continues_from_every_step_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, passage: int, after: bool
) -> None:
    """The process ends before or after a step. The next one finishes, and a later graph equals a clean build."""
    monkeypatch.setattr(graph_deletion, "ERASE_BATCH_SIZE", 3)
    rng = Random(8)
    async with opened(tmp_path) as application:
        await applied(application, [document("g", name, rng) for name in "abcdef"])
        reached = stop_at(monkeypatch, owner, name, passage, after=after)
        assert not (await application.delete_graph("g", 0.0)).deleted
        async with asyncio.timeout(WAIT_S):
            await reached.wait()
    monkeypatch.undo()
    async with opened(tmp_path) as application:
        wanted = [document("g", name, rng) for name in "ax"]
        digest = await applied(application, wanted)
        assert await applied(application, [replace(one, graph="clean") for one in wanted]) == digest
        assert (await application.verify("g")).differences == ()
        assert {row.id for row in (await application.list_documents("g", document_query({}))).documents} == {"a", "x"}
        known = (await application._runtime.store.deletions(["g"]))["g"]
        assert known.erased


def stop_at(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, passage: int, *, after: bool) -> asyncio.Event:
    """Make the given passage of a coroutine method wait for ever, before or after its work; set the event then."""
    original, reached, left = getattr(owner, name), asyncio.Event(), [passage]

    async def stopped(*args: object, **named: object) -> object:
        left[0] -= 1
        found = await original(*args, **named) if left[0] or after else None
        if left[0] == 0:
            reached.set()
            await asyncio.Event().wait()
        return found

    monkeypatch.setattr(owner, name, stopped)
    return reached


@pytest.mark.parametrize("kind", ["verify", "rebuild"])
async def test_graph_deleted_before_its_maintenance_begins_is_not_found(tmp_path: Path, kind: str) -> None:
    """A verification or rebuild waits for the writer; a deletion may end meanwhile. It neither reports damage, which
    would make the process unready for good, nor stores the graph again.
    """
    async with opened(tmp_path) as application:
        await applied(application, [document("g", "a", Random(1))])
        view, maintenance = application._runtime.views.get("g"), application._runtime.maintenance
        assert view is not None
        assert (await application.delete_graph("g", WAIT_S)).deleted
        with pytest.raises(NotFound):
            await getattr(maintenance, kind)(view)
        assert (await application.health()).ready
        await check_absent(application, "g")


async def test_deletion_of_a_damaged_graph_makes_the_process_ready(tmp_path: Path) -> None:
    """Damage of a graph that no longer exists cannot be repaired, and does not keep the process from serving."""
    async with opened(tmp_path) as application:
        await applied(application, [document("g", "a", Random(1))])
        maintenance = application._runtime.maintenance
        assert isinstance(maintenance, EmbeddedMaintenance)
        maintenance.damage.note_differences("g", ["a chunk is missing"])
        assert not (await application.health()).ready
        assert (await application.delete_graph("g", WAIT_S)).deleted
        assert (await application.health()).ready


async def test_maintenance_of_a_graph_that_its_writer_deleted_is_not_found(tmp_path: Path) -> None:
    """In a cluster the writer replies that it has no such graph: an error of the caller, not of the service."""
    async with opened(tmp_path) as application:
        replica = ClusterMaintenance(MemoryLog(1, now_ms), application._runtime.views, {})
        view = LiveView("g", VectorIndexes(ExactIndex(1), ExactIndex(1), ExactIndex(1)))
        asked = asyncio.create_task(replica.verify(view))
        request = None
        while request is None:
            await asyncio.sleep(0)
            request = next(iter(replica._asked), None)
        await replica.replied(MaintenanceReply("g", MaintenanceKind.VERIFY, request, failure="it has no document"))
        with pytest.raises(NotFound):
            await asked
