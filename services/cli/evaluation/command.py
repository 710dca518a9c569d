"""The command `graphtide eval`: answers of a graph measured and judged, with their cost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphtide.services.cli.connection import CONNECTION
from graphtide.services.cli.exit_codes import FAILED, USAGE, CommandError
from graphtide.services.cli.parameters import URL, AsJson, Config, Graph, Url
from graphtide.services.cli.terminal import Advance, progress, result, tell

if TYPE_CHECKING:
    from rich.console import Console

    from graphtide.services.cli.client import Json
    from graphtide.services.evaluation.wiring import EvaluationOptions, GraphLocation


def evaluate(  # noqa: PLR0913, PLR0917 -- the options of a command are its parameters
    questions: Annotated[Path, typer.Argument(help="The questions: JSON lines or a JSON list.", exists=True)],
    graph: Graph = "default",
    mode: Annotated[str, typer.Option(help="The evaluated system: a mode, or a file of answers.")] = "local",
    against: Annotated[
        list[str] | None, typer.Option(help="A mode, or a file of another system's answers; may be repeated.")
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="exact, pairwise, scores or graphrag-bench; may be repeated.")
    ] = None,
    answers: Annotated[str, typer.Option(help="The writer of answers: service; the model in short or long.")] = "",
    form: Annotated[str, typer.Option(help="musique, hotpot, 2wiki, graphrag-bench or plain, if not recognised.")] = "",
    corpus: Annotated[
        Path | None, typer.Option(help="Documents to publish first: a corpus, or the contexts of questions.")
    ] = None,
    top_k: Annotated[int, typer.Option(min=1, help="The number of passages.")] = 5,
    repetitions: Annotated[int, typer.Option(min=1, help="The number of repetitions of answers and verdicts.")] = 1,
    limit: Annotated[int, typer.Option(min=0, help="Only so many questions, drawn with the seed; 0: all.")] = 0,
    seed: Annotated[int, typer.Option(help="The seed of samples, intervals and the first repetition.")] = 0,
    temperature: Annotated[float, typer.Option(min=0, max=2, help="The temperature of answers and verdicts.")] = 0.0,
    judge_model: Annotated[str, typer.Option(help="The judge's model.  [default: that of the settings]")] = "",
    max_output_tokens: Annotated[int, typer.Option(min=64, help="The longest reply of a model.")] = 2048,
    max_cost: Annotated[float, typer.Option(min=0, help="Stop before the cost exceeds this; 0: no limit.")] = 0.0,
    max_tokens: Annotated[int, typer.Option(min=0, help="Stop before so many tokens are used; 0: no limit.")] = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the report and the journal.")] = Path(
        "graphtide-evaluation"
    ),
    data: Annotated[Path | None, typer.Option(help="A data folder to ask instead of a service.")] = None,
    config: Config = None,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Evaluate answers: exact match and F1, judged comparisons and scores, the measures of GraphRAG-Bench.

    Continues an interrupted evaluation of the same output folder without paying for anything twice. The report and the
    journal hold questions and answers. Exits with 1 when a limit or an endpoint stopped it.
    """
    from graphtide.services.evaluation.answers import AnswerStyle
    from graphtide.services.evaluation.questions import QuestionForm
    from graphtide.services.evaluation.run import AnswerMeasure
    from graphtide.services.evaluation.wiring import EvaluationOptions, GraphLocation

    with _failures():
        options = EvaluationOptions(
            questions,
            output,
            mode,
            tuple(against or ()),
            frozenset(AnswerMeasure(_known("--measure", each, list(AnswerMeasure))) for each in measure or ()),
            AnswerStyle(_known("--answers", answers, list(AnswerStyle))) if answers else None,
            QuestionForm(_known("--form", form, list(QuestionForm))) if form else None,
            corpus,
            top_k,
            repetitions,
            limit,
            seed,
            temperature,
            judge_model,
            max_output_tokens,
            max_cost,
            max_tokens,
        )
        location = GraphLocation(
            graph, url, data, CONNECTION.api_key.strip(), CONNECTION.ca_file, CONNECTION.client_cert
        )
        body = _run(options, location, config, as_json)
    result(body, as_json, _show)
    if body["stopped"]:
        raise CommandError(f"incomplete: {body['stopped']}; the same command continues it", FAILED)
    tell(f"the report is in {output}; its files hold questions and answers")


@contextmanager
def _failures() -> Iterator[None]:
    """Raise CommandError for wrong options and settings, and for an evaluation that failed."""
    from graphtide.infra.settings import SettingsError
    from graphtide.streams.errors import GraphtideError, Invalid

    try:
        yield
    except SettingsError as error:
        raise CommandError(str(error), USAGE) from error
    except GraphtideError as error:
        raise CommandError(str(error), USAGE if isinstance(error, Invalid) else FAILED) from error


def _run(options: EvaluationOptions, location: GraphLocation, config: Path | None, as_json: bool) -> Json:
    """Run the evaluation with a bar of its progress. Returns the report."""
    from graphtide.infra.settings import load_settings
    from graphtide.services.evaluation.wiring import evaluate as run_evaluation

    with progress(as_json) as bar:

        def step(name: str, total: int) -> Advance:
            if not as_json:
                tell(f"{name}: {total} steps, those of the journal included")
            return bar(name, total)

        return asyncio.run(run_evaluation(options, location, load_settings({"data": location.data}, config), step))


def _known(option: str, value: str, known: list[str]) -> str:
    if value not in known:
        raise CommandError(f"{option} {value} is unknown; use {', '.join(known)}", USAGE)
    return value


def _show(console: Console, body: Json) -> None:
    from graphtide.services.evaluation.report import report_markdown

    console.print(report_markdown(body), soft_wrap=True)
