"""One suite for every way to reach the graphs from Python: in the process, over HTTP, and through a cluster's gateway.

Each test uses a graph of its own, so the tests of one kind share a service.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

import graphtide
from graphtide.services.sdk.interface import Database, Graph
from tests.support.cluster import Cluster
from tests.support.kafka_server import fresh
from tests.support.neo4j_server import clear
from tests.support.processes import service

TEXT = "Ana Ruiz signed the contract for the boiler."
NO_PORTS = ("--metrics-port", "0")
Opened = Callable[[], AbstractAsyncContextManager[Database]]


@pytest.fixture(scope="module", params=["open", "connect", "cluster"])
def way(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Yield a function that opens the graphs in one way; the services end with the module."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "open":
        yield lambda: graphtide.open(folder / "data")
    elif request.param == "connect":
        with service(folder / "data", log=folder / "log") as running:
            yield lambda: graphtide.connect(running.url)
    else:
        with _cluster(request, folder) as url:
            yield lambda: graphtide.connect(url, timeout=120)


def _cluster(request: pytest.FixtureRequest, folder: Path) -> Any:
    """Return a context with the URL of a gateway before one query replica, on Kafka and a graph database."""
    from contextlib import contextmanager

    @contextmanager
    def running() -> Iterator[str]:
        kafka, graph_server = request.getfixturevalue("kafka"), request.getfixturevalue("graph_server")
        clear(graph_server.address)
        cluster = Cluster(fresh(kafka), graph_server, folder, {"GRAPHTIDE_LAZY_REPORTS": "true"})
        made = cluster.run("topics", "apply", "--partitions", "2")
        assert made.returncode == 0, made.stderr
        try:
            [*_, replica] = cluster.start_all(
                {
                    "extract": ("worker", "extract", *NO_PORTS),
                    "consolidate": ("worker", "consolidate", *NO_PORTS),
                    "summarize": ("worker", "summarize", *NO_PORTS),
                    "replica": ("worker", "query", *NO_PORTS, "--grpc-port", "0"),
                }
            )
            asked = {"GRAPHTIDE_QUERY_TARGET": replica.addresses["grpc"]}
            [gateway] = cluster.start_all({"gateway": ("worker", "gateway", *NO_PORTS, "--port", "0")}, asked)
            yield gateway.addresses["http"]
        finally:
            cluster.end()
            clear(graph_server.address)

    return running()


@pytest_asyncio.fixture
async def db(way: Opened) -> AsyncIterator[Database]:
    async with way() as database:
        yield database


async def test_answers_follow_what_was_added_edited_and_deleted(db: Database) -> None:
    """Each answer waits for the token of the change before it; the digest is that of the version."""
    notes = db.graph("life")
    first = await notes.add("boiler", TEXT, title="Boiler", metadata={"team": "ops"}, occurred_at="2024-03")
    answer = await notes.ask("Who signed the contract?", after=first.token, timeout_s=120)
    assert "Ana Ruiz" in answer.answer and [one.doc_id for one in answer.citations] == ["boiler"]
    assert first.accepted == 1 and (await notes.document("boiler")).metadata == {"team": "ops"}
    second = await notes.add("boiler", TEXT.replace("Ana Ruiz", "Kenji Mori"))
    assert "Kenji Mori" in (await notes.ask("Who signed the contract?", after=second.token, timeout_s=120)).answer
    third = await notes.delete("boiler")
    version = await notes.wait(third.token, 120)
    assert not (await notes.ask("Who signed the contract?")).citations
    assert (await db.graphs())["life"] == version == (await notes.digest()).version
    with pytest.raises(graphtide.NotFound):
        await notes.delete("boiler")


async def test_stream_begins_with_the_context_and_ends_with_the_whole_answer(db: Database) -> None:
    """The pieces in between are the text of the last answer."""
    graph = db.graph("stream")
    receipt = await graph.add("a", TEXT)
    asked = graph.ask_stream("Who signed the contract?", after=receipt.token, timeout_s=120)
    got = [piece async for piece in asked]
    assert isinstance(got[0], graphtide.Answer) and not got[0].answer and got[0].passages
    assert isinstance(got[-1], graphtide.Answer)
    assert "".join(piece.text for piece in got[1:-1] if isinstance(piece, graphtide.AnswerChunk)) == got[-1].answer


async def test_bulk_load_accepts_the_right_documents_and_lists_the_others(db: Database) -> None:
    """There are more documents than one batch holds; the receipt's token covers all of them."""
    good: list[Mapping[str, Any]] = [
        {"id": f"d{n}", "text": f"Person {n} lives in Town {n}.", "entities": [], "facts": []} for n in range(130)
    ]
    wrong: list[Any] = [{"id": "", "text": "x"}, {"id": "empty"}, {"id": "n", "text": "x", "metadata": {"x": {1}}}, 7]

    async def documents() -> AsyncIterator[Mapping[str, Any]]:
        for document in [*good[:70], *wrong, *good[70:]]:
            yield document

    seen: list[int] = []
    graph = db.graph("bulk")
    receipt = await graph.add_many(documents(), on_progress=lambda made: seen.append(made.accepted))
    await graph.wait(receipt.token, 240)
    assert (receipt.accepted, [one.index for one in receipt.rejected]) == (130, [70, 71, 72, 73])
    assert [one.field for one in receipt.rejected] == ["id", "text", "metadata", "document"]
    assert seen == sorted(seen) and seen[-1] == 130 and len(seen) == 2
    assert (await graph.stats()).counts["documents"] == 130


async def test_handle_that_reads_its_writes_needs_no_tokens(db: Database) -> None:
    """Answers, lists and counts include what the handle wrote before; another handle passes tokens itself."""
    graph = db.graph("own-writes", read_your_writes=True)
    for n in range(3):
        await graph.add(f"d{n}", f"Person {n} lives in Town {n}.", entities=[{"name": f"Person {n}"}], facts=[])
        assert len((await graph.documents()).documents) == n + 1
        assert (await graph.stats()).counts["documents"] == n + 1
        found = await graph.ask(f"Where does Person {n} live?", mode="vector", generate=False)
        assert f"d{n}" in {passage.doc_id for passage in found.passages}
        assert len((await graph.entities(q=f"Person {n}")).entities) == 1
    await graph.delete("d1")
    assert [each.id for each in (await graph.documents()).documents] == ["d0", "d2"]
    await graph.add_many({"id": f"e{n}", "text": "x", "entities": [], "facts": []} for n in range(3))
    assert (await graph.stats()).counts["documents"] == 5


IDS = ["a/b.md", "..", ".", "a b?c=d#e%2F", "x/related", "ключ/鍵", "'\"&<>\\", "%", "a/../b", "~", "a\u2028b"]


async def test_every_valid_id_is_kept_as_it_is(db: Database) -> None:
    """Ids with slashes, dots, percent signs and letters of any script name their own document and no other."""
    graph = db.graph("ids", read_your_writes=True)
    for number, doc_id in enumerate(IDS):
        await graph.add(doc_id, f"Text {number}.", entities=[], facts=[])
    for number, doc_id in enumerate(IDS):
        status = await graph.document(doc_id)
        assert (status.doc_id, status.text) == (doc_id, f"Text {number}.")
    await graph.delete(IDS[1])
    listed = [each.id for each in (await graph.documents()).documents]
    assert sorted(listed) == sorted(IDS[:1] + IDS[2:])


async def test_lists_have_pages_and_details(db: Database) -> None:
    """Every item of a list is on one page; the ids of a list name the details."""
    graph = db.graph("lists")
    facts = [{"subject": f"Person {n}", "predicate": "knows", "object": f"Person {(n + 1) % 6}"} for n in range(6)]
    made = await graph.add_many(
        {"id": f"d{n}", "text": f"Person {n} knows Person {(n + 1) % 6}.", "source": "s", "facts": [facts[n]]}
        for n in range(6)
    )
    await graph.wait(made.token, 120)
    pages, cursor = [], ""
    while True:
        page = await graph.documents(limit=4, cursor=cursor, source="s", prefix="d")
        pages.append([each.id for each in page.documents])
        cursor = page.next
        if not cursor:
            break
    assert pages == [["d0", "d1", "d2", "d3"], ["d4", "d5"]]
    entities = (await graph.entities(sort="name")).entities
    assert [each.name for each in entities] == [f"Person {n}" for n in range(6)]
    entity = await graph.entity(entities[0].id)
    assert entity.name == "Person 0" and entity.relations
    around = await graph.neighbourhood(entities[0].id, hops=1)
    group = await graph.group(entities[0].id)
    assert group.center == entities[0].id and group.k == group.max_k >= 2 and group.nodes[0].hop == 0
    assert (await graph.group(entities[0].id, k=group.max_k + 1)).nodes == ()
    assert {each.name for each in around.nodes} == {"Person 0", "Person 1", "Person 5"}
    communities = (await graph.communities()).communities
    assert (await graph.community(communities[0].community)).members
    assert (await graph.related("d0", 3)).doc_id == "d0"
    assert isinstance(list(await graph.reports()), list)
    checked = await graph.verify()
    assert checked.differences == () and checked.digest == (await graph.digest()).digest
    rebuilt = await graph.rebuild()
    assert rebuilt.switched and rebuilt.before == rebuilt.after == checked.digest


async def test_filters_select_documents(db: Database) -> None:
    """Ids, sources, dates and metadata each select the one document that meets them."""
    graph = db.graph("filters", read_your_writes=True)  # a token covers its own document, and in a cluster no other
    for year, team in ((2019, "ops"), (2021, "lab")):
        fields: dict[str, Any] = {"source": team, "occurred_at": f"{year}-05-01", "metadata": {"team": team}}
        await graph.add(f"n{year}", f"Ana Ruiz led {team}.", **fields)
    for conditions in (
        {"doc_ids": ("n2019",)},
        {"sources": ("ops",)},
        {"metadata": (("team", "ops"),)},
        {"occurred_from": "2019", "occurred_to": "2020-01"},
    ):
        filters = graphtide.Filters(**conditions)
        found = await graph.ask("Who led?", mode="vector", filters=filters, generate=False, exact=True)
        assert {passage.doc_id for passage in found.passages} == {"n2019"}, conditions


Failing = Callable[[Graph], Any]
WRONG: list[tuple[Failing, type[Exception], str]] = [
    (lambda graph: graph.document("unknown"), graphtide.NotFound, ""),
    (lambda graph: graph.delete("unknown"), graphtide.NotFound, ""),
    (lambda graph: graph.entity("unknown"), graphtide.NotFound, ""),
    (lambda graph: graph.community(999_999), graphtide.NotFound, ""),
    (lambda graph: graph.related("unknown"), graphtide.NotFound, ""),
    (lambda graph: graph.related("known", 0), graphtide.Invalid, "count"),
    (lambda graph: graph.add("a", ""), graphtide.Invalid, "text"),
    (lambda graph: graph.add("a", cast(Any, 7)), graphtide.Invalid, "text"),
    (lambda graph: graph.add("", "text"), graphtide.Invalid, "id"),
    (lambda graph: graph.add("a\n", "text"), graphtide.Invalid, "id"),
    (lambda graph: graph.add("\ud800", "text"), graphtide.Invalid, "id"),
    (lambda graph: graph.add("a", "text", occurred_at="soon"), graphtide.Invalid, "occurred_at"),
    (lambda graph: graph.add("a", "text", metadata={"x": float("nan")}), graphtide.Invalid, "metadata"),
    (lambda graph: graph.ask(""), graphtide.Invalid, "question"),
    (lambda graph: graph.ask("\ud800"), graphtide.Invalid, "question"),
    (lambda graph: graph.ask("Who?", top_k=0), graphtide.Invalid, "top_k"),
    (lambda graph: graph.ask("Who?", mode="none"), graphtide.Invalid, "mode"),
    (lambda graph: graph.ask("Who?", after="nonsense"), graphtide.Invalid, "after"),
    (lambda graph: graph.ask("Who?", as_of="soon"), graphtide.Invalid, "as_of"),
    (
        lambda graph: graph.ask("Who?", filters=graphtide.Filters(occurred_from="soon")),
        graphtide.Invalid,
        "filters.occurred_from",
    ),
    (lambda graph: graph.ask("Who?", filters=cast(Any, {"doc_ids": []})), graphtide.Invalid, "filters"),
    (lambda graph: graph.documents(limit=0), graphtide.Invalid, "limit"),
    (lambda graph: graph.documents(state="lost"), graphtide.Invalid, "state"),
    (lambda graph: graph.entities(cursor="nonsense"), graphtide.Invalid, "cursor"),
    (lambda graph: graph.neighbourhood("unknown", hops=9), graphtide.Invalid, "hops"),
    (lambda graph: graph.group("unknown", k=1), graphtide.Invalid, "k"),
    (lambda graph: graph.group("unknown"), graphtide.NotFound, ""),
    (lambda graph: graph.community(-1), graphtide.Invalid, "community"),
    (lambda graph: graph.add("a", "text", entities=cast(Any, [7])), graphtide.Invalid, "entities[0]"),
    (lambda graph: graph.add_many(cast(Any, 7)), graphtide.Invalid, "documents"),
    (lambda graph: graph.ask("Who?", top_k=cast(Any, {1})), graphtide.Invalid, "top_k"),
    (lambda graph: graph.preview(publish=cast(Any, [7])), graphtide.Invalid, "publish[0]"),
    (lambda graph: graph.questions.put("q", "Who?", options={"coverage": {1}}), graphtide.Invalid, "options.coverage"),
]


async def test_wrong_calls_raise_the_same_errors_in_every_way(db: Database) -> None:
    """The class and the field are those of the table; the graph is unchanged."""
    graph = db.graph("wrong", read_your_writes=True)
    await graph.add("known", TEXT, entities=[], facts=[])
    before = await graph.digest()
    for number, (call, kind, field) in enumerate(WRONG):
        with pytest.raises(graphtide.GraphtideError) as raised:
            await call(graph)
        assert type(raised.value) is kind, (number, raised.value)
        assert getattr(raised.value, "field", "") == field, (number, raised.value)
    assert await graph.digest() == before
    with pytest.raises(graphtide.Invalid):
        db.graph("../g")
    for missing in (db.graph("missing").stats(), db.graph("missing").ask("Who?"), db.graph("missing").documents()):
        with pytest.raises(graphtide.NotFound):
            await missing


async def test_calls_of_many_tasks_are_served_at_once(db: Database) -> None:
    """A database is safe to use from any number of tasks of its loop."""
    graph = db.graph("tasks")
    adding = (graph.add(f"d{n}", f"Person {n} lives in Town {n}.", entities=[], facts=[]) for n in range(20))
    receipts = await asyncio.gather(*adding)
    await asyncio.gather(*(graph.wait(receipt.token, 120) for receipt in receipts))
    assert (await graph.stats()).counts["documents"] == 20


async def test_changes_are_the_commits_of_the_later_documents(db: Database) -> None:
    """The list ends at the present version, which includes what the handle wrote."""
    graph = db.graph("feed", read_your_writes=True)
    await graph.add("a", "Ana Ruiz signed the contract.")
    before = (await graph.stats()).version
    await graph.add("b", "Kenji Mori signed the contract, too.")
    commits = [change async for change in graph.changes(after=f"v{before}", follow=False)]
    documents = [one.id for change in commits if isinstance(change, graphtide.Change) for one in change.documents]
    assert documents == ["b"]


async def test_deleted_graph_is_unknown_until_its_name_is_used_again(db: Database) -> None:
    """Nothing of the old graph is in the new one."""
    receipt = await db.graph("gone").add("a", "Ana Ruiz signed the contract.", entities=[], facts=[])
    await db.graph("gone").wait(receipt.token, 120)
    await db.delete_graph("gone")
    with pytest.raises(graphtide.NotFound):
        await db.graph("gone").stats()
    with pytest.raises(graphtide.NotFound):
        await db.delete_graph("gone")
    again = await db.graph("gone").add("b", "Kenji Mori signed.", entities=[], facts=[])
    await db.graph("gone").wait(again.token, 120)
    assert [each.id for each in (await db.graph("gone").documents()).documents] == ["b"]


async def test_standing_question_has_the_evidence_of_the_newest_documents(db: Database) -> None:
    """It is registered, listed, read with what the handle wrote before, and deleted."""
    graph = db.graph("standing", read_your_writes=True)
    await graph.add("a", "Ana Ruiz signed the contract.")
    asked = await graph.questions.put("who", "Who signed the contract?", mode="vector", top_k=2)
    assert [passage.doc_id for passage in asked.passages] == ["a"]
    await graph.add("b", "Kenji Mori signed the contract, too.")
    assert {passage.doc_id for passage in (await graph.questions.get("who")).passages} == {"a", "b"}
    assert [each.id for each in (await graph.questions.list()).questions] == ["who"]
    await graph.questions.delete("who")
    with pytest.raises(graphtide.NotFound):
        await graph.questions.get("who")


async def test_options_are_checked_shown_in_the_trace_and_kept_by_standing_questions(db: Database) -> None:
    """An option out of range, or of another mode, is refused by name; a given one has its effect at any version."""
    notes, asked = db.graph("options"), "Who signed the contract?"
    receipt = await notes.add("boiler", TEXT)
    version = await notes.wait(receipt.token, 120)
    options = {"coverage": 8, "restart": 0.3}
    answer = await notes.ask(asked, options=options, explain=True, generate=False)
    assert answer.trace is not None and answer.trace[0]["step"] == "options"
    shown = {item["id"]: (item["name"], item["score"]) for item in cast(Any, answer.trace[0]["items"])}
    assert shown["coverage"] == ("8", 1.0) and shown["restart"] == ("0.3", 1.0) and shown["near"] == ("200", 0.0)
    then = await notes.ask(asked, options=options, generate=False, at=str(version))
    assert [each.chunk_id for each in then.passages] == [each.chunk_id for each in answer.passages]
    for name, wrong in {"coverage": 99, "beam": 3, "restart": "often"}.items():
        for refused in (
            notes.ask(asked, options={name: wrong}),
            notes.questions.put("q", asked, options={name: wrong}),
        ):
            with pytest.raises(graphtide.Invalid) as error:
                await refused
            assert error.value.field == f"options.{name}"
    kept = await notes.questions.put("q", asked, options=options)
    assert kept.options == options == (await notes.questions.get("q")).options
