"""The course of an evaluation: all answers first, then all verdicts, each kind with bounded concurrency.

When the budget is used up or an endpoint stays unreachable, calls in flight end and the rest is left out; the outcome
names the reason. Invariant: the outcome is a function of the questions, the settings and the journal, so a run that was
interrupted and continued has the outcome of one that was not.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from graphtide.services.evaluation.answers import AnswerSource, EvaluatedAnswer
from graphtide.services.evaluation.budget import EvaluationStoppedError
from graphtide.services.evaluation.measures import exact_match, graphrag_bench, pairwise, rubric
from graphtide.services.evaluation.measures.graphrag_bench import BenchmarkJudge, UnusableReplyError
from graphtide.services.evaluation.measures.pairwise import Comparison
from graphtide.services.evaluation.model_calls import ModelCalls
from graphtide.services.evaluation.questions import EvaluationQuestion, QuestionSet

Job = Callable[[], Awaitable[None]]
Progress = Callable[[str, int], Callable[[int], None]]
"""Starts the display of a step from its name and its number of calls; the result advances it."""


class AnswerMeasure(StrEnum):
    """The measures of an evaluation."""

    EXACT = "exact"
    PAIRWISE = "pairwise"
    SCORES = "scores"
    BENCHMARK = "graphrag-bench"


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """The questions, the systems (the first is compared with each other one), the measures, and the repetitions."""

    questions: QuestionSet
    systems: Sequence[AnswerSource]
    measures: frozenset[AnswerMeasure]
    repetitions: int = 1
    seed: int = 0
    concurrency: int = 8


@dataclass(frozen=True, slots=True)
class EvaluationJudges:
    """The judge of comparisons and scores, and that of GraphRAG-Bench's measures; None without these measures."""

    judge: ModelCalls | None = None
    benchmark: BenchmarkJudge | None = None


MeasureValues = dict[str, list[dict[str, float]]]
"""The values of one measure's parts: for each name, by repetition, the value of each question."""


@dataclass(slots=True)
class EvaluationOutcome:
    """The answers by (system, repetition, question), and the values of all measures, by system or by compared system.

    `failures` counts judges' replies that could not be used, by measure and class; `stopped` is why it is incomplete.
    """

    answers: dict[tuple[str, int, str], EvaluatedAnswer] = field(default_factory=dict)
    exact: dict[str, MeasureValues] = field(default_factory=dict)
    comparisons: dict[str, Comparison] = field(default_factory=dict)
    scores: dict[str, MeasureValues] = field(default_factory=dict)
    benchmark: dict[str, dict[str, MeasureValues]] = field(default_factory=dict)
    failures: dict[str, Counter[str]] = field(default_factory=dict)
    stopped: str = ""


class EvaluationRun:
    """See the module."""

    def __init__(self, plan: EvaluationPlan, judges: EvaluationJudges, progress: Progress) -> None:
        self._plan = plan
        self._judges = judges
        self._progress = progress
        self._outcome = EvaluationOutcome()

    async def run(self) -> EvaluationOutcome:
        """Return the outcome. Raises other errors than EvaluationStoppedError, after the calls in flight."""
        await self._all("answers", list(self._answer_jobs()))
        if AnswerMeasure.EXACT in self._plan.measures:
            self._match()
        for name, jobs in (
            (AnswerMeasure.PAIRWISE, self._pairwise_jobs),
            (AnswerMeasure.SCORES, self._score_jobs),
            (AnswerMeasure.BENCHMARK, self._benchmark_jobs),
        ):
            if name in self._plan.measures and not self._outcome.stopped:
                await self._all(name.value, list(jobs()))
        return self._outcome

    async def _all(self, name: str, jobs: Sequence[Job]) -> None:
        waiting, advance = iter(jobs), self._progress(name, len(jobs))

        async def work() -> None:
            for job in waiting:
                if self._outcome.stopped:
                    return
                try:
                    await job()
                except Exception as error:
                    self._outcome.stopped = self._outcome.stopped or str(error) or type(error).__name__
                    if isinstance(error, EvaluationStoppedError):
                        return
                    raise
                advance(1)

        ended = await asyncio.gather(*(work() for _ in range(self._plan.concurrency)), return_exceptions=True)
        for failure in filter(None, ended):
            raise failure

    def _answer_jobs(self) -> Iterator[Job]:
        async def answer(system: AnswerSource, repetition: int, question: EvaluationQuestion) -> None:
            found = await system.answer(question, repetition)
            self._outcome.answers[system.name, repetition, question.id] = found

        for repetition in range(self._plan.repetitions):
            for question in self._plan.questions.questions:
                for system in self._plan.systems:
                    yield partial(answer, system, repetition, question)

    def _match(self) -> None:
        questions = {each.id: each for each in self._plan.questions.questions if each.golds}
        closed = self._plan.questions.closed_answers
        for (system, repetition, question_id), answer in self._outcome.answers.items():
            if question_id in questions:
                golds = () if answer.failure else questions[question_id].golds
                values = self._outcome.exact.setdefault(system, {})
                self._put(values, "em", repetition, question_id, exact_match.exact_match(answer.text, golds))
                f1 = exact_match.f1_score(answer.text, golds, closed_answers=closed)
                self._put(values, "f1", repetition, question_id, f1)

    def _pairwise_jobs(self) -> Iterator[Job]:
        judge = self._judges.judge
        if judge is None:
            return
        ours, *others = (system.name for system in self._plan.systems)

        async def compare(other: str, repetition: int, question: EvaluationQuestion, ours_first: bool) -> None:
            answers = self._outcome.answers
            pair = (answers[ours, repetition, question.id], answers[other, repetition, question.id])
            found = await pairwise.compare(judge, question, pair, repetition, ours_first)
            self._outcome.comparisons[other].add(repetition, question.id, found)
            self._fail(AnswerMeasure.PAIRWISE, found.failure)

        for other in others:
            self._outcome.comparisons[other] = Comparison(self._plan.repetitions)
            for repetition, question in self._answered(ours, other):
                for ours_first in (True, False):
                    yield partial(compare, other, repetition, question, ours_first)

    def _score_jobs(self) -> Iterator[Job]:
        judge = self._judges.judge
        if judge is None:
            return

        async def score(system: str, repetition: int, question: EvaluationQuestion) -> None:
            answer = self._outcome.answers[system, repetition, question.id]
            result = await rubric.score_answer(judge, question, answer, repetition)
            self._fail(AnswerMeasure.SCORES, result.failure)
            for name, value in (result.value or {}).items():
                values = self._outcome.scores.setdefault(system, {})
                self._put(values, name, repetition, question.id, value)

        for system in self._plan.systems:
            for repetition, question in self._answered(system.name):
                yield partial(score, system.name, repetition, question)

    def _benchmark_jobs(self) -> Iterator[Job]:
        judge = self._judges.benchmark
        if judge is None:
            return

        async def measure(system: str, name: str, repetition: int, question: EvaluationQuestion) -> None:
            answer = self._outcome.answers[system, repetition, question.id]
            try:
                value = await judge.measure(name, question, answer, repetition)
            except UnusableReplyError as error:
                self._fail(AnswerMeasure.BENCHMARK, error.failure)
                return
            if value is not None:
                values = self._outcome.benchmark.setdefault(system, {}).setdefault(question.kind, {})
                self._put(values, name, repetition, question.id, value)

        for system in self._plan.systems:
            for repetition, question in self._answered(system.name):
                for name in graphrag_bench.MEASURES.get(question.kind, ()):
                    yield partial(measure, system.name, name, repetition, question)

    def _answered(self, *systems: str) -> Iterator[tuple[int, EvaluationQuestion]]:
        for repetition in range(self._plan.repetitions):
            for question in self._plan.questions.questions:
                if all((system, repetition, question.id) in self._outcome.answers for system in systems):
                    yield repetition, question

    def _put(self, values: MeasureValues, name: str, repetition: int, question_id: str, value: float) -> None:
        by_repetition = values.setdefault(name, [{} for _ in range(self._plan.repetitions)])
        by_repetition[repetition][question_id] = value

    def _fail(self, measure: AnswerMeasure, failure: str | None) -> None:
        if failure is not None:
            self._outcome.failures.setdefault(measure.value, Counter())[str(failure)] += 1
