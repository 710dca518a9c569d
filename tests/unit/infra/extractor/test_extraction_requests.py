"""Extraction by a language model: what is sent, and what an endpoint refuses of it."""

from __future__ import annotations

import asyncio
import json

import pytest
from prometheus_client import CollectorRegistry

from graphtide.infra.models.openai.chat import ChatEndpoint, OpenAIChat
from graphtide.infra.models.openai.extractor import OpenAIExtractor
from graphtide.infra.models.replies.extraction_parser import SCHEMA
from graphtide.infra.models.usage.counters import Tally
from graphtide.streams.errors import Rejected
from graphtide.streams.model_ports import ExtractionResult
from tests.support.endpoints import Fault, status
from tests.support.extractor_replies import KEY, TEXT, TITLE, dropped
from tests.support.llm_server import LlmServer, Seen


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
    ("key", "message", "shown"),
    [
        ("ex", "the text exceeds the context", "the text exceeds the context"),
        ("context", "context contextual (context)", "[key] contextual ([key])"),
        (KEY, f"invalid{KEY}!", "invalid[key]!"),
    ],
)
async def test_refusal_is_shown_without_the_key_and_with_all_its_words(
    server: LlmServer, key: str, message: str, shown: str
) -> None:
    """A short key stays as a part of ordinary words, and one too short to protect anything is no secret."""
    client = OpenAIChat(ChatEndpoint(server.base_url, "m", key))
    server.misbehave(status(400, message))
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
