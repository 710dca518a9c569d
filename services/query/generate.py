"""Generation of answers: in one step, or an answer for each part, rated, and the final one from the best.

The modes define context and procedure (`graph.retrieval.Synthesis`), the `Generator` writes. Invariants: every
citation of the final answer was a citation of a part's answer from that part's own sources;
`[n]` in an answer names the n-th passage of the context, and further cited passages get the following numbers
in order of citation.

By part, as the global search of "GraphRAG: Improving global search via dynamic community selection" (map-reduce) and
DynaGRAG's synthesis of subgraph answers: 1. every part is answered alone and rated 0-100; 2. answers rated 0 are
dropped; 3. the rest, best first, is packed into a budget; 4. the final answer is written from it, and streamed.
Deviations: if one answer remains, it is the final one, without the last call; many parts are answered in groups of
neighbours, since a call for each of hundreds of reports would send its instructions hundreds of times.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from graphtide.graph.retrieval.types import Synthesis
from graphtide.graph.text.quotation import neutralise
from graphtide.graph.text.token_count import count_tokens
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
    """The context of an answer, best first."""

    passages: tuple[ContextPassage, ...] = ()
    parts: tuple[ContextPart, ...] = ()
    synthesis: Synthesis = Synthesis.AT_ONCE
    background: tuple[ContextPassage, ...] = ()
    """Passages that the generator reads beyond those of the result."""


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """An answer, its cited passages in order of first use, the ones beyond the context's passages, and its cost.

    `[n]` in `text` names the n-th of the context's passages followed by `beyond`.
    """

    text: str
    cited: tuple[ContextPassage, ...] = ()
    beyond: tuple[ContextPassage, ...] = ()
    usage: Usage = field(default_factory=Usage)


async def stream_answer(
    generator: Generator, question: str, context: AnswerContext
) -> AsyncGenerator[str | WrittenAnswer, None]:
    """Yield the answer in pieces, then, as the last item, the whole. Raises the generator's errors."""
    usage, passages, parts = Usage(), (*context.passages, *context.background), context.parts
    numbering = _Numbering(context.passages)
    if context.synthesis is Synthesis.BY_PART and parts:
        parts = grouped(parts)
        answers = await _answers(generator, question, parts)
        usage, passages, parts = _total(answers), (), packed(parts, answers)
        if len(parts) == 1:
            text = numbering.relabel(parts[0].text, parts[0].sources)
            yield text
            yield WrittenAnswer(text, parts[0].sources, numbering.beyond, usage)
            return
    sources, answer = citable(passages, parts), ""
    async with aclosing(_pieces(generator, question, passages, parts)) as pieces:
        async for piece in pieces:
            if isinstance(piece, str):
                answer += (text := numbering.relabel(piece, sources))
                yield text
            else:
                cited = tuple(sources[index] for index in piece.cited)
                yield WrittenAnswer(answer, cited, numbering.beyond, _sum(usage, piece))


async def generate_answer(generator: Generator, question: str, context: AnswerContext) -> WrittenAnswer:
    """Return the whole answer, the last item of `stream_answer`."""
    async with aclosing(stream_answer(generator, question, context)) as pieces:
        async for piece in pieces:
            if isinstance(piece, WrittenAnswer):
                return piece
    raise AssertionError("stream_answer() ended without a whole answer")


def grouped(
    parts: tuple[ContextPart, ...], few: int = FEW_PARTS, max_tokens: int = GROUP_TOKENS
) -> tuple[ContextPart, ...]:
    """Return the parts to answer: one call each for at most `few`, else groups of neighbours up to `most_tokens`.

    The citation numbers of a group refer to the sources of all its parts.
    """
    if len(parts) <= few:
        return parts
    groups: list[list[ContextPart]] = []
    left = 0
    for part in parts:
        needed = count_tokens(part.text)
        if not groups or needed > left:
            groups.append([])
            left = max_tokens
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
    """Return the helpful answers as context of the final step, best first, within the budget; always the best one.

    Ties keep the order of the parts. Citation numbers refer to the sources that each answer cites.
    """
    helpful = [at for at, passage in enumerate(answers) if passage.rating > 0 and passage.text]
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
    """Return a part's answer as a context part whose sources are its citations."""
    sources = tuple(part.sources[index] for index in answer.cited)
    return ContextPart(part.title, _Numbering(sources).relabel(answer.text, part.sources), sources)


class _Numbering:
    """The citation numbers of an answer: fixed for shown passages, consecutive for others in order of citation."""

    def __init__(self, shown: Sequence[ContextPassage]) -> None:
        self._numbers = {passage.chunk_id: number for number, passage in enumerate(shown, 1)}
        self._beyond: list[ContextPassage] = []

    @property
    def beyond(self) -> tuple[ContextPassage, ...]:
        return tuple(self._beyond)

    def relabel(self, text: str, sources: Sequence[ContextPassage]) -> str:
        """Return the text, whose `[n]` names `sources[n - 1]`, with the answer's numbers. Citations are whole and
        checked.
        """

        def other(found: re.Match[str]) -> str:
            at = int(found[1]) - 1
            return f"[{self._number(sources[at])}]" if 0 <= at < len(sources) else ""

        return _CITATION.sub(other, text)

    def _number(self, passage: ContextPassage) -> int:
        if passage.chunk_id not in self._numbers:
            self._beyond.append(passage)
            self._numbers[passage.chunk_id] = len(self._numbers) + 1
        return self._numbers[passage.chunk_id]


async def _answers(generator: Generator, question: str, parts: Sequence[ContextPart]) -> list[PartAnswer]:
    """Return an answer from each part, computed concurrently within the generator's limits. All end when one fails."""
    tasks = [asyncio.ensure_future(generator.answer_part(question, part)) for part in parts]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def _total(answers: Sequence[PartAnswer]) -> Usage:
    return Usage(
        sum(answer.llm_calls for answer in answers),
        sum(answer.prompt_tokens for answer in answers),
        sum(answer.completion_tokens for answer in answers),
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
