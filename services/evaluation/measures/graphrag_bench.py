"""Measures of GraphRAG-Bench (Xiang et al. 2025), by the type of a question, as its evaluation scripts define them.

    Fact Retrieval, Complex Reasoning   ROUGE-L, answer correctness
    Contextual Summarize                answer correctness, coverage
    Creative Generation                 answer correctness, coverage, faithfulness

    correctness   3/4 F1 of the statements (true positives, false positives, false negatives) + 1/4 (1 + cosine) / 2
    coverage      share of the facts of the gold answer that the answer covers
    faithfulness  share of the answer's statements that the retrieved passages support

Deviations: the prompts are this project's; a judge's reply that cannot be used is a counted failure (there: 0, or no
statements); an answer that failed scores 0 without a call. The vectors are those of the settings (there:
bge-large-en-v1.5). For its table run its own scripts on the exported answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeVar

from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.prompts.templates import code_for, load
from graphtide.infra.models.replies.schemas import Schema
from graphtide.infra.models.usage.accounting import Price
from graphtide.services.evaluation.answers import EvaluatedAnswer
from graphtide.services.evaluation.budget import EvaluationBudget
from graphtide.services.evaluation.journal import EvaluationJournal, journal_key
from graphtide.services.evaluation.measures.rouge import rouge_l
from graphtide.services.evaluation.model_calls import (
    MalformedVerdictError,
    ModelCalls,
    ModelRequest,
    ReplyFailure,
    list_field,
)
from graphtide.services.evaluation.questions import EvaluationQuestion
from graphtide.services.evaluation.retries import CallRetries
from graphtide.streams.model_ports import Embedder
from graphtide.streams.usage import Bill, BillingContext, ModelUsage, paid_by

T = TypeVar("T")
ROUGE, CORRECTNESS, COVERAGE, FAITHFULNESS = "rouge_l", "correctness", "coverage", "faithfulness"
MEASURES: Mapping[str, tuple[str, ...]] = {
    "Fact Retrieval": (ROUGE, CORRECTNESS),
    "Complex Reasoning": (ROUGE, CORRECTNESS),
    "Contextual Summarize": (CORRECTNESS, COVERAGE),
    "Creative Generation": (CORRECTNESS, COVERAGE, FAITHFULNESS),
}
"""The measures of each type of question; `TYPES` has the names of the scripts' types in this order."""
TYPES = dict(zip(MEASURES, ("type1", "type2", "type3", "type4"), strict=True))
_FACTUAL_WEIGHT = 0.75
_MAX_ANSWER_CHARS, _MAX_CONTEXT_CHARS = 3_000, 10_000


class UnusableReplyError(Exception):
    """A measure that cannot be computed: the judge's reply was of this class."""

    def __init__(self, failure: ReplyFailure) -> None:
        super().__init__(failure.value)
        self.failure = failure


class VectorSimilarity:
    """Cosine of two texts by the embedder of the settings, journaled."""

    def __init__(self, embedder: Embedder, journal: EvaluationJournal, budget: EvaluationBudget, price: Price) -> None:
        self._embedder = embedder
        self._journal = journal
        self._budget = budget
        self._price = price

    async def cosine(self, left: str, right: str) -> float:
        """Return the cosine, -1 to 1. Raises EvaluationStoppedError."""
        key = journal_key("cosine", self._embedder.name, left, right)
        found = self._journal.find(key)
        if found is None:
            bill = Bill()
            greatest = ModelUsage(cost_nano=self._price.of(2 * (count_tokens(left) + count_tokens(right)), 0))
            async with self._budget.reserve(greatest):
                with paid_by(BillingContext(bill=bill)):
                    vectors = await CallRetries().call(lambda: self._embedder.embed([left, right]))
            found = {"cosine": float(vectors[0] @ vectors[1])}
            self._journal.record(key, "similarity", found, ModelUsage(cost_nano=bill.llm.cost_nano))
        return float(found["cosine"])


@dataclass(frozen=True, slots=True)
class BenchmarkJudge:
    """The judge and the vectors of these measures."""

    calls: ModelCalls
    similarity: VectorSimilarity

    async def measure(
        self, name: str, question: EvaluationQuestion, answer: EvaluatedAnswer, repetition: int
    ) -> float | None:
        """Return a measure, 0 to 1; None where the scripts leave a question out. Raises UnusableReplyError."""
        if answer.failure:
            return 0.0
        if name == ROUGE:
            return rouge_l(answer.text, question.gold)
        judged = {CORRECTNESS: self._correctness, COVERAGE: self._coverage, FAITHFULNESS: self._faithfulness}
        return await judged[name](question, answer, repetition)

    async def _correctness(self, question: EvaluationQuestion, answer: EvaluatedAnswer, repetition: int) -> float:
        stated = await self._statements(question.text, answer.text, repetition)
        expected = await self._statements(question.text, question.gold, repetition)
        factual = 1.0
        if stated or expected:
            parts = {"question": [question.text], "answer": stated, "gold": expected}
            counts = await self._ask("correctness", parts, _counts, repetition)
            factual = statement_f1(*counts)
        cosine = await self.similarity.cosine(answer.text, question.gold)
        return _FACTUAL_WEIGHT * factual + (1 - _FACTUAL_WEIGHT) * (1 + cosine) / 2

    async def _coverage(self, question: EvaluationQuestion, answer: EvaluatedAnswer, repetition: int) -> float | None:
        if not question.gold.strip():
            return 1.0
        facts = await self._statements(question.text, question.gold[:_MAX_ANSWER_CHARS], repetition)
        return await self._share("coverage", facts, "answer", answer.text[:_MAX_ANSWER_CHARS], repetition)

    async def _faithfulness(
        self, question: EvaluationQuestion, answer: EvaluatedAnswer, repetition: int
    ) -> float | None:
        context = "\n".join(answer.contexts)[:_MAX_CONTEXT_CHARS]
        statements = await self._statements(question.text, answer.text[:_MAX_ANSWER_CHARS], repetition)
        if statements and not context.strip():
            return 0.0
        return await self._share("faithfulness", statements, "context", context, repetition)

    async def _statements(self, question: str, text: str, repetition: int) -> list[str]:
        return await self._ask("statements", {"question": [question], "text": [text]}, _statements, repetition)

    async def _share(self, prompt: str, statements: list[str], about: str, text: str, repetition: int) -> float | None:
        if not statements:
            return None

        def read(body: dict[str, Any]) -> list[int]:
            verdicts = list_field(body, "verdicts")
            if len(verdicts) != len(statements) or any(
                type(each) is not int or each not in (0, 1) for each in verdicts
            ):
                raise MalformedVerdictError(f"verdicts are not {len(statements)} numbers 0 or 1")
            return verdicts

        return fmean(await self._ask(prompt, {"statements": statements, about: [text]}, read, repetition))

    async def _ask(
        self,
        name: str,
        parts: Mapping[str, Sequence[str]],
        parse: Callable[[dict[str, Any]], T],
        repetition: int,
    ) -> T:
        material, schema = _material(parts), _SCHEMAS[name]
        request = ModelRequest(name, load(f"eval-{name}-1", {}), material, schema, parse, repetition)
        result = await self.calls.ask(request)
        if result.failure is not None or result.value is None:
            raise UnusableReplyError(result.failure or ReplyFailure.MALFORMED)
        return result.value


def statement_f1(true_positives: int, false_positives: int, false_negatives: int) -> float:
    """Return the F1 of classified statements; 0 without any."""
    total = 2 * true_positives + false_positives + false_negatives
    return 2 * true_positives / total if total else 0.0


def export_rows(
    questions: Sequence[EvaluationQuestion], answers: Mapping[str, EvaluatedAnswer]
) -> dict[str, list[dict[str, Any]]]:
    """Return the answers in the form that the benchmark's own scripts read, by type of question."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TYPES.values()}
    for question in questions:
        if question.id in answers and question.kind in TYPES:
            answer = answers[question.id]
            row = {"id": question.id, "question": question.text, "question_type": question.kind}
            row |= {"gold_answer": question.gold, "ground_truth": question.gold, "evidence": question.evidence}
            rows[TYPES[question.kind]].append(
                {**row, "generated_answer": answer.text, "context": list(answer.contexts)}
            )
    return rows


def _material(parts: Mapping[str, Sequence[str]]) -> str:
    code = code_for([text for texts in parts.values() for text in texts])
    blocks = []
    for name, texts in parts.items():
        numbered = texts if len(texts) == 1 and name in _SINGLE else [f"{n}. {text}" for n, text in enumerate(texts, 1)]
        blocks.append(f"<{name}-{code}>\n" + "\n".join(numbered) + f"\n</{name}-{code}>")
    return "\n\n".join(blocks)


def _statements(body: dict[str, Any]) -> list[str]:
    found = list_field(body, "statements")
    if not all(isinstance(each, str) for each in found):
        raise MalformedVerdictError("statements are not texts")
    return [each for each in found if each.strip()]


def _counts(body: dict[str, Any]) -> tuple[int, int, int]:
    supported, unsupported, absent = (len(list_field(body, name)) for name in ("TP", "FP", "FN"))
    return supported, unsupported, absent


def _schema(name: str, kinds: Mapping[str, str]) -> Schema:
    lists = {key: {"type": "array", "items": {"type": kind}} for key, kind in kinds.items()}
    shape = {"type": "object", "properties": lists, "required": list(kinds), "additionalProperties": False}
    return Schema(name, shape)


_SINGLE = frozenset({"question", "text", "context"})
_SCHEMAS = {
    "statements": _schema("statements", {"statements": "string"}),
    "correctness": _schema("classified_statements", {"TP": "string", "FP": "string", "FN": "string"}),
    "coverage": _schema("covered_facts", {"verdicts": "integer"}),
    "faithfulness": _schema("supported_statements", {"verdicts": "integer"}),
}
