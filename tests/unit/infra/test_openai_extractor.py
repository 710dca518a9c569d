"""Extraction by a language model: requests, accepted answers, and the outcome of each failure."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from graphtide.infra.models.cache.embeddings import MemoryVectorStore
from graphtide.infra.models.cache.extractions import MemoisedExtractor
from graphtide.infra.models.openai.chat import ChatEndpoint, OpenAIChat
from graphtide.infra.models.openai.extractor import OpenAIExtractor
from graphtide.infra.models.replies.extraction_parser import MAX_ENTITIES, SCHEMA
from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.models.usage.counters import Tally
from graphtide.infra.sqlite import SqliteDatabase, SqliteVectorStore
from graphtide.streams.errors import Rejected, Retryable
from graphtide.streams.model_ports import ExtractedEntity, ExtractedRelation, ExtractionResult
from tests.support import llm_faults as fake
from tests.support.bench_data import ROOT
from tests.support.endpoints import DROPPED, NOT_JSON, SLOW, Fault, status
from tests.support.llm_server import LlmServer, Seen

KEY = "sk-very-secret-0123456789"
TITLE = "Halden Station"
TEXT = "Halden Station is a research station on Skarv Island, founded in 1961 by Ida Moreau. Aurora carried Tor Ruud."


@pytest.fixture
def server() -> Iterator[LlmServer]:
    """A real endpoint on loopback."""
    with LlmServer() as running:
        yield running


@pytest.fixture
def registry() -> CollectorRegistry:
    """Return the registry of this test's counters."""
    return CollectorRegistry()


@pytest.fixture
def tally(registry: CollectorRegistry) -> Tally:
    """Return the counters on the registry."""
    return Tally(registry)


@pytest.fixture
async def chat(server: LlmServer, tally: Tally) -> AsyncIterator[OpenAIChat]:
    """Return a client of it."""
    client = OpenAIChat(ChatEndpoint(server.base_url, "test-model", KEY), UsageAccounting(tally=tally))
    yield client
    await client.close()


@pytest.fixture
def extractor(chat: OpenAIChat, tally: Tally) -> OpenAIExtractor:
    """Return an extractor on the client, counting into the registry."""
    return OpenAIExtractor(chat, tally)


def dropped(registry: CollectorRegistry, reason: str) -> float:
    return registry.get_sample_value("graphtide_extraction_items_dropped_total", {"reason": reason}) or 0


async def said(server: LlmServer, extractor: OpenAIExtractor, answer: object) -> ExtractionResult:
    """Return the extraction of this answer."""
    server.says = lambda seen: answer if isinstance(answer, str) else json.dumps(answer)
    return await extractor.extract(TEXT, title=TITLE)


def entity(name: str, type_: str = "person", evidence: str = "Ida Moreau") -> dict[str, str]:
    return {"name": name, "type": type_, "description": "", "evidence": evidence}


def relation(**changed: object) -> dict[str, object]:
    whole: dict[str, object] = {"subject": "Ida Moreau", "predicate": "founded", "object": "Halden Station"}
    whole |= {"description": "", "strength": 0.9, "evidence": TEXT.partition(" Aurora")[0]}
    return {**whole, "valid_from": "1961", "valid_to": "", **changed}


# what is sent


async def test_extraction_sends_text_between_marks_with_schema_and_no_tools(
    server: LlmServer, extractor: OpenAIExtractor
) -> None:
    """The system message is the prompt alone; the text is marked, complete; no tool is offered."""
    await extractor.extract(TEXT, title="A\ntitle")
    [seen] = server.seen
    assert set(seen.body) == {"model", "messages", "temperature", "max_tokens", "response_format"}
    assert seen.body["response_format"]["json_schema"] == {
        "name": "extraction",
        "strict": True,
        "schema": SCHEMA.shape,
    }
    system, user = seen.body["messages"]
    mark = user["content"].split(">")[0].removeprefix("<document-")
    assert user["content"] == f"<document-{mark}>\nTitle: A title\n\n{TEXT}\n</document-{mark}>"
    assert TEXT not in system["content"] and mark not in TEXT
    assert seen.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("refuses", "refused", "sent"),
    [
        (("json_schema",), 1, {"response_format": {"type": "json_object"}}),
        (("response_format",), 2, {}),
        (("max_tokens",), 1, {"max_completion_tokens": 4096}),
        (("temperature", "json_schema"), 2, {"response_format": {"type": "json_object"}}),
    ],
)
async def test_extraction_leaves_out_what_an_endpoint_does_not_know(
    server: LlmServer, extractor: OpenAIExtractor, refuses: tuple[str, ...], refused: int, sent: dict[str, object]
) -> None:
    """Each refusal costs one call, once; later calls use the variant that the endpoint accepts."""
    server.refuses = refuses
    first = await extractor.extract(TEXT, title=TITLE)
    assert len(server.seen) == refused + 1
    assert await extractor.extract(TEXT, title=TITLE) == first and first.relations
    assert len(server.seen) == refused + 2
    last = server.seen[-1].body
    assert {name: last[name] for name in sent} == sent
    assert not any(word in last for word in refuses)


LLAMA_CPP = (
    "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or"
    " 'json_object'\", 'input': 'json_schema'}]"
)
VALIDATOR = {
    "detail": [{"loc": ["body", "response_format", "type"], "msg": "unexpected value; permitted: 'json_object'"}]
}


@pytest.mark.parametrize(
    "refusal",
    [
        status(500, LLAMA_CPP),
        status(501, "response_format is not implemented"),
        Fault(422, body=json.dumps(VALIDATOR).encode()),
        Fault(400, body=b"json_schema is unknown"),
    ],
    ids=["llama.cpp", "not implemented", "validator", "text"],
)
async def test_extraction_falls_back_to_json_mode_however_a_schema_is_refused(
    server: LlmServer, extractor: OpenAIExtractor, refusal: Fault
) -> None:
    """A refusal counts by what it names, with any of these statuses and in any format; it is remembered."""
    server.misbehave(refusal)
    assert (await extractor.extract(TEXT, title=TITLE)).relations
    assert [seen.body["response_format"]["type"] for seen in server.seen] == ["json_schema", "json_object"]
    await extractor.extract(TEXT + " Again.", title=TITLE)
    assert server.seen[-1].body["response_format"] == {"type": "json_object"} and len(server.seen) == 3


@pytest.mark.parametrize(
    ("key", "said", "shown"),
    [
        ("ex", "the text exceeds the context", "the text exceeds the context"),
        ("context", "context contextual (context)", "[key] contextual ([key])"),
        (KEY, f"invalid{KEY}!", "invalid[key]!"),
    ],
)
async def test_refusal_is_shown_without_the_key_and_with_all_its_words(
    server: LlmServer, key: str, said: str, shown: str
) -> None:
    """A short key stays as a part of ordinary words, and one too short to protect anything is no secret."""
    client = OpenAIChat(ChatEndpoint(server.base_url, "m", key))
    server.misbehave(status(400, said))
    with pytest.raises(Rejected) as raised:
        await OpenAIExtractor(client).extract(TEXT, title=TITLE)
    assert str(raised.value).endswith(f": {shown}")
    await client.close()


async def test_extraction_learns_once_when_many_ask_at_the_same_time(
    server: LlmServer, extractor: OpenAIExtractor
) -> None:
    """Eight first calls are refused together; all of them succeed in the end."""
    server.refuses = ("json_schema", "temperature")
    found = await asyncio.gather(*(extractor.extract(f"{TEXT} {number}.", title=TITLE) for number in range(8)))
    assert all(one.relations for one in found)


async def test_extraction_asks_nothing_when_there_are_no_words(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """A text without words is not worth a call."""
    assert await extractor.extract("- - -\n* * *", title=TITLE) == ExtractionResult()
    assert not server.seen


async def test_extraction_name_tells_model_prompt_and_schema_apart(chat: OpenAIChat) -> None:
    """The name keys the memo: another prompt or model must not find this one's results."""
    name = OpenAIExtractor(chat).name
    assert "test-model" in name and "extraction-2-" in name and "schema-" in name and KEY not in name + repr(chat)


# gleaning


def gleaned(seen: Seen) -> str | None:
    """Gleaning finds one new relation, one known, and one that the passage does not support."""
    if len(seen.body["messages"]) < 4:
        return None
    new = {"subject": "Aurora", "predicate": "sailed to", "object": "Skarv Island", "description": "", "strength": 1}
    new |= {"evidence": "Aurora carried", "valid_from": "", "valid_to": ""}
    known = json.loads(seen.body["messages"][2]["content"])["relations"][0]
    return json.dumps({"entities": [], "relations": [new, known, {**new, "evidence": "Not written."}]})


async def test_extraction_gleans_what_it_missed_by_one_call_more(server: LlmServer, chat: OpenAIChat) -> None:
    """Gleaned results are joined to the first, each item once, in the first one's form; the name differs."""
    once, twice = OpenAIExtractor(chat), OpenAIExtractor(chat, glean=True)
    first = await once.extract(TEXT, title=TITLE)
    assert len(server.seen) == 1
    server.says = gleaned
    found = await twice.extract(TEXT, title=TITLE)
    assert len(server.seen) == 3 and once.name != twice.name
    assert found.relations[: len(first.relations)] == first.relations
    assert [one.predicate for one in found.relations[len(first.relations) :]] == ["sailed to"]
    names = [(one.name, one.type) for one in found.entities]
    assert len(set(names)) == len(names) and {"Aurora", "Skarv Island"} <= {name for name, _ in names}


async def test_extraction_keeps_the_first_answer_when_gleaning_gives_nothing(
    server: LlmServer, chat: OpenAIChat, registry: CollectorRegistry, tally: Tally
) -> None:
    """A gleaning without an extraction loses nothing, costs no further call, and is counted."""
    first = await OpenAIExtractor(chat).extract(TEXT, title=TITLE)
    server.says = lambda seen: "I see nothing more." if len(seen.body["messages"]) > 2 else None
    assert await OpenAIExtractor(chat, tally, glean=True).extract(TEXT, title=TITLE) == first
    assert len(server.seen) == 3 and dropped(registry, "gleaning") == 1
    assert registry.get_sample_value("graphtide_llm_calls_total", {"graph": "-", "stage": "glean"}) == 1


# what is taken


async def test_extraction_takes_fields_as_they_are_meant(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """Types become lower case, blanks collapse, ends without an entity get one, validity and strength are kept."""
    found = await said(server, extractor, {"entities": [entity(" Ida \n Moreau", "Person")], "relations": [relation()]})
    assert found.entities == (ExtractedEntity("Ida Moreau", "person"), ExtractedEntity("Halden Station", ""))
    evidence = TEXT.partition(" Aurora")[0]
    assert found.relations == (
        ExtractedRelation("Ida Moreau", "founded", "Halden Station", "", 0.9, evidence, "1961", None),
    )


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        (" Polar\nresearch\u0000 ", "Polar research"),
        ("word " * 40, "word " * 14 + "word\u2026"),
        ("x" * 300, "x" * 79 + "\u2026"),
        ("\ud800 on ice", "? on ice"),
        (["Polar"], ""),
        (None, ""),
    ],
)
async def test_extraction_takes_a_title_as_one_bounded_line(
    server: LlmServer, extractor: OpenAIExtractor, title: object, expected: str
) -> None:
    """A text that is too long ends after a word; a value of another type is left out, and the rest of the answer is
    kept.
    """
    found = await said(server, extractor, {"title": title, "entities": [], "relations": [relation()]})
    assert (found.title, found.description) == (expected, "") and found.relations


async def test_extraction_has_title_and_description_at_no_call_of_their_own(
    server: LlmServer, extractor: OpenAIExtractor
) -> None:
    """The schema asks for title and description; the memo stores them, and reads entries without them."""
    store = MemoryVectorStore()
    memo = MemoisedExtractor(extractor, store)
    found = await memo.extract(TEXT, title=TITLE)
    assert (found.title, found.description) == (f"On {TITLE}", TEXT.partition(" Aurora")[0])
    assert await memo.extract(TEXT, title=TITLE) == found and len(server.seen) == 1
    [key] = store.held()
    kept = json.loads((await store.get_many([key]))[key])
    await store.put_many({key: json.dumps(kept[:2]).encode()})
    assert (
        await memo.extract(TEXT, title=TITLE) == ExtractionResult(found.entities, found.relations)
        and len(server.seen) == 1
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("strength", "weight"),
    [(0, 0.001), (-3, 0.001), (7, 1.0), ("high", 1.0), (None, 1.0), (True, 1.0), (0.25, 0.25), (10**400, 1.0)],
)
async def test_extraction_bounds_the_strength(
    server: LlmServer, extractor: OpenAIExtractor, strength: object, weight: float
) -> None:
    """A weight is above 0 and at most 1, whatever the strength; a value that is not a number counts as 1."""
    found = await said(server, extractor, {"entities": [], "relations": [relation(strength=strength)]})
    assert found.relations[0].weight == weight


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (relation(evidence="Ida Moreau never founded anything."), "evidence"),
        (relation(evidence=""), "evidence"),
        (relation(evidence=None), "shape"),
        (relation(subject=["Ida"]), "shape"),
        (relation(predicate=" \u0000"), "blank"),
        (relation(object="x" * 600), "length"),
        (relation(), "duplicate"),
        ("Ida founded it", "shape"),
    ],
)
async def test_extraction_drops_and_counts_what_the_text_does_not_bear_out(
    server: LlmServer, extractor: OpenAIExtractor, registry: CollectorRegistry, item: object, reason: str
) -> None:
    """An invalid item is left out alone, and counted by reason."""
    found = await said(server, extractor, {"entities": [entity("Ida Moreau")], "relations": [relation(), item]})
    assert len(found.relations) == 1 and dropped(registry, reason) == 1
    assert len(server.seen) == 1


async def test_extraction_keeps_a_relation_whose_date_is_none(
    server: LlmServer, extractor: OpenAIExtractor, registry: CollectorRegistry
) -> None:
    """A date in words is left out; the statement is kept without it."""
    found = await said(server, extractor, {"entities": [], "relations": [relation(valid_from="the sixties")]})
    assert found.relations[0].valid_from is None and dropped(registry, "date") == 1


async def test_extraction_survives_strange_strings(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """Lone surrogates, control characters and zero bytes cannot be stored: they are replaced."""
    raw = (
        '{"entities": [{"name": "Ida\\ud800\\u0000 Moreau", "type": "", "description": "a\\u001fb", "evidence": "Ida"}]'
    )
    found = await said(server, extractor, raw + ', "relations": [], "graph": "other", "delete": ["everything"]}')
    assert found == ExtractionResult((ExtractedEntity("Ida? Moreau", "", "a b"),))


# misbehaviour


@pytest.mark.parametrize("fault", [fake.FENCED, fake.NO_USAGE, fake.DUPLICATED, fake.EMPTIED, fake.ODD_FIELDS])
async def test_extraction_gives_the_same_when_an_answer_is_untidy(
    server: LlmServer, extractor: OpenAIExtractor, fault: Fault
) -> None:
    """Words around JSON, missing usage, duplicates, blank or strange items: the valid rest is accepted, in one call."""
    right = await extractor.extract(TEXT, title=TITLE)
    server.misbehave(fault)
    assert await extractor.extract(TEXT, title=TITLE) == right
    assert len(server.seen) == 2 and right.relations


async def test_extraction_keeps_no_relation_without_evidence(
    server: LlmServer, extractor: OpenAIExtractor, registry: CollectorRegistry
) -> None:
    """Sentences that the model invented are not in the text, and items that cite them are left out."""
    server.misbehave(fake.UNBORNE)
    found = await extractor.extract(TEXT, title=TITLE)
    assert found.relations == () and found.entities and dropped(registry, "evidence") > 0


UNUSABLE = {
    "cut-off": (fake.CUT_OFF, "cut off"),
    "malformed": (fake.MALFORMED, "not JSON"),
    "empty": (fake.EMPTY, "not JSON"),
    "wrong-schema": (fake.WRONG_SCHEMA, "no list of entities"),
    "a-list": (fake.A_LIST, "no list of entities|not a JSON object"),
    "flood": (fake.FLOOD, f"10000 entities; at most {MAX_ENTITIES}"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", sorted(set(UNUSABLE) - {"a-list"}))
async def test_extraction_asks_once_more_when_an_answer_cannot_be_used(
    server: LlmServer, extractor: OpenAIExtractor, case: str
) -> None:
    """The second call names the error of the first, quotes at most a part of it, and its answer is accepted."""
    right = await extractor.extract(TEXT, title=TITLE)
    server.misbehave(UNUSABLE[case][0])
    assert await extractor.extract(TEXT, title=TITLE) == right
    again = server.seen[-1].body["messages"]
    assert len(server.seen) == 3 and [one["role"] for one in again] == ["system", "user", "assistant", "user"]
    assert "cannot be used" in again[-1]["content"] and len(again[2]["content"]) <= 4_000


@pytest.mark.thorough
@pytest.mark.parametrize("case", sorted(set(UNUSABLE) - {"a-list"}))
async def test_extraction_rejects_with_the_cause_when_the_second_answer_is_no_better(
    server: LlmServer, extractor: OpenAIExtractor, registry: CollectorRegistry, case: str
) -> None:
    """After two calls, both counted, the text is rejected with the reason."""
    fault, cause = UNUSABLE[case]
    server.misbehave(fault, fault)
    with pytest.raises(Rejected, match=cause):
        await extractor.extract(TEXT, title=TITLE)
    assert len(server.seen) == 2
    assert registry.get_sample_value("graphtide_llm_calls_total", {"graph": "-", "stage": "extract"}) == 2


async def test_extraction_takes_an_object_inside_a_list(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """Some models wrap their one object in a list; the object is found."""
    right = await extractor.extract(TEXT, title=TITLE)
    server.misbehave(fake.A_LIST)
    assert await extractor.extract(TEXT, title=TITLE) == right


async def test_extraction_rejects_what_the_model_declines(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """A refusal by a content filter is Rejected: a retry would get the same answer."""
    server.misbehave(fake.FILTERED)
    with pytest.raises(Rejected, match="content filter"):
        await extractor.extract(TEXT, title=TITLE)
    assert len(server.seen) == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("fault", "wait_s"),
    [
        (status(429, retry_after="2"), 2.0),
        (status(503), None),
        (status(500), None),
        (status(401, f"Incorrect API key provided: {KEY}"), 60.0),
        (DROPPED, None),
        (NOT_JSON, None),
        (fake.NO_CHOICES, None),
        (Fault(body=b'{"choices": [{"message": {"content": 7}}]}'), None),
        (Fault(body=b"[]"), None),
        (Fault(body=b"null"), None),
    ],
)
async def test_extraction_raises_retryable_once_when_it_may_work_later(
    server: LlmServer, extractor: OpenAIExtractor, fault: Fault, wait_s: float | None
) -> None:
    """A failed call is one attempt and one Retryable with the endpoint's wait; the next call works."""
    server.misbehave(fault)
    with pytest.raises(Retryable) as raised:
        await extractor.extract(TEXT, title=TITLE)
    assert raised.value.retry_after_s == wait_s and server.base_url in str(raised.value)
    assert KEY not in str(raised.value) and len(server.seen) == 1
    assert (await extractor.extract(TEXT, title=TITLE)).relations


async def test_extraction_rejects_a_text_that_the_endpoint_will_never_take(
    server: LlmServer, extractor: OpenAIExtractor
) -> None:
    """The error contains the endpoint's own words, for the operator who has to shorten the text, without the key."""
    server.misbehave(status(400, f"maximum context length is 8192 tokens, {KEY}"))
    with pytest.raises(Rejected, match="8192 tokens") as raised:
        await extractor.extract(TEXT, title=TITLE)
    assert KEY not in str(raised.value)


async def test_extraction_raises_retryable_when_the_answer_is_late(server: LlmServer) -> None:
    """A hanging endpoint costs the timeout."""
    client = OpenAIChat(ChatEndpoint(server.base_url, "m", timeout_s=0.2))
    server.misbehave(SLOW)
    with pytest.raises(Retryable, match=r"did not answer within 0\.2 s"):
        await OpenAIExtractor(client).extract(TEXT, title=TITLE)
    await client.close()


async def test_extraction_never_shows_its_key_in_the_log(
    server: LlmServer, extractor: OpenAIExtractor, caplog: pytest.LogCaptureFixture
) -> None:
    """No log line at any level contains the key, whatever the endpoint echoes."""
    caplog.set_level(logging.DEBUG)
    for code in (400, 401, 429, 500):
        server.misbehave(status(code, f"your key {KEY} is no good"))
        with pytest.raises((Retryable, Rejected)):
            await extractor.extract(TEXT, title=TITLE)
    assert KEY not in caplog.text


async def test_extraction_reads_recordings_from_a_server_in_a_process_of_its_own() -> None:
    """`python -m tests.support.llm_server` serves as the class does, for benchmarks and manual trials."""
    command = [sys.executable, "-m", "tests.support.llm_server", "--port", "0", "--only-json-mode", "--fault", "503"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:  # noqa: ASYNC220 - a moment
        try:
            lines = iter(process.stdout or ())
            url = next(line.split()[-1] for line in lines if line.startswith("listening on"))
            client = OpenAIChat(ChatEndpoint(url, "m"))
            with pytest.raises(Retryable, match="503"):  # the requested fault fails the second request, after a 400
                await OpenAIExtractor(client).extract(TEXT, title=TITLE)
            assert (await OpenAIExtractor(client).extract(TEXT, title=TITLE)).relations
            await client.close()
        finally:
            process.terminate()


# the memo


async def test_memo_pays_once_for_a_passage_and_again_when_anything_differs(
    server: LlmServer, extractor: OpenAIExtractor
) -> None:
    """The same text and title cost one call, also concurrently; another title, text or model costs its own."""
    store = MemoryVectorStore()
    memo = MemoisedExtractor(extractor, store)
    first, second = await asyncio.gather(memo.extract(TEXT, title=TITLE), memo.extract(TEXT, title=TITLE))
    assert first == second == await memo.extract(TEXT, title=TITLE) and len(server.seen) == 1
    await memo.extract(TEXT, title="Else")
    await memo.extract(f"{TEXT} More.", title=TITLE)
    other = OpenAIChat(ChatEndpoint(server.base_url, "other-model", KEY))
    await MemoisedExtractor(OpenAIExtractor(other), store).extract(TEXT, title=TITLE)
    await other.close()
    assert len(server.seen) == 4


async def test_memo_holds_over_a_restart_and_beside_many_vectors(
    server: LlmServer, extractor: OpenAIExtractor, tmp_path: Path
) -> None:
    """Paid results are on the disk, in a table of their own that other memos do not fill."""
    database = await SqliteDatabase.open(tmp_path)
    store = SqliteVectorStore(database, table="extraction_memo")
    await store.create()
    first = await MemoisedExtractor(extractor, store).extract(TEXT, title=TITLE)
    crowd = SqliteVectorStore(database, capacity=4)
    await crowd.put_many({bytes([number]) * 32: b"x" for number in range(40)})
    await database.close()
    database = await SqliteDatabase.open(tmp_path)
    again = SqliteVectorStore(database, table="extraction_memo")
    await again.create()
    assert await MemoisedExtractor(extractor, again).extract(TEXT, title=TITLE) == first
    assert len(server.seen) == 1 and first.relations
    await database.close()


async def test_memo_finishes_a_paid_call_when_its_caller_is_cancelled(
    server: LlmServer, extractor: OpenAIExtractor
) -> None:
    """A cancelled caller does not cancel its call; the next caller gets the result."""
    memo = MemoisedExtractor(extractor, MemoryVectorStore())
    server.hold = threading.Event()
    caller = asyncio.ensure_future(memo.extract(TEXT, title=TITLE))
    await asyncio.to_thread(server.arrived.get)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    server.hold.set()
    assert (await memo.extract(TEXT, title=TITLE)).relations and len(server.seen) == 1


async def test_memo_keeps_nothing_of_a_failed_call(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """After a failed call the next caller makes a new one."""
    memo = MemoisedExtractor(extractor, MemoryVectorStore())
    server.misbehave(status(503))
    with pytest.raises(Retryable):
        await memo.extract(TEXT, title=TITLE)
    assert (await memo.extract(TEXT, title=TITLE)).relations


async def test_memo_asks_anew_when_what_it_kept_cannot_be_read(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """A value of another form is a miss, not a failure."""
    store = MemoryVectorStore()
    memo = MemoisedExtractor(extractor, store)
    first = await memo.extract(TEXT, title=TITLE)
    for broken in (b"", b"{}", b"[[[1]],[]]", b"\xff"):
        await store.put_many(dict.fromkeys(store.held(), broken))
        assert await memo.extract(TEXT, title=TITLE) == first
    assert len(server.seen) == 5


async def test_memo_gives_up_what_is_under_way_when_closed(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """Closing does not wait for a hanging endpoint."""
    memo = MemoisedExtractor(extractor, MemoryVectorStore())
    server.misbehave(SLOW)
    caller = asyncio.ensure_future(memo.extract(TEXT, title=TITLE))
    await asyncio.to_thread(server.arrived.get)
    await memo.close()
    with pytest.raises(asyncio.CancelledError):
        await caller
