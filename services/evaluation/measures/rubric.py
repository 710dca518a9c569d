"""Scores of single answers by a judge: the nine criteria of DynaGRAG (Thakrar 2024, section 4.3), 0 to 10 each.

The source publishes the criteria and the means, not its prompt; `overall` is the mean of the nine, as its table has it.
An answer that failed (cut off, refused, empty) scores 0 without a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from graphtide.infra.models.prompts.templates import code_for, load
from graphtide.infra.models.replies.schemas import Schema
from graphtide.services.evaluation.answers import EvaluatedAnswer
from graphtide.services.evaluation.model_calls import (
    MalformedVerdictError,
    ModelCalls,
    ModelRequest,
    ModelResult,
)
from graphtide.services.evaluation.questions import EvaluationQuestion

SCORES = (
    "comprehensiveness",
    "diversity",
    "empowerment",
    "directness",
    "clarity_and_brevity",
    "depth_and_specificity",
    "subjectivity_and_nuance",
    "implication_focus",
    "ethical_alignment",
)
OVERALL = "overall"
PROMPT = "eval-scores-1"
MAX_SCORE = 10
_SCHEMA = Schema(
    "answer_scores",
    {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in SCORES},
        "required": list(SCORES),
        "additionalProperties": False,
    },
)

Scores = Mapping[str, float]


async def score_answer(
    judge: ModelCalls, question: EvaluationQuestion, answer: EvaluatedAnswer, repetition: int
) -> ModelResult[Scores]:
    """Return the nine scores and their mean. One call, two after a reply that cannot be used."""
    if answer.failure:
        return ModelResult(dict.fromkeys((*SCORES, OVERALL), 0.0))
    code = code_for([question.text, answer.text])
    material = (
        f"<question-{code}>\n{question.text}\n</question-{code}>\n\n<answer-{code}>\n{answer.text}\n</answer-{code}>"
    )
    return await judge.ask(ModelRequest("scoring", load(PROMPT, {}), material, _SCHEMA, _read, repetition))


def _read(body: dict[str, Any]) -> Scores:
    scores: dict[str, float] = {}
    for name in SCORES:
        value = body.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SCORE:
            raise MalformedVerdictError(f"{name} is not a whole number from 0 to {MAX_SCORE}")
        scores[name] = float(value)
    return scores | {OVERALL: fmean(scores.values())}
