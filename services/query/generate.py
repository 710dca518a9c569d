"""From material to a written answer: at once, or an answer for each part, rated, and the final one from the best.

Not retrieval and not a model: the modes say what an answer is made of and how (`graph.retrieval.Synthesis`), the
`Generator` writes. Invariants: whatever is cited at the end was cited by a part's answer from that part's own sources;
`[n]` in an answer names the n-th passage of the material, and what is cited beyond these is numbered on as it comes.

By part, as the global search of "GraphRAG: Improving global search via dynamic community selection" (map-reduce) and
DynaGRAG's synthesis of subgraph answers: 1. every part is answered alone and rated 0-100; 2. what is rated 0 is
dropped; 3. the rest, best first, is packed into a budget; 4. the final answer is written from it, and streamed.
Deviations: where one answer is left, it is the final one, and the last call is saved; many parts are answered some at
a time, neighbours together, since a call for each of hundreds of reports would send its instructions hundreds of times.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from graphtide.graph.quotation import neutralise
from graphtide.graph.retrieval.types import Synthesis
from graphtide.graph.token_count import count_tokens
from graphtide.services.application import Usage
from graphtide.streams.model_ports import ContextPart, ContextPassage, Generated, Generator, PartAnswer, citable

_CITATION = re.compile(r"\[(\d{1,6})\]")
_TITLE_CHARS = 300
FEW_PARTS = 12
GROUP_TOKENS = 3_000
FINAL_TOKENS = 8_000
"""Budget of the final step, in tokens of the answers it is written from."""


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """What an answer is made of, best first."""

    passages: tuple[ContextPassage, ...] = ()
    parts: tuple[ContextPart, ...] = ()
    synthesis: Synthesis = Synthesis.AT_ONCE


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """An answer, the passages it cites in order of first use, those among them that the material's passages lack, cost.

    `[n]` in `text` names the n-th of the material's passages followed by `beyond`.
    """

    text: str
    cited: tuple[ContextPassage, ...] = ()
    beyond: tuple[ContextPassage, ...] = ()
    usage: Usage = field(default_factory=Usage)


async def write(
    generator: Generator, question: str, material: AnswerContext
) -> AsyncGenerator[str | WrittenAnswer, None]:
    """The answer in pieces as they come, then, as the last item, the whole. Raises as the generator does."""
    usage, passages, parts = Usage(), material.passages, material.parts
    numbering = _Numbering(material.passages)
    if material.synthesis is Synthesis.BY_PART and parts:
        parts = grouped(parts)
        answers = await _answers(generator, question, parts)
        usage, passages, parts = _total(answers), (), packed(parts, answers)
        if len(parts) == 1:
            text = numbering.relabel(parts[0].text, parts[0].sources)
            yield text
            yield WrittenAnswer(text, parts[0].sources, numbering.beyond, usage)
            return
    sources, said = citable(passages, parts), ""
    async with aclosing(_pieces(generator, question, passages, parts)) as pieces:
        async for piece in pieces:
            if isinstance(piece, str):
                said += (text := numbering.relabel(piece, sources))
                yield text
            else:
                cited = tuple(sources[index] for index in piece.cited)
                yield WrittenAnswer(said, cited, numbering.beyond, _sum(usage, piece))


async def written(generator: Generator, question: str, material: AnswerContext) -> WrittenAnswer:
    """The whole answer, as `write` ends with it."""
    async with aclosing(write(generator, question, material)) as pieces:
        async for piece in pieces:
            if isinstance(piece, WrittenAnswer):
                return piece
    raise AssertionError("an answer ends with the whole of it")


def grouped(
    parts: tuple[ContextPart, ...], few: int = FEW_PARTS, most_tokens: int = GROUP_TOKENS
) -> tuple[ContextPart, ...]:
    """The parts to be answered: each its own call while they are few, else neighbours put together up to that size.

    A group cites by numbers of its own, over the sources of all its parts.
    """
    if len(parts) <= few:
        return parts
    groups: list[list[ContextPart]] = []
    left = 0
    for part in parts:
        needed = count_tokens(part.text)
        if not groups or needed > left:
            groups.append([])
            left = most_tokens
        groups[-1].append(part)
        left -= needed
    return tuple(_together(group) for group in groups)


def _together(group: Sequence[ContextPart]) -> ContextPart:
    if len(group) == 1:
        return group[0]
    sources = citable((), group)
    numbering = _Numbering(sources)
    texts = [f"{neutralise(part.title)}\n{numbering.relabel(part.text, part.sources)}" for part in group]
    return ContextPart("; ".join(part.title for part in group)[:_TITLE_CHARS], "\n\n".join(texts), sources)


def packed(
    parts: Sequence[ContextPart], answers: Sequence[PartAnswer], budget_tokens: int = FINAL_TOKENS
) -> tuple[ContextPart, ...]:
    """The helpful answers as material of the final step, best first, as many as fit; the best one in any case.

    Ties keep the order of the parts. Their numbers are those of the sources that each cites.
    """
    helpful = [at for at, one in enumerate(answers) if one.rating > 0 and one.text]
    helpful.sort(key=lambda at: (-answers[at].rating, at))
    kept: list[ContextPart] = []
    left = budget_tokens
    for at in helpful:
        needed = count_tokens(answers[at].text)
        if needed <= left or not kept:
            left -= needed
            kept.append(_as_part(parts[at], answers[at]))
    return tuple(kept)


def _as_part(part: ContextPart, answer: PartAnswer) -> ContextPart:
    """A part's answer as a text that rests on what it cites and on nothing else."""
    sources = tuple(part.sources[index] for index in answer.cited)
    return ContextPart(part.title, _Numbering(sources).relabel(answer.text, part.sources), sources)


class _Numbering:
    """Gives passages their numbers in an answer: those shown have theirs, others get the next as they are cited."""

    def __init__(self, shown: Sequence[ContextPassage]) -> None:
        self._numbers = {one.chunk_id: number for number, one in enumerate(shown, 1)}
        self._beyond: list[ContextPassage] = []

    @property
    def beyond(self) -> tuple[ContextPassage, ...]:
        return tuple(self._beyond)

    def relabel(self, text: str, sources: Sequence[ContextPassage]) -> str:
        """The text, in which `[n]` named `sources[n - 1]`. A generator gives citations out whole, and checked."""

        def other(found: re.Match[str]) -> str:
            at = int(found[1]) - 1
            return f"[{self._number(sources[at])}]" if 0 <= at < len(sources) else ""

        return _CITATION.sub(other, text)

    def _number(self, one: ContextPassage) -> int:
        if one.chunk_id not in self._numbers:
            self._beyond.append(one)
            self._numbers[one.chunk_id] = len(self._numbers) + 1
        return self._numbers[one.chunk_id]


async def _answers(generator: Generator, question: str, parts: Sequence[ContextPart]) -> list[PartAnswer]:
    """An answer from each part, side by side: the model's limits are the generator's. All end when one fails."""
    tasks = [asyncio.ensure_future(generator.answer_part(question, part)) for part in parts]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def _total(answers: Sequence[PartAnswer]) -> Usage:
    return Usage(
        sum(one.llm_calls for one in answers),
        sum(one.prompt_tokens for one in answers),
        sum(one.completion_tokens for one in answers),
    )


def _sum(before: Usage, last: Generated) -> Usage:
    return Usage(
        before.llm_calls + last.llm_calls,
        before.prompt_tokens + last.prompt_tokens,
        before.completion_tokens + last.completion_tokens,
    )


async def _pieces(
    generator: Generator, question: str, passages: Sequence[ContextPassage], parts: Sequence[ContextPart]
) -> AsyncGenerator[str | Generated, None]:
    async for piece in generator.stream(question, passages, parts):
        yield piece
