"""An answer from parts: each rated, the best packed, the final one cited from what the parts cited, usage summed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest

from graphtide.graph.retrieval.types import Synthesis
from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.local.generator import NOTHING_FITS, ExtractiveGenerator
from graphtide.services.application import Usage
from graphtide.services.query.generate import (
    AnswerContext,
    WrittenAnswer,
    generate_answer,
    grouped,
    packed,
    stream_answer,
)
from graphtide.streams.errors import Retryable
from graphtide.streams.model_ports import ContextPart, ContextPassage, Generated, PartAnswer, citable


def passage(name: str, text: str = "") -> ContextPassage:
    return ContextPassage(text or f"Text of {name}.", name, f"doc-{name}", name)


A, B, C, D = (passage(name) for name in "abcd")
PARTS = (
    ContextPart("one", "Amber is old [1]. Birch is tall [2].", (A, B)),
    ContextPart("two", "Cedar is red [2].", (B, C)),
    ContextPart("three", "Nothing to see [1].", (D,)),
)


@dataclass
class Scripted:
    """A Generator that answers each part as told, and finally with all texts it is given, one sentence each."""

    answers: dict[str, PartAnswer]
    fails: bool = False
    running: int = 0
    asked: list[tuple[Sequence[ContextPassage], Sequence[ContextPart]]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "scripted"

    async def answer_part(self, question: str, part: ContextPart) -> PartAnswer:
        self.running += 1
        try:
            if self.fails and part.title == "one":
                raise Retryable("the model is unreachable")
            if self.fails:
                await asyncio.Event().wait()
            return self.answers[part.title]
        finally:
            self.running -= 1

    async def answer(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> Generated:
        raise AssertionError("the final step is streamed")

    async def stream(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> AsyncIterator[str | Generated]:
        self.asked.append((context, parts))
        sources = citable(context, parts)
        pieces = [f"Said [{number}]. " for number in range(len(sources), 0, -1)]
        for piece in pieces:
            yield piece
        yield Generated("".join(pieces), tuple(range(len(sources) - 1, -1, -1)), 1, 100, 10)


def scripted() -> Scripted:
    return Scripted(
        {
            "one": PartAnswer("Amber [2].", 40, (1,), 1, 7, 2),
            "two": PartAnswer("Cedar [2][1].", 90, (1, 0), 1, 8, 3),
            "three": PartAnswer("", 0, (), 1, 9, 1),
        }
    )


async def test_answer_by_part_is_written_from_the_helpful_parts_best_first() -> None:
    """The part rated 0 is dropped, the others come by rating under numbers of what they cite, all calls are counted."""
    generator = scripted()
    whole = await generate_answer(generator, "?", AnswerContext((A,), PARTS, Synthesis.BY_PART))
    [(context, parts)] = generator.asked
    assert context == ()
    assert [(part.title, part.text, part.sources) for part in parts] == [
        ("two", "Cedar [1][2].", (C, B)),
        ("one", "Amber [1].", (B,)),
    ]
    assert whole.usage == Usage(4, 124, 16)


async def test_numbers_of_an_answer_name_the_passages_shown_and_then_those_beyond() -> None:
    """`[1]` is the passage that was retrieved; what only the parts rest on is numbered on in order of first use."""
    whole = await generate_answer(scripted(), "?", AnswerContext((B,), PARTS, Synthesis.BY_PART))
    assert whole.text == "Said [1]. Said [2]. "
    assert (whole.cited, whole.beyond) == ((B, C), (C,))


async def test_answer_by_part_saves_the_last_call_when_one_part_helps() -> None:
    """The one answer is the final one, under the numbers of the whole."""
    generator = scripted()
    generator.answers["two"] = PartAnswer("", 0, (), 1, 8, 3)
    whole = await generate_answer(generator, "?", AnswerContext((A,), PARTS, Synthesis.BY_PART))
    assert not generator.asked
    assert (whole.text, whole.cited, whole.usage) == ("Amber [2].", (B,), Usage(3, 24, 6))


async def test_answer_by_part_says_so_when_no_part_helps() -> None:
    """All parts are rated 0: the answer cites nothing, and reports its cost."""
    generator = ExtractiveGenerator()
    whole = await generate_answer(generator, "Who led Zanzibar?", AnswerContext((A,), PARTS, Synthesis.BY_PART))
    assert (whole.text, whole.cited, whole.beyond) == (NOTHING_FITS, (), ())


async def test_answer_at_once_reads_passages_and_parts_together() -> None:
    """One step; the parts' sources may be cited beside the passages."""
    generator = scripted()
    whole = await generate_answer(generator, "?", AnswerContext((C,), PARTS[:1]))
    assert generator.asked == [((C,), PARTS[:1])]
    assert whole.cited == (B, A, C) and whole.beyond == (B, A)
    assert whole.usage == Usage(1, 100, 10)


async def test_pieces_joined_are_the_answer() -> None:
    """The streamed pieces are the text of the whole answer, with a real generator."""
    parts = (
        ContextPart("ada", "Ada Lovelace knew Charles Babbage [2]. She wrote notes [1].", (A, B)),
        ContextPart("engine", "Charles Babbage built the Difference Engine [1].", (C,)),
    )
    material = AnswerContext((C,), parts, Synthesis.BY_PART)
    items = [item async for item in stream_answer(ExtractiveGenerator(), "Who knew Charles Babbage?", material)]
    whole = items[-1]
    assert isinstance(whole, WrittenAnswer)
    assert "".join(item for item in items if isinstance(item, str)) == whole.text
    assert "Ada Lovelace knew Charles Babbage. [2]" in whole.text and B in whole.cited


async def test_failure_of_one_part_ends_the_others() -> None:
    """The model goes away: the error reaches the caller, and no call is left running."""
    generator = scripted()
    generator.fails = True
    with pytest.raises(Retryable):
        await generate_answer(generator, "?", AnswerContext((), PARTS, Synthesis.BY_PART))
    await asyncio.sleep(0)
    assert generator.running == 0


def test_packing_takes_the_best_that_fit_and_the_best_in_any_case() -> None:
    """By rating, ties by place; one that does not fit is passed over for a smaller one."""
    long = "word " * 50
    answers = [PartAnswer("Short [1].", 10, (0,)), PartAnswer(long, 50, (0,)), PartAnswer("Tie [1].", 10, (0,))]
    names = [part.title for part in packed(PARTS, answers, budget_tokens=1)]
    assert names == ["two"]
    room = count_tokens("Short [1].") + count_tokens("Tie [1].")
    answers[1] = PartAnswer(long, 5, (0,))
    assert [part.title for part in packed(PARTS, answers, budget_tokens=room)] == ["one", "three"]


def test_many_parts_are_answered_some_at_a_time_under_numbers_of_the_group() -> None:
    """Few stay as they are; of many, neighbours share a call while they fit, and each still cites its own sources."""
    assert grouped(PARTS) == PARTS
    tokens = max(count_tokens(part.text) for part in PARTS) * 2
    [first, second] = grouped(PARTS, few=2, max_tokens=tokens)
    assert first.sources == (A, B, C)
    assert first.text == "one\nAmber is old [1]. Birch is tall [2].\n\ntwo\nCedar is red [3]."
    assert second == PARTS[2]
