"""Sources of the answers that are evaluated: a graph asked in one mode, or a file of another system's answers.

An answer from a graph is the service's own, or is written here by the configured model from what the mode retrieves:
`short` for exact match and F1, `long` for judges. So modes are compared with one reader. Invariants: an answer is
journaled when it is complete, and asked for once; marks of citations are removed, because they would name the system.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from graphtide.infra.models.openai.generator import CUT_OFF
from graphtide.infra.models.prompts.templates import Prompt, code_for, load
from graphtide.infra.models.replies.schemas import Schema
from graphtide.services.application import Answer
from graphtide.services.evaluation.budget import EvaluationBudget, EvaluationStoppedError
from graphtide.services.evaluation.journal import EvaluationJournal, journal_key
from graphtide.services.evaluation.model_calls import ModelCalls, ModelRequest, text_field
from graphtide.services.evaluation.questions import EvaluationQuestion, name_of, read_rows, texts_of
from graphtide.services.evaluation.retries import CallRetries
from graphtide.services.sdk.interface import Graph
from graphtide.streams.errors import GraphtideError, Invalid
from graphtide.streams.usage import NANO, ModelUsage

_MARKS = re.compile(r"(?<!\s)\s*+\[(?:\d++(?:\s*+,\s*+\d++)*+|unsupported|cut off)\]")
_ANSWER = Schema(
    "evaluated_answer",
    {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    },
)


class AnswerStyle(StrEnum):
    """The writer of the answers: the service, or the configured model, in a few words or in full."""

    SERVICE = "service"
    SHORT = "short"
    LONG = "long"


@dataclass(frozen=True, slots=True)
class EvaluatedAnswer:
    """An answer without marks of citations. `failure` is why it counts as lost: cut off, refused, malformed,
    empty, missing."""

    text: str
    failure: str = ""
    contexts: tuple[str, ...] = ()
    version: int = 0


MISSING = EvaluatedAnswer("", "missing")


class AnswerSource(Protocol):
    """A system under evaluation."""

    @property
    def name(self) -> str: ...

    async def answer(self, question: EvaluationQuestion, repetition: int) -> EvaluatedAnswer:
        """Return the answer. Raises EvaluationStoppedError."""
        ...


@dataclass(frozen=True, slots=True)
class AskingSettings:
    """The retrieval mode and the number of passages; the style; the wait for one answer; whether to keep contexts."""

    mode: str
    style: AnswerStyle
    top_k: int = 5
    timeout_s: float = 120.0
    keep_contexts: bool = False
    where: str = ""
    """The address of the service, or the data folder: a part of the journal's keys."""
    retries: CallRetries = field(default_factory=CallRetries)


class GraphAnswers:
    """Answers from a graph. `reader` writes them unless the style is `service`."""

    def __init__(
        self,
        graph: Graph,
        asking: AskingSettings,
        journal: EvaluationJournal,
        budget: EvaluationBudget,
        reader: ModelCalls | None,
    ) -> None:
        self._graph = graph
        self._asking = asking
        self._journal = journal
        self._budget = budget
        self._reader = reader
        self._prompt = None if asking.style is AnswerStyle.SERVICE else load(f"eval-answer-{asking.style}-1", {})
        self._costliest = ModelUsage()

    @property
    def name(self) -> str:
        return self._asking.mode

    async def answer(self, question: EvaluationQuestion, repetition: int) -> EvaluatedAnswer:
        """See AnswerSource."""
        key = journal_key(self._identity(), question.text, repetition)
        found = self._journal.find(key)
        if found is None:
            answered, usage = await (self._written(question, repetition) if self._prompt else self._served(question))
            found = asdict(answered)
            self._journal.record(key, f"answers of {self.name}", found, usage)
        return EvaluatedAnswer(**{**found, "contexts": tuple(found["contexts"])})

    def _identity(self) -> tuple[object, ...]:
        reader = self._reader.identity() if self._reader and self._prompt else ()
        asking = self._asking
        asked = (asking.where, self._graph.name, asking.mode, asking.style, asking.top_k, asking.keep_contexts)
        return (asked, self._prompt.text if self._prompt else "", reader)

    async def _served(self, question: EvaluationQuestion) -> tuple[EvaluatedAnswer, ModelUsage]:
        async with self._budget.reserve(self._costliest):
            given = await self._ask(question, generate=True)
        used = given.usage
        cost = round((used.cost or 0.0) * NANO)
        usage = ModelUsage(used.llm_calls, used.prompt_tokens, used.completion_tokens, cost)
        self._costliest = max(self._costliest, usage, key=lambda each: (each.cost_nano, each.tokens))
        failure = "cut off" if given.answer.rstrip().endswith(CUT_OFF) else ""
        return self._evaluated(given, given.answer, failure), usage

    async def _written(self, question: EvaluationQuestion, repetition: int) -> tuple[EvaluatedAnswer, ModelUsage]:
        if self._reader is None or self._prompt is None:
            raise AssertionError("the command opens a reader for this style")
        given = await self._ask(question, generate=False)
        request = _request(self._prompt, question.text, given, repetition, f"answers of {self.name}")
        result, usage = await self._reader.unrecorded(request)
        return self._evaluated(given, result.value or "", str(result.failure or "")), usage

    def _evaluated(self, given: Answer, text: str, failure: str) -> EvaluatedAnswer:
        contexts = tuple(_contexts(given)) if self._asking.keep_contexts else ()
        return replace(_answered(text, failure), contexts=contexts, version=given.version)

    async def _ask(self, question: EvaluationQuestion, *, generate: bool) -> Answer:
        asking = self._asking

        async def attempt() -> Answer:
            wait_s = asking.timeout_s
            return await self._graph.ask(
                question.text, mode=asking.mode, top_k=asking.top_k, generate=generate, timeout_s=wait_s
            )

        try:
            return await asking.retries.call(attempt)
        except GraphtideError as error:
            raise EvaluationStoppedError(f"mode {asking.mode}, question {question.id}: {error}") from error


class FileAnswers:
    """Answers of another system: JSON lines, or a list, of `id` (or `question`) and `answer`.

    Optional fields: `repetition`, from 0; `finish_reason`, whose value length marks an answer that was cut off; and
    `contexts`, the passages. Answers without a repetition count for each. Raises Invalid when read.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self._answers: dict[tuple[str, int | None], EvaluatedAnswer] = {}
        for number, row in enumerate(read_rows(path), 1):
            name, text = name_of(row, "id", "question"), row.get("answer", row.get("generated_answer"))
            if not name or not isinstance(text, str):
                raise Invalid("answers", f"{path}: record {number} needs the fields id (or question) and answer")
            repetition = row.get("repetition")
            if not isinstance(repetition, int | None):
                raise Invalid("answers", f"{path}: the repetition of record {number} is not a whole number")
            contexts = tuple(map(str, texts_of(row.get("contexts") or row.get("context"))))
            cut = "cut off" if row.get("finish_reason") == "length" else ""
            self._answers[name, repetition] = replace(_answered(text, cut), contexts=contexts)

    async def answer(self, question: EvaluationQuestion, repetition: int) -> EvaluatedAnswer:
        """See AnswerSource."""
        keys = [(name, number) for name in (question.id, question.text) for number in (repetition, None)]
        return next((self._answers[key] for key in keys if key in self._answers), MISSING)


def _answered(text: str, failure: str) -> EvaluatedAnswer:
    plain = _MARKS.sub("", text).strip()
    return EvaluatedAnswer(plain, failure or ("" if plain else "empty"))


def _contexts(given: Answer) -> Iterator[str]:
    for passage in given.passages:
        yield f"{passage.title}\n{passage.text}" if passage.title else passage.text
    for part in given.context_parts:
        yield f"{part.title}\n{part.text}" if part.title else part.text


def _request(prompt: Prompt, question: str, given: Answer, repetition: int, purpose: str) -> ModelRequest[str]:
    contexts = list(_contexts(given))
    code = code_for([question, *contexts])
    marked = [f"<text-{code} {number}>\n{text}\n</text-{code}>" for number, text in enumerate(contexts, 1)]
    material = "\n\n".join([*marked, f"Question: {question}"])
    return ModelRequest(purpose, prompt, material, _ANSWER, _read_answer, repetition, once=True)


def _read_answer(body: dict[str, Any]) -> str:
    return text_field(body, "answer")
