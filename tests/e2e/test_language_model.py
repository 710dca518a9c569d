"""The whole service on a language model: the real corpus, misbehaviour, hostile texts, and the paid calls."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from graphtide.graph.digest import canonical_lines, digest
from graphtide.graph.records import DocumentInfo
from graphtide.infra.settings import Settings
from graphtide.services.application import Application, DocumentStatus, QueryRequest
from graphtide.services.local_application import LocalApplication
from graphtide.services.wiring import open_application
from graphtide.streams.errors import Broken, NotFound, Retryable
from graphtide.streams.messages import DocumentMessage, GivenEntity, GivenFact
from graphtide.streams.ports import RevisionState
from tests.support import llm_faults as fake
from tests.support.bench_data import Passage, bench_data, corpus
from tests.support.endpoints import DROPPED, NOT_JSON, SLOW, Fault, status
from tests.support.hostile import ATTEMPTS, MARKS, WHISPER, obedient
from tests.support.llm_server import LlmServer
from tests.support.recorded import Recordings

TEXT = "Halden Station was founded in 1961 by Ida Moreau. Aurora carried Tor Ruud to Skarv Island."
PASSAGES = 60


@pytest.fixture
def server() -> Iterator[LlmServer]:
    """Yield a language model on loopback."""
    with LlmServer() as running:
        yield running


def settings(data: Path, server: LlmServer | None, **changed: object) -> Settings:
    """Return settings that name the language model; without a server, none."""
    named: dict[str, object] = {"data": data, **changed}
    if server is not None:
        named |= {"llm_base_url": server.base_url, "llm_model": "test-model", "llm_api_key": SecretStr("sk-test")}
    return Settings(**named)  # type: ignore[arg-type]


def message(doc_id: str, text: str, title: str = "") -> DocumentMessage:
    return DocumentMessage("g", doc_id, text, DocumentInfo(title))


async def publish(application: Application, *documents: DocumentMessage) -> dict[str, DocumentStatus]:
    """Publish, and wait until each document has reached its end and questions see the result."""
    receipt = await application.publish(documents)
    with contextlib.suppress(NotFound):  # none was applied, so there is no graph
        await application.query("g", QueryRequest("?", generate=False, after=receipt.token, timeout_s=120))
    return {document.doc_id: await application.document("g", document.doc_id) for document in documents}


def triples(found: DocumentStatus) -> set[tuple[str, str, str]]:
    return {(fact.subject, fact.predicate, fact.object) for fact in found.facts}


# the real corpus


def as_document(passage: Passage, brought: bool) -> DocumentMessage:
    """Return the passage alone, or with the recorded extraction; a statement recorded twice is one."""
    if not brought:
        return message(passage.doc_id, passage.text, passage.title)
    entities = tuple(GivenEntity(name) for name in passage.entities)
    facts = tuple(GivenFact(*triple) for triple in dict.fromkeys(passage.triples))
    return DocumentMessage("g", passage.doc_id, passage.text, DocumentInfo(passage.title), entities, facts)


@contextlib.asynccontextmanager
async def built(data: Path, server: LlmServer | None, passages: Sequence[Passage]) -> AsyncIterator[Application]:
    unlimited = {"llm_requests_per_minute": 0, "llm_tokens_per_minute": 0}
    async with open_application(settings(data, server, **unlimited)) as application:
        found = await publish(application, *(as_document(one, brought=server is None) for one in passages))
        assert {one.state for one in found.values()} == {RevisionState.APPLIED}
        yield application


def without_sentences(application: Application) -> tuple[str, list[str]]:
    """Return digest and lines of the graph without evidence sentences: given facts have none."""
    assert isinstance(application, LocalApplication)
    view = application._runtime.views.get("g")
    assert view is not None
    with view.lock.read():
        rows = view.rows()
    bare = replace(rows, evidence=tuple(replace(row, sentence="") for row in rows.evidence))
    return digest(bare), sorted(canonical_lines(bare))


def titles_of(application: Application) -> dict[str, tuple[str, str]]:
    """Return the model's headings of the passages, by document."""
    assert isinstance(application, LocalApplication)
    view = application._runtime.views.get("g")
    assert view is not None
    return {chunk.doc_id: (chunk.title, chunk.description) for chunk in view.chunks.values()}


async def test_service_builds_the_same_graph_by_a_language_model_as_with_facts_brought_along(tmp_path: Path) -> None:
    """60 real passages give one digest, every statement has evidence, and a document takes at most 1.2 calls."""
    if not bench_data().exists():
        pytest.skip(f"{bench_data()} is missing: set GRAPHTIDE_BENCH_DATA")
    everything = corpus()
    several = sorted(everything, key=lambda passage: -len(passage.text))[:8]
    asking = [passage for passage in everything if "Question:" in passage.text]  # words of the answer's prompt
    passages = [*dict.fromkeys([*several, *asking, *everything])][:PASSAGES]
    async with built(tmp_path / "given", None, passages) as application:
        given = without_sentences(application)
    with LlmServer(Recordings.of(passages)) as server:
        async with built(tmp_path / "read", server, passages) as application:
            read = without_sentences(application)
            stated = await application.document("g", passages[-1].doc_id)
    assert read[1] == given[1] and read[0] == given[0]
    assert stated.facts and all(fact.evidence and fact.evidence in passages[-1].text for fact in stated.facts)
    tokens = sum(seen.prompt_tokens for seen in server.read)
    print(f"{len(server.read)} calls and {tokens} prompt tokens for {PASSAGES} documents")
    assert PASSAGES < len(server.read) <= 1.2 * PASSAGES


# paid calls


async def test_service_pays_for_a_changed_passage_alone_also_after_a_restart(tmp_path: Path, server: LlmServer) -> None:
    """A document of several passages is published again, under another id, after a restart, and with one edit."""
    paragraphs = [
        f"Person{n} founded Station{n} in 19{n}. " + f"Station{n} is a big place. " * 45 for n in range(10, 15)
    ]
    registry = CollectorRegistry()
    async with open_application(settings(tmp_path, server), registry) as application:
        await publish(application, message("a", "\n\n".join(paragraphs)))
        calls = len(server.read)
        assert calls >= 5
        await publish(application, message("a", "\n\n".join(paragraphs)))
        await publish(application, message("b", "\n\n".join(paragraphs)))
        assert len(server.read) == calls
    assert registry.get_sample_value("graphtide_extraction_cache_hits_total") == 2 * calls
    async with open_application(settings(tmp_path, server)) as application:
        await publish(application, message("c", "\n\n".join(paragraphs)))
        assert len(server.read) == calls
        paragraphs[2] = paragraphs[2].replace("founded", "closed")
        found = await publish(application, message("a", "\n\n".join(paragraphs)))
        assert len(server.read) == calls + 1 and found["a"].state is RevisionState.APPLIED


async def test_titles_of_passages_come_with_the_extraction_and_survive_a_rebuild(
    tmp_path: Path, server: LlmServer
) -> None:
    """One call per document covers both; `da-rag` names passages by them, before and after, without further calls."""
    documents = [message("halden", TEXT, "Halden Station"), message("moreau", "Ida Moreau led Halden Station.", "Ida")]
    async with open_application(settings(tmp_path, server)) as application:
        await publish(application, *documents)
        asked = QueryRequest("Who founded Halden Station?", mode="da-rag", generate=False, explain=True)
        first = (await application.query("g", asked)).trace
        calls = len(server.read)
        assert first is not None and calls == len(documents)
        await application.rebuild("g")
        assert not (await application.verify("g")).differences
        again = (await application.query("g", asked)).trace
        assert again is not None and len(server.read) == calls
    for trace in (first, again):
        assert "On Halden Station" in str(trace)


# misbehaviour


@pytest.mark.parametrize(
    ("faults", "cause"),
    [
        ((fake.CUT_OFF, fake.CUT_OFF), "cut off"),
        ((fake.MALFORMED, fake.MALFORMED), "not JSON"),
        ((fake.WRONG_SCHEMA, fake.WRONG_SCHEMA), "no list of entities"),
        ((fake.FLOOD, fake.FLOOD), "10000 entities"),
        ((fake.FILTERED,), "content filter"),
        ((status(413, "too large for me"),), "too large for me"),
    ],
)
async def test_document_fails_with_the_cause_and_holds_nobody_up(
    tmp_path: Path, server: LlmServer, faults: tuple[Fault, ...], cause: str
) -> None:
    """An unreadable answer is dead-lettered with the reason; the other documents are applied."""
    async with open_application(settings(tmp_path, server, llm_concurrency=1)) as application:
        server.misbehave(*faults)
        bad = (await publish(application, message("bad", TEXT)))["bad"]
        good = await publish(application, *(message(f"good{n}", f"{TEXT} {n}.") for n in range(3)))
    assert bad.state is RevisionState.FAILED and cause in bad.reason
    assert {one.state for one in good.values()} == {RevisionState.APPLIED} and len(server.read) == len(faults) + 3


@pytest.mark.parametrize(
    "fault",
    [
        status(429, retry_after="0.1"),
        status(503),
        DROPPED,
        SLOW,
        NOT_JSON,
        fake.DUPLICATED,
        fake.EMPTIED,
    ],
)
async def test_document_is_applied_when_the_model_comes_to_itself(
    tmp_path: Path, server: LlmServer, fault: Fault
) -> None:
    """A transient fault costs time and changes nothing: the facts are those of a healthy model."""
    async with open_application(settings(tmp_path, server, llm_timeout_s=0.5)) as application:
        right = (await publish(application, message("a", TEXT)))["a"]
        server.misbehave(fault)
        found = (await publish(application, message("b", f"{TEXT} So it was.")))["b"]
        assert not server.faults
    assert found.state is RevisionState.APPLIED and triples(found) == triples(right) != set()


async def test_question_is_told_that_the_model_is_away_and_documents_wait(tmp_path: Path, server: LlmServer) -> None:
    """A model that fails repeatedly gets no calls for a while: a question is refused with the time to retry."""
    async with open_application(settings(tmp_path, server)) as application:
        await publish(application, message("a", TEXT))
        server.misbehave(*[status(401)] * 3)
        for _ in range(2):
            with pytest.raises(Retryable) as raised:
                await application.query("g", QueryRequest("Who founded Halden Station?"))
        assert raised.value.retry_after_s and "is not called" in str(raised.value)
        assert sum(bool(seen.body.get("stream")) for seen in server.seen) == 1


async def test_service_refuses_half_a_language_model(tmp_path: Path) -> None:
    """An address without a model, or a model without an address, is an error at the start."""
    for half in ({"llm_base_url": "http://127.0.0.1:9/v1"}, {"llm_model": "m"}):
        with pytest.raises(Broken, match="needs both"):
            async with open_application(Settings(data=tmp_path, **half)):  # type: ignore[arg-type]
                raise AssertionError("opened")


# answers


async def test_question_is_answered_by_the_model_with_citations_and_usage(tmp_path: Path, server: LlmServer) -> None:
    """The answer cites the document, whole and streamed; unsupported text is marked."""
    async with open_application(settings(tmp_path, server)) as application:
        await publish(application, message("halden", TEXT), message("krill", "Penguins eat krill."))
        answer = await application.query("g", QueryRequest("Who founded Halden Station?"))
        assert "Ida Moreau" in answer.answer and [one.doc_id for one in answer.citations] == ["halden"]
        assert answer.usage.llm_calls == 1 and answer.usage.prompt_tokens > 0 < answer.usage.completion_tokens
        server.says = lambda seen: "Ida Moreau founded it [9]. She was tall."
        made_up = await application.query("g", QueryRequest("Who founded Halden Station?"))
        assert made_up.citations == () and made_up.answer.count("[unsupported]") == 2
        stats = await application.stats("g")
    assert "test-model" in stats.models["extraction"] and "test-model" in stats.models["answers"]


# hostile texts


@pytest.mark.parametrize("gullible", [False, True], ids=["careful", "gullible"])
async def test_hostile_texts_change_nothing_but_their_own_facts(tmp_path: Path, gullible: bool) -> None:
    """A corpus of instructions in documents, with a model that ignores them and one that obeys: the other documents,
    the prompt, the graphs and the requested endpoint are the same as without them.
    """
    friendly = [message("halden", TEXT, "Halden Station"), message("krill", "Penguins eat krill near Skarv Island.")]
    hostile = [message(f"hostile{n}", text, title) for n, (title, text) in enumerate(ATTEMPTS)]
    with LlmServer() as alone:
        async with open_application(settings(tmp_path / "alone", alone)) as application:
            before = await publish(application, *friendly)
            prompt = alone.seen[0].body["messages"][0]
    with LlmServer(says=obedient if gullible else None) as server:
        # There is no limit of tokens: the gullible model's flood, counted as reported, would use up some minutes'
        # worth.
        unlimited = settings(tmp_path / "beside", server, llm_tokens_per_minute=0)
        async with open_application(unlimited) as application:
            found = await publish(application, *hostile, *friendly)
            assert set(await application.graphs()) == {"g"}
            for document in friendly:
                one, other = found[document.doc_id], before[document.doc_id]
                assert (one.state, triples(one), one.text, one.metadata) == (
                    RevisionState.APPLIED,
                    triples(other),
                    other.text,
                    other.metadata,
                )
            titles = titles_of(application)
            for document in hostile:
                one = found[document.doc_id]
                assert one.state in (RevisionState.APPLIED, RevisionState.FAILED)
                for fact in one.facts:
                    assert fact.evidence and fact.evidence in document.text
    assert titles.pop("halden") == ("On Halden Station", TEXT.partition(" Aurora")[0])
    assert all(len(title) <= 80 and len(description) <= 240 for title, description in titles.values())
    assert any(WHISPER in title for title, _ in titles.values()) == gullible
    for seen in server.seen:
        assert WHISPER not in json.dumps(seen.body["messages"])
        assert seen.path == "/v1/chat/completions" and not {"tools", "functions", "tool_choice"} & set(seen.body)
    for seen in server.read:
        assert seen.body["messages"][0] == prompt
        for mark in MARKS.findall(seen.asked.partition("\n")[0]):
            assert seen.asked.count(f"</document-{mark}>") == 1 and seen.asked.endswith(f"</document-{mark}>")


@pytest.mark.parametrize("gullible", [False, True], ids=["careful", "gullible"])
async def test_hostile_passages_cannot_cite_what_was_not_found(tmp_path: Path, gullible: bool) -> None:
    """A question over hostile documents: whatever the model obeys, citations name passages of its context."""
    with LlmServer() as server:
        async with open_application(settings(tmp_path, server)) as application:
            documents = [message(f"hostile{n}", text, title) for n, (title, text) in enumerate(ATTEMPTS)]
            await publish(application, message("halden", TEXT), *documents)
            server.says = obedient if gullible else None
            answer = await application.query("g", QueryRequest("Who founded Halden Station?", top_k=10))
            asked = [seen for seen in server.seen if seen.asked.startswith("<passage-")][-1]
    shown = {passage.chunk_id for passage in answer.passages}
    assert {one.chunk_id for one in answer.citations} <= shown
    assert "[99]" not in answer.answer and ("[unsupported]" in answer.answer) == gullible
    for mark in MARKS.findall(asked.asked.partition("\n")[0]):
        assert asked.asked.count(f"</passage-{mark}>") == len(answer.passages)
    assert json.dumps(asked.body["messages"][0]).count("Halden") == 0
