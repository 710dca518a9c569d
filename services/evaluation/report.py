"""The report of an evaluation: JSON with every figure and answer, and Markdown tables.

It holds questions and answers, and no passage. It has no time and no duration, so equal outcomes have equal reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from graphtide.services.evaluation.measures.estimates import MeanEstimate, Values, difference, estimate
from graphtide.services.evaluation.measures.graphrag_bench import MEASURES
from graphtide.services.evaluation.measures.pairwise import CRITERIA, Comparison
from graphtide.services.evaluation.measures.rubric import OVERALL, SCORES
from graphtide.services.evaluation.run import EvaluationOutcome, EvaluationPlan
from graphtide.streams.usage import ModelUsage

T = TypeVar("T")
Json = dict[str, Any]
Figures = Mapping[str, MeanEstimate | None]


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """The settings that the report names: models, style of answers, passages per answer, prices known."""

    models: Mapping[str, str]
    style: str
    top_k: int
    temperature: float
    priced: bool


def report_json(
    plan: EvaluationPlan, outcome: EvaluationOutcome, settings: ReportSettings, spent: Mapping[str, ModelUsage]
) -> Json:
    """Return the whole report."""
    ours = plan.systems[0].name
    body: Json = {
        "questions": {
            "file": plan.questions.name,
            "form": plan.questions.form.value,
            "sha256": plan.questions.digest,
            "count": len(plan.questions.questions),
        },
        "systems": [system.name for system in plan.systems],
        "settings": {**asdict(settings), "repetitions": plan.repetitions, "seed": plan.seed},
        "complete": not outcome.stopped,
        "stopped": outcome.stopped,
        "answers": _answer_counts(plan, outcome),
        "judge_failures": {name: dict(sorted(counts.items())) for name, counts in sorted(outcome.failures.items())},
        "usage": {
            purpose: _usage(used, settings.priced) for purpose, used in sorted(spent.items()) if used != ModelUsage()
        },
    }
    if outcome.exact:
        exact = _ordered(outcome.exact, body["systems"])
        body["exact"] = {name: _figures(values, ("em", "f1"), plan.seed) for name, values in exact.items()}
        body["exact_difference"] = {
            name: {part: _shown(difference(exact[ours][part], values[part], plan.seed)) for part in ("em", "f1")}
            for name, values in exact.items()
            if name != ours and ours in exact
        }
    if outcome.comparisons:
        body["pairwise"] = {name: _compared(each, plan.seed) for name, each in outcome.comparisons.items()}
    if outcome.scores:
        scores = _ordered(outcome.scores, body["systems"])
        body["scores"] = {name: _figures(values, (*SCORES, OVERALL), plan.seed) for name, values in scores.items()}
    if outcome.benchmark:
        body["graphrag_bench"] = {
            name: {kind: _figures(kinds[kind], parts, plan.seed) for kind, parts in MEASURES.items() if kind in kinds}
            for name, kinds in _ordered(outcome.benchmark, body["systems"]).items()
        }
    body["rows"] = list(_rows(plan, outcome))
    return body


def report_markdown(body: Json) -> str:
    """Return the tables of a report."""
    questions, settings = body["questions"], body["settings"]
    models = ", ".join(f"{role}: {model}" for role, model in settings["models"].items())
    lines = [
        f"# Evaluation on {questions['file']}",
        "",
        f"{questions['count']} questions ({questions['form']}), {settings['repetitions']} repetitions, answers: "
        f"{settings['style']} from {settings['top_k']} passages, temperature {settings['temperature']:g}, seed "
        f"{settings['seed']}. {models}.",
        "",
        "± is the standard deviation among repetitions, brackets the 95 % bootstrap interval over questions.",
    ]
    if not body["complete"]:
        lines += ["", f"**Incomplete**: {body['stopped']}."]
    for section in (_exact_section, _pairwise_section, _scores_section, _benchmark_section, _counts_section):
        lines += section(body)
    return "\n".join([*lines, ""])


def _exact_section(body: Json) -> Iterator[str]:
    if "exact" in body:
        yield from _table("Exact match and F1", ["system", "EM", "F1"], _by_system(body["exact"], ["em", "f1"]))
        rows = [[f"{body['systems'][0]} - {name}", *_cells(each, ["em", "f1"])] for name, each in _differences(body)]
        if rows:
            yield from _table("", ["paired difference", "EM", "F1"], rows)


def _differences(body: Json) -> Iterator[tuple[str, Json]]:
    yield from body["exact_difference"].items()


def _pairwise_section(body: Json) -> Iterator[str]:
    ours = body["systems"][0]
    for other, criteria in body.get("pairwise", {}).items():
        rows = [
            [name, _cell(each["rate"]), str(each["won"]), str(each["tied"]), str(each["lost"]), _plain(each["first"])]
            for name, each in criteria.items()
        ]
        heading = f"{ours} against {other}, judged in both orders"
        yield from _table(heading, ["criterion", f"rate of {ours}", "won", "tied", "lost", "rate of the first"], rows)


def _scores_section(body: Json) -> Iterator[str]:
    if "scores" in body:
        systems = body["scores"]
        rows = [
            [name.replace("_", " "), *(_cell(values.get(name)) for values in systems.values())]
            for name in (*SCORES, OVERALL)
        ]
        yield from _table("Scores, 0 to 10", ["criterion", *systems], rows)


def _benchmark_section(body: Json) -> Iterator[str]:
    for name, kinds in body.get("graphrag_bench", {}).items():
        rows = [[kind, part, _cell(each)] for kind, parts in kinds.items() for part, each in parts.items()]
        yield from _table(f"Measures of GraphRAG-Bench: {name}", ["type", "measure", "value"], rows)


def _counts_section(body: Json) -> Iterator[str]:
    rows = [[name, *(str(each) for each in counts.values())] for name, counts in body["answers"].items()]
    yield from _table("Answers", ["system", *next(iter(body["answers"].values()))], rows)
    if body["judge_failures"]:
        rows = [[name, kind, str(n)] for name, kinds in body["judge_failures"].items() for kind, n in kinds.items()]
        yield from _table("Replies of judges that could not be used", ["measure", "class", "replies"], rows)
    usage = [[purpose, *(_amount(each) for each in used.values())] for purpose, used in body["usage"].items()]
    if usage:
        yield from _table("Calls, tokens and cost", ["purpose", *next(iter(body["usage"].values()))], usage)


def _answer_counts(plan: EvaluationPlan, outcome: EvaluationOutcome) -> Json:
    counts: Json = {}
    for system in plan.systems:
        found = [answer for (name, _, _), answer in outcome.answers.items() if name == system.name]
        failures = Counter(answer.failure for answer in found)
        versions = {answer.version for answer in found if answer.version}
        counts[system.name] = {
            "answers": len(found),
            "cut off": failures["cut off"],
            "refused or malformed": failures["refused"] + failures["malformed"],
            "empty or missing": failures["empty"] + failures["missing"],
            "versions of the graph": f"{min(versions)} to {max(versions)}" if versions else "",
        }
    return counts


def _compared(comparison: Comparison, seed: int) -> Json:
    compared: Json = {}
    for name in CRITERIA:
        outcomes = comparison.outcomes(name)
        rate = _shown(estimate(comparison.rates(name), seed))
        counts = {kind: outcomes.get(kind, 0) for kind in ("won", "tied", "lost")}
        compared[name] = {"rate": rate, **counts, "first": comparison.first_rate(name)}
    return compared


def _ordered(by_system: Mapping[str, T], systems: Sequence[str]) -> dict[str, T]:
    """Return the entries in the order of the systems, whatever the order in which calls ended."""
    return {name: by_system[name] for name in systems if name in by_system}


def _figures(values: Mapping[str, Values], parts: Sequence[str], seed: int) -> Json:
    return {name: _shown(estimate(values[name], seed)) for name in parts if name in values}


def _shown(each: MeanEstimate | None) -> Json | None:
    return None if each is None else {name: _rounded(value) for name, value in asdict(each).items()}


def _rounded(value: float | int | None) -> float | int | None:
    return round(value, 6) if isinstance(value, float) else value


def _usage(used: ModelUsage, priced: bool) -> Json:
    tokens = {"calls": used.calls, "prompt tokens": used.prompt_tokens, "completion tokens": used.completion_tokens}
    return {**tokens, "cost": used.cost if priced else None}


def _rows(plan: EvaluationPlan, outcome: EvaluationOutcome) -> Iterator[Json]:
    for question in plan.questions.questions:
        for system in plan.systems:
            for repetition in range(plan.repetitions):
                answer = outcome.answers.get((system.name, repetition, question.id))
                if answer is not None:
                    row = {"id": question.id, "question": question.text, "gold": list(question.golds)}
                    given = {"answer": answer.text, "failure": answer.failure}
                    yield {**row, "system": system.name, "repetition": repetition, **given}


def _by_system(systems: Mapping[str, Json], parts: Sequence[str]) -> list[list[str]]:
    return [[name, *_cells(values, parts)] for name, values in systems.items()]


def _cells(values: Mapping[str, Any], parts: Sequence[str]) -> list[str]:
    return [_cell(values.get(part)) for part in parts]


def _cell(each: Json | None) -> str:
    if each is None:
        return ""
    deviation = "" if each["deviation"] is None else f" ± {each['deviation']:.3f}"
    return f"{each['mean']:.3f}{deviation} [{each['low']:.3f}, {each['high']:.3f}]"


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _amount(value: float | int | None) -> str:
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else f"{value:,}"


def _table(heading: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from ("", f"## {heading}") if heading else ()
    yield from ("", *(_line(cells) for cells in (columns, ["---"] * len(columns), *rows)))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
