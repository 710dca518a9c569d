"""Comparison of two answers by a judge, in both orders: comprehensiveness, diversity, empowerment, overall.

The criteria are those of Edge et al. 2024 (GraphRAG), as LightRAG and DA-RAG use them. A win counts 1, a tie 1/2; the
rate of a question is the mean of its two orders, so a judge that always prefers the first answer gives exactly 1/2. An
answer that failed (cut off, refused, empty) loses without a call; two such answers tie.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from graphtide.infra.models.prompts.templates import code_for, load
from graphtide.infra.models.replies.schemas import Schema
from graphtide.services.evaluation.answers import EvaluatedAnswer
from graphtide.services.evaluation.measures.estimates import Values
from graphtide.services.evaluation.model_calls import (
    MalformedVerdictError,
    ModelCalls,
    ModelRequest,
    ReplyFailure,
)
from graphtide.services.evaluation.questions import EvaluationQuestion

CRITERIA = ("comprehensiveness", "diversity", "empowerment", "overall")
PROMPT = "eval-pairwise-1"
_WINNERS = ("1", "2", "tie")
_CREDITS = {"1": 1.0, "2": 0.0, "tie": 0.5}
_VERDICT = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "winner": {"type": "string", "enum": list(_WINNERS)}},
    "required": ["reason", "winner"],
    "additionalProperties": False,
}
_SCHEMA = Schema(
    "pairwise_verdict",
    {
        "type": "object",
        "properties": dict.fromkeys(CRITERIA, _VERDICT),
        "required": list(CRITERIA),
        "additionalProperties": False,
    },
)

Credits = Mapping[str, float]
"""The credit of the first answer by criterion: 1 won, 1/2 tied, 0 lost."""


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """The credits of our answer in one order; None with the class of the judge's failure."""

    ours_first: bool
    credits: Credits | None
    failure: ReplyFailure | None = None
    judged: bool = True


async def compare(
    judge: ModelCalls,
    question: EvaluationQuestion,
    answers: tuple[EvaluatedAnswer, EvaluatedAnswer],
    repetition: int,
    ours_first: bool,
) -> ComparedPair:
    """Return the verdict on (ours, theirs) in one order. One call, two after a reply that cannot be used."""
    ours, theirs = answers
    if ours.failure or theirs.failure:
        credit = 0.5 if ours.failure and theirs.failure else float(not ours.failure)
        return ComparedPair(ours_first, dict.fromkeys(CRITERIA, credit), judged=False)
    shown = (ours.text, theirs.text) if ours_first else (theirs.text, ours.text)
    result = await judge.ask(_request(question.text, shown, repetition))
    if result.value is None:
        return ComparedPair(ours_first, None, result.failure)
    given = {name: credit if ours_first else 1 - credit for name, credit in result.value.items()}
    return ComparedPair(ours_first, given)


@dataclass(slots=True)
class Comparison:
    """The verdicts of one system against another, by repetition and question."""

    repetitions: int
    pairs: dict[tuple[int, str], list[ComparedPair]] = field(default_factory=dict)

    def add(self, repetition: int, question_id: str, pair: ComparedPair) -> None:
        self.pairs.setdefault((repetition, question_id), []).append(pair)

    def rates(self, criterion: str) -> Values:
        """Return the rate of each question that has verdicts in both orders."""
        values: list[dict[str, float]] = [{} for _ in range(self.repetitions)]
        for (repetition, question_id), given in self._complete():
            values[repetition][question_id] = fmean(each[criterion] for each in given)
        return values

    def outcomes(self, criterion: str) -> Mapping[str, int]:
        """Count verdicts: won, tied, lost."""
        names = {1.0: "won", 0.5: "tied", 0.0: "lost"}
        return Counter(names[each[criterion]] for _, given in self._complete() for each in given)

    def first_rate(self, criterion: str) -> float | None:
        """Return the rate of the answer that the judge saw first; 1/2 without a preference for a position."""
        judged = [pair for pairs in self.pairs.values() for pair in pairs if pair.judged and pair.credits]
        rates = [_of_first(pair, criterion) for pair in judged]
        return fmean(rates) if rates else None

    def _complete(self) -> Iterator[tuple[tuple[int, str], Sequence[Credits]]]:
        for key, pairs in self.pairs.items():
            given = [pair.credits for pair in pairs if pair.credits is not None]
            if len(given) == 2:
                yield key, given


def _of_first(pair: ComparedPair, criterion: str) -> float:
    credit = (pair.credits or {})[criterion]
    return credit if pair.ours_first else 1 - credit


def _request(question: str, shown: tuple[str, str], repetition: int) -> ModelRequest[Credits]:
    code = code_for([question, *shown])
    marked = [f"<answer-{code} {number}>\n{text}\n</answer-{code}>" for number, text in enumerate(shown, 1)]
    material = "\n\n".join([f"<question-{code}>\n{question}\n</question-{code}>", *marked])
    return ModelRequest("pairwise judging", load(PROMPT, {}), material, _SCHEMA, _read, repetition)


def _read(body: dict[str, Any]) -> Credits:
    given: dict[str, float] = {}
    for name in CRITERIA:
        verdict = body.get(name)
        winner = verdict.get("winner") if isinstance(verdict, dict) else None
        if not isinstance(winner, str) or winner not in _CREDITS:
            raise MalformedVerdictError(f"{name} has no winner among {', '.join(_WINNERS)}")
        given[name] = _CREDITS[winner]
    return given
