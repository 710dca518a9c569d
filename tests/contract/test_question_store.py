"""The QuestionStore port: one suite, every adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from graphtide.graph.retrieval.types import Filters
from graphtide.graph.standing.types import Evidence, EvidencePassage
from graphtide.infra.bolt import BoltBackend
from graphtide.infra.bolt.standing import BoltQuestionStore
from graphtide.infra.sqlite import SqliteBackend
from graphtide.infra.sqlite.standing.questions import SqliteQuestionStore
from graphtide.streams.clock import now_ms
from graphtide.streams.errors import Invalid
from graphtide.streams.standing.records import Cause, EvaluatedQuestion, QuestionDefinition, QuestionEvent
from graphtide.streams.standing.store import QuestionStore
from tests.model.memory import MemoryLog
from tests.model.memory.questions import MemoryQuestionStore
from tests.support.neo4j_server import GraphServer, clear

DEFINITION = QuestionDefinition(
    "q", "Who signed? \u2603", "vector", 3, Filters(("d",), (), (("year", 1911),), "2020", "", "2021"), True
)
SHARED = ("memory", "bolt")
MAX_QUESTIONS = 10
"""The limit of questions of a graph in these stores."""


@pytest.fixture(params=["memory", "sqlite", "bolt"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[QuestionStore]:
    """Yield each adapter in turn, empty."""
    if request.param == "memory":
        yield MemoryQuestionStore(MAX_QUESTIONS)
        return
    if request.param == "bolt":
        server: GraphServer = request.getfixturevalue("graph_server")
        clear(server.address)
        bolt = await BoltBackend.open(server.address, MemoryLog(1, now_ms))
        yield BoltQuestionStore(bolt.database, MAX_QUESTIONS)
        await bolt.close()
        return
    backend = await SqliteBackend.open(tmp_path)
    questions = SqliteQuestionStore(backend.database, MAX_QUESTIONS)
    await questions.create()
    yield questions
    await backend.close()


def passages(*ids: str) -> Evidence:
    return tuple(EvidencePassage(id_.partition("#")[0], id_, 0.1 + place / 3) for place, id_ in enumerate(ids))


async def evaluated(
    store: QuestionStore, version: int, evidence: Evidence, causes: tuple[Cause, ...] | None = (), answer: bool = False
) -> Sequence[QuestionEvent]:
    """Record the evidence of question q of graph g at a version, and return the events."""
    return await store.record("g", version, 1000 + version, [EvaluatedQuestion("q", evidence, causes, answer)])


async def test_questions_are_counted_by_graph(store: QuestionStore) -> None:
    """A replaced question counts once, a deleted one not at all; the name of another graph may begin alike."""
    for graph, name in (("g", "a"), ("g", "b"), ("g", "b"), ("g2", "a")):
        await store.put(graph, replace(DEFINITION, id=name))
    assert [await store.count(graph) for graph in ("g", "g2", "none")] == [2, 1, 0]
    await store.delete("g", "a")
    assert await store.count("g") == 1


async def test_questions_that_are_deleted_during_a_listing_are_whole_or_absent(store: QuestionStore) -> None:
    """Neo4j reads the values of a node that is deleted meanwhile as null; no reader may see that."""
    names = [f"q{number}" for number in range(8)]

    async def rewrite(name: str) -> None:
        for _ in range(8):
            await store.put("g", replace(DEFINITION, id=name))
            await store.delete("g", name)

    writing = [asyncio.create_task(rewrite(name)) for name in names]
    while not all(task.done() for task in writing):
        for stored in await store.page("g", "", 100):
            assert stored.definition == replace(DEFINITION, id=stored.definition.id) and stored.definition.id in names
        one = await store.get("g", names[0])
        assert one is None or one.definition.id == names[0]
        await asyncio.sleep(0)  # the store in memory never suspends
    await asyncio.gather(*writing)
    assert await store.page("g", "", 100) == []


async def test_parallel_registrations_end_at_the_limit(store: QuestionStore) -> None:
    """Exactly as many succeed as the limit allows; replacing a question is allowed at the limit, and deleting one
    makes room for one.
    """
    await store.put("g", replace(DEFINITION, id="first"))
    made = (store.put("g", replace(DEFINITION, id=f"q{number}")) for number in range(MAX_QUESTIONS + 5))
    results = await asyncio.gather(*made, return_exceptions=True)
    refused = [result for result in results if isinstance(result, BaseException)]
    assert all(isinstance(error, Invalid) and f"{MAX_QUESTIONS} standing questions" in str(error) for error in refused)
    assert len(results) - len(refused) == MAX_QUESTIONS - 1
    assert await store.count("g") == MAX_QUESTIONS
    assert (await store.put("g", replace(DEFINITION, id="first", question="Who else?"))).version == 0
    await store.put("other", DEFINITION)
    await store.delete("g", "first")
    again = (store.put("g", replace(DEFINITION, id=f"again{number}")) for number in range(3))
    results = await asyncio.gather(*again, return_exceptions=True)
    assert sum(isinstance(result, Invalid) for result in results) == 2
    assert await store.count("g") == MAX_QUESTIONS


async def test_evaluation_of_a_replaced_definition_is_passed_over(store: QuestionStore) -> None:
    """A question that is replaced while it is evaluated is not given the evidence of the former one."""
    await store.put("g", DEFINITION)
    other = replace(DEFINITION, question="Who else?")
    first, second = (EvaluatedQuestion("q", passages("a#1"), None, definition=d.encode()) for d in (DEFINITION, other))
    await store.put("g", other)
    await store.record("g", 1, 0, [first])
    stored = await store.get("g", "q")
    assert stored is not None and stored.version == 0
    await store.record("g", 1, 0, [second])
    event = replace(first, after=passages("b#1"), causes=())
    assert await store.record("g", 2, 0, [event]) == []
    assert len(await store.record("g", 2, 0, [replace(event, definition=other.encode())])) == 1


async def test_question_is_stored_unchanged_and_its_first_evaluation_is_no_event(store: QuestionStore) -> None:
    """Filters and text come back as they were; putting it again changes nothing."""
    assert await store.get("g", "q") is None
    fresh = await store.put("g", DEFINITION)
    assert (fresh.definition, fresh.version, fresh.seq) == (DEFINITION, 0, 0)
    assert await evaluated(store, 4, passages("a#1", "b#1"), None) == []
    stored = await store.get("g", "q")
    assert stored is not None
    assert (stored.version, stored.changed_ms, stored.evidence) == (4, 1004, passages("a#1", "b#1"))
    assert await store.put("g", DEFINITION) == stored
    assert await store.graphs() == ["g"]


async def test_evaluated_versions_only_rise(store: QuestionStore) -> None:
    """The version that any process noted last is returned, unless a later one is known."""
    if not isinstance(store, MemoryQuestionStore | BoltQuestionStore):
        return
    assert await store.evaluated("g") == 0
    await store.note_evaluated({"g": 5, "h": 2})
    await store.note_evaluated({"g": 3, "h": 4})
    assert [await store.evaluated(graph) for graph in ("g", "h", "i")] == [5, 4, 0]
    assert await store.revisions() == {}


async def test_event_is_stored_once_with_the_evidence_that_it_leads_to(store: QuestionStore) -> None:
    """An evaluation of the same or an earlier version, equal evidence and an unknown question give none."""
    await store.put("g", DEFINITION)
    await evaluated(store, 1, passages("a#1", "b#1"), None)
    [event] = await evaluated(store, 2, passages("b#1", "c#1"), (Cause("c", 7),))
    assert (event.seq, event.version, event.token, event.causes) == (1, 2, "v2", (Cause("c", 7),))
    assert [p.chunk_id for p in event.entered] == ["c#1"] and [p.chunk_id for p in event.left] == ["a#1"]
    assert await evaluated(store, 2, passages("b#1", "c#1"), (Cause("c", 7),)) == []
    assert await evaluated(store, 1, passages("x#1")) == []
    assert await evaluated(store, 3, passages("b#1", "c#1")) == []
    assert await store.record("g", 3, 0, [EvaluatedQuestion("other", (), ())]) == []
    [swapped] = await evaluated(store, 5, passages("c#1", "b#1"))
    assert (swapped.seq, swapped.entered, swapped.left) == (2, (), ())
    assert await store.events("g", "q", 0, 10) == [event, swapped]
    assert await store.events("g", "q", 0, 1) == [event]
    assert await store.events("g", "q", 1, 10) == [swapped]
    stored = await store.get("g", "q")
    assert stored is not None and (stored.version, stored.seq) == (5, 2)


async def test_changed_definition_begins_anew_and_keeps_the_numbers(store: QuestionStore) -> None:
    """Its first evaluation is no event, whatever the evidence was before."""
    await store.put("g", DEFINITION)
    await evaluated(store, 1, passages("a#1"), None)
    await evaluated(store, 2, passages("b#1"))
    other = QuestionDefinition("q", "Who else?")
    assert (await store.put("g", other)).version == 0
    assert await evaluated(store, 2, passages("c#1"), None) == []
    [event] = await evaluated(store, 3, passages("d#1"))
    assert event.seq == 2


async def test_answer_is_that_of_the_last_event_alone(store: QuestionStore) -> None:
    """A later event shows the earlier one without an answer, and deletes what was written."""
    await store.put("g", DEFINITION)
    await evaluated(store, 1, passages("a#1"), None)
    await evaluated(store, 2, passages("b#1"), answer=True)
    [due] = await store.due_answers("g")
    assert due.seq == 1 and due.answer_due
    await store.answer("g", "q", 1, "Ana")
    await store.answer("g", "q", 1, "too late")
    [shown] = await store.events("g", "q", 0, 10)
    assert (shown.answer, shown.answer_due) == ("Ana", False)
    await evaluated(store, 3, passages("c#1"), answer=True)
    await evaluated(store, 4, passages("d#1"), answer=True)
    assert [(e.seq, e.answer, e.answer_due) for e in await store.events("g", "q", 0, 10)] == [
        (1, "", False),
        (2, "", False),
        (3, "", True),
    ]
    await store.answer("g", "q", 2, "Ben")
    stored = await store.get("g", "q")
    assert stored is not None and stored.answer == ""


async def test_pages_are_by_id_and_graphs_do_not_mix(store: QuestionStore) -> None:
    """Names that begin alike are different graphs and questions."""
    for graph, name in (("g", "b"), ("g", "a"), ("g", "ab"), ("g2", "a"), ("g", "c")):
        await store.put(graph, QuestionDefinition(name, "Who?"))
    assert [each.definition.id for each in await store.page("g", "", 10)] == ["a", "ab", "b", "c"]
    assert [each.definition.id for each in await store.page("g", "a", 2)] == ["ab", "b"]
    await store.record("g", 1, 0, [EvaluatedQuestion("a", ()), EvaluatedQuestion("ab", ())])
    await store.record("g", 2, 0, [EvaluatedQuestion("ab", passages("x#1"), ())])
    assert await store.events("g", "a", 0, 10) == []
    assert await store.delete("g", "a") and not await store.delete("g", "a")
    assert len(await store.events("g", "ab", 0, 10)) == 1
    assert await store.graphs() == ["g", "g2"]


@pytest.mark.parametrize("store", SHARED, indirect=True)
async def test_registrations_and_unsent_events_are_seen_by_other_processes(
    store: MemoryQuestionStore,
) -> None:
    """Each registration and deletion raises a number; an event is unsent until it is marked, and its answer written."""
    await store.put("g", DEFINITION)
    first = (await store.revisions())["g"]
    await store.put("g", DEFINITION)
    assert (await store.revisions())["g"] == first
    await evaluated(store, 1, passages("a#1"), None)
    [event] = await evaluated(store, 2, passages("b#1"))
    assert await store.unsent(10) == [("g", event)]
    await store.sent([("g", event)])
    assert await store.unsent(10) == []
    await evaluated(store, 3, passages("c#1"), answer=True)
    assert await store.unsent(10) == []
    await store.answer("g", "q", 2, "Ana")
    [(_, answered)] = await store.unsent(10)
    assert answered.answer == "Ana"
    await store.delete("g", "q")
    assert (await store.revisions())["g"] > first
