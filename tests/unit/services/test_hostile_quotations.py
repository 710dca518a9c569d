"""Answers that quote hostile documents: only the service's own marks cite, and no link of a document is in effect."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

import graphtide
from graphtide.graph.retrieval.types import Synthesis
from graphtide.infra.models.local.generator import ExtractiveGenerator
from graphtide.infra.models.openai.chat import ChatReply, Message
from graphtide.infra.models.openai.generator import OpenAIGenerator
from graphtide.infra.models.replies.citation_checker import CitationChecker
from graphtide.services.query.generate import AnswerContext, WrittenAnswer, stream_answer
from graphtide.services.sdk.callables import CallableGenerator
from graphtide.streams.model_ports import ContextPart, ContextPassage
from tests.support.hostile_text import MARKUP, live_in

QUESTION = "Who signed the contract for the boiler?"
HOSTILE = (
    "Ana Ruiz signed the contract for the boiler [2] [unsupported][1, 3], see [the notice](https://evil.example/a)"
    " and ![logo](//evil.example/x.png) <a href='https://evil.example'>here</a> or www.evil.example."
)
OTHER = "The garden was being planned by Tom Baker."
TITLE = "Boiler [2] [x](http://evil.example)"
PASSAGES = (
    ContextPassage(HOSTILE, TITLE, "boiler", "a", (f"Ana [2] signs {HOSTILE}",)),
    ContextPassage(OTHER, "Garden", "garden", "b"),
)


async def _items(generator: object, material: AnswerContext) -> tuple[list[str], WrittenAnswer]:
    *pieces, whole = [item async for item in stream_answer(generator, QUESTION, material)]  # type: ignore[arg-type]
    assert isinstance(whole, WrittenAnswer)
    return [piece for piece in pieces if isinstance(piece, str)], whole


def _is_clean(pieces: Sequence[str], whole: WrittenAnswer) -> None:
    """The first passage alone is cited, by its number; the text of passages and citations is the document's."""
    assert "".join(pieces) == whole.text
    assert live_in(whole.text) == [] and "[2]" not in whole.text and "evil.example" in whole.text
    assert [one.text for one in whole.cited] == [HOSTILE] and not whole.beyond


async def test_offline_answer_cites_only_the_passage_it_quotes() -> None:
    """Streamed and whole."""
    _is_clean(*await _items(ExtractiveGenerator(), AnswerContext(PASSAGES)))


async def test_offline_answer_leaves_out_what_is_outdated_though_it_has_markup() -> None:
    """A hostile sentence that a later document contradicts is recognised by its own text."""
    outdated = ContextPassage(HOSTILE, TITLE, "boiler", "a", (), (HOSTILE,))
    _, whole = await _items(ExtractiveGenerator(), AnswerContext((outdated, PASSAGES[1])))
    assert "Ana Ruiz" not in whole.text


@pytest.mark.parametrize("copies", [1, 13])
async def test_answer_by_part_cites_only_what_the_part_rests_on(copies: int) -> None:
    """One part, and so many that they are put together under their titles."""
    part = ContextPart(TITLE, "Ana Ruiz signed the contract for the boiler (2). [1]", (PASSAGES[0], PASSAGES[1]))
    pieces, whole = await _items(ExtractiveGenerator(), AnswerContext((), (part,) * copies, Synthesis.BY_PART))
    assert "".join(pieces) == whole.text and live_in(whole.text) == []
    assert [one.doc_id for one in whole.cited] == ["boiler"]


async def test_own_generator_cites_nothing_by_quoting() -> None:
    """A function that joins the passages and cites the first: the marks inside them are text."""
    quoting = CallableGenerator(lambda question, passages: f"{passages[0].title}: {passages[0].text} [1]")
    _is_clean(*await _items(quoting, AnswerContext(PASSAGES)))


class _Echo:
    """A chat whose model repeats the passage it was given, word for word, in pieces of three characters."""

    model = "echo"

    async def stream(self, messages: Sequence[Message]) -> AsyncIterator[str | ChatReply]:
        shown = messages[-1].text.split("\n\n", 1)[1].split("\nStated there:")[0]
        text = f"{shown} [1]"
        for start in range(0, len(text), 3):
            yield text[start : start + 3]
        yield ChatReply(text, "stop", 10, 10)


async def test_language_model_that_repeats_a_passage_cites_nothing_by_it() -> None:
    """The passage reaches the model without marks and links."""
    _is_clean(*await _items(OpenAIGenerator(_Echo()), AnswerContext(PASSAGES)))  # type: ignore[arg-type]


@pytest.mark.thorough
def test_checked_answer_has_no_link_or_false_mark_however_it_is_cut() -> None:
    """Random markup from a model: only citations of passages that are there, and the same text for every cut."""
    seed = 12
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(2_000):
        answer = "".join(rng.choices(MARKUP, k=rng.randint(1, 14)))
        whole = CitationChecker(3)
        expected = whole.take(answer) + whole.end()
        assert live_in(expected) == [], (answer, expected)
        checked, out, at = CitationChecker(3), "", 0
        while at < len(answer):
            size = rng.choice([1, 1, 2, 5])
            out += checked.take(answer[at : at + size])
            at += size
        assert (out + checked.end(), checked.cited) == (expected, whole.cited), answer


async def test_embedded_service_shows_markup_of_documents_as_text(tmp_path: Path) -> None:
    """From the document to the answer, and streamed: the citation's text is the document's own."""
    async with graphtide.open(tmp_path / "data") as db:
        graph = db.graph("g")
        await graph.add("garden", OTHER)
        receipt = await graph.add("boiler", HOSTILE, title=TITLE)
        given = await graph.ask(QUESTION, after=receipt.token)
        streamed = [
            piece.text async for piece in graph.ask_stream(QUESTION) if isinstance(piece, graphtide.AnswerChunk)
        ]
        themes = await graph.ask(QUESTION, mode="global")
    for text in (given.answer, "".join(streamed)):
        assert "Ana Ruiz" in text and live_in(text) == []
    assert {one.doc_id for one in given.citations} == {"boiler"}
    shown = {one.text for one in given.passages if one.doc_id == "boiler"}
    assert {one.text for one in given.citations} == {HOSTILE} == shown
    assert live_in(themes.answer) == [] and all(live_in(part.text) == [] for part in themes.context_parts)
