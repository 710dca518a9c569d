"""Replies of models that should be JSON objects."""

from __future__ import annotations

import json

import pytest

from graphtide.infra.models.cache.embeddings import MemoryVectorStore
from graphtide.infra.models.cache.extractions import MemoisedExtractor
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.openai.chat import ChatEndpoint, Message, OpenAIChat
from graphtide.infra.models.openai.generator import OpenAIGenerator
from graphtide.infra.models.openai.reporter import SCHEMA
from graphtide.infra.models.replies.extraction_parser import read
from graphtide.infra.models.replies.json_replies import Pieces, object_of
from graphtide.streams.model_ports import ContextPassage
from tests.support.llm_server import LlmServer


@pytest.mark.parametrize("text", ["", "no", "[1]", "null", '{"a": 1', '{"a":' * 100_000, "[" * 100_000, '{"a": 1} yes'])
def test_reply_that_is_no_object_is_an_empty_one(text: str) -> None:
    """Any other text gives an empty object: nothing is raised, however deep it is nested."""
    assert object_of(text) == {}


def test_reply_that_is_an_object_is_given_as_it_is() -> None:
    """Blanks around the object are accepted."""
    assert object_of('\n {"a": [1, null]} ') == {"a": [1, None]}


LONE, REPLACED = "\\ud83d", "?"
PAIR = "\\ud83d\\ude00"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (LONE, REPLACED),
        (PAIR, "\U0001f600"),
        (LONE * 2, REPLACED * 2),
        ("\\ude00\\ud83d", REPLACED * 2),
        ("\u00e9", "\u00e9"),
    ],
)
def test_half_a_surrogate_pair_is_replaced_wherever_it_is(written: str, read: str) -> None:
    """Strings in keys, values and lists are made well-formed: they can be stored and sent."""
    body = object_of(f'{{"a{written}": ["{written}", {{"b": "x{written}y"}}]}}')
    assert body == {f"a{read}": [read, {"b": f"x{read}y"}]}


@pytest.mark.parametrize("pieces", [["a\ud83d", "\ude00b"], ["a\ud83d", "", "\ude00", "b"], ["a", "\ud83d\ude00b"]])
def test_streamed_pair_is_kept_together(pieces: list[str]) -> None:
    """However a stream is cut, the text is the same."""
    arriving = Pieces()
    given = [arriving.take(piece) for piece in pieces]
    assert "".join(given) + arriving.end() == "a\U0001f600b"


def test_streamed_half_that_stays_alone_is_replaced() -> None:
    """A lone half is replaced between other characters, and as the last of all."""
    arriving = Pieces()
    assert arriving.take("\ud83d") + arriving.take("x\ude00") + arriving.take("\ud83d") + arriving.end() == "?x??"


def test_extraction_with_half_a_pair_can_be_stored() -> None:
    """Every string of a parsed value is valid UTF-8."""
    entity = {"name": "Ana LONE", "type": "person", "description": "LONE", "evidence": "Ana"}
    answer = json.dumps({"title": "LONE", "description": "LONE", "entities": [entity], "relations": []})
    found = read(answer.replace("LONE", LONE), "Ana works.").found
    assert [one.name for one in found.entities] == [f"Ana {REPLACED}"]
    repr(found).encode()


async def test_memo_that_holds_half_a_pair_is_read_without_it() -> None:
    """Entries of memos from before replies were cleaned can be stored, too."""
    store = MemoryVectorStore()
    memo = MemoisedExtractor(OfflineExtractor(), store)
    memo_text = f'[[["Ana {LONE}", "person", "{LONE}"]], [], [["{LONE}", "{LONE}"]]]'
    await store.put_many({memo.key("t", "Ana works."): memo_text.encode()})
    found = await memo.extract("Ana works.", title="t")
    assert found.title == REPLACED and found.entities[0].name == f"Ana {REPLACED}"


async def test_model_whose_every_reply_has_half_a_pair_is_read() -> None:
    """No text of a reply, a refusal or an answer has a lone half, whole or streamed."""
    with LlmServer(says=lambda _: "Lake \ud83d is deep [1]. \ud83d") as server:
        chat = OpenAIChat(ChatEndpoint(server.base_url, "m"))
        reply = await chat.complete([Message("user", "Say.")], SCHEMA)
        reply.text.encode()
        passages = [ContextPassage("Lake Vigdis is deep.", chunk_id="c")]
        pieces = [one async for one in OpenAIGenerator(chat).stream("How deep is it?", passages)]
        await chat.close()
    texts = [one if isinstance(one, str) else one.text for one in pieces]
    assert all(text.encode() for text in texts) and texts[-1].count(REPLACED) == 2
