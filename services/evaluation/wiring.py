"""Construction of an evaluation from its options and the settings: graph, models, journal, report files.

The answering and judging models are those of the settings (`llm_*`), the vectors those of `embedding_*`. The graph is
asked through the Python interface: of a running service, or of a data folder in this process.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from graphtide.infra.models.limits.rate_limiter import EndpointLimits
from graphtide.infra.models.openai.chat import ChatEndpoint, OpenAIChat
from graphtide.infra.models.usage.accounting import Price, Rules, UsageAccounting
from graphtide.infra.private_files import make_private_file, make_private_folder
from graphtide.infra.settings import Settings
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.evaluation.answers import (
    AnswerSource,
    AnswerStyle,
    AskingSettings,
    FileAnswers,
    GraphAnswers,
)
from graphtide.services.evaluation.budget import EvaluationBudget
from graphtide.services.evaluation.journal import EvaluationJournal, journal_key
from graphtide.services.evaluation.measures.graphrag_bench import BenchmarkJudge, VectorSimilarity, export_rows
from graphtide.services.evaluation.measures.rouge import rouge_l
from graphtide.services.evaluation.model_calls import CallSettings, ModelCalls
from graphtide.services.evaluation.questions import QuestionForm, QuestionSet, read_corpus, read_questions
from graphtide.services.evaluation.report import Json, ReportSettings, report_json, report_markdown
from graphtide.services.evaluation.run import (
    AnswerMeasure,
    EvaluationJudges,
    EvaluationOutcome,
    EvaluationPlan,
    EvaluationRun,
    Progress,
)
from graphtide.services.model_wiring import open_embedder
from graphtide.services.sdk.embedded import EmbeddedDatabase
from graphtide.services.sdk.interface import Graph
from graphtide.services.sdk.remote.database import connect
from graphtide.streams.errors import Broken, Invalid, Rejected
from graphtide.streams.scheduling.work_pool import WorkPool
from graphtide.streams.usage import NANO, Budget, ModelUsage

JOURNAL, REPORT, TABLES = "journal.jsonl", "report.json", "report.md"
_LOADING_TIMEOUT_S = 86_400.0


@dataclass(frozen=True, slots=True)
class GraphLocation:
    """The graph's name, and its data folder, else the URL of a service with its credentials."""

    graph: str
    url: str
    data: Path | None = None
    api_key: str = ""
    ca_file: str = ""
    client_cert: str = ""

    @property
    def where(self) -> str:
        return str(self.data.resolve()) if self.data else self.url


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """The options of the command, without those of the graph's location. 0 or empty: the default of docs/evaluation.md.

    `mode` and `against` are modes, or files of answers.
    """

    questions: Path
    output: Path
    mode: str = "local"
    against: tuple[str, ...] = ()
    measures: frozenset[AnswerMeasure] = frozenset()
    style: AnswerStyle | None = None
    form: QuestionForm | None = None
    corpus: Path | None = None
    top_k: int = 5
    repetitions: int = 1
    limit: int = 0
    seed: int = 0
    temperature: float = 0.0
    judge_model: str = ""
    max_output_tokens: int = 2048
    max_cost: float = 0.0
    max_tokens: int = 0


async def evaluate(options: EvaluationOptions, location: GraphLocation, settings: Settings, progress: Progress) -> Json:
    """Run the evaluation, write its files, and return the report. Raises Invalid, Broken and the graph's errors."""
    questions = _chosen(read_questions(options.questions, options.form), options)
    options = _with_defaults(options, questions)
    make_private_folder(options.output, (JOURNAL, REPORT, TABLES), owned=False)
    with EvaluationJournal(options.output / JOURNAL) as journal:
        async with AsyncExitStack() as stack:
            models = _EvaluationModels(options, settings, journal, stack)
            asks = options.corpus is not None or not all(map(_is_file, (options.mode, *options.against)))
            graph = await stack.enter_async_context(_graph(location, settings)) if asks else None
            if graph is not None:
                await _load_corpus(graph, options, location, journal)
            plan = EvaluationPlan(
                questions,
                models.systems(graph, location),
                options.measures,
                options.repetitions,
                options.seed,
                settings.llm_concurrency,
            )
            outcome = await EvaluationRun(plan, models.judges(), progress).run()
        body = report_json(plan, outcome, models.report_settings(), journal.spent)
    _write(options.output, body, plan, outcome)
    return body


class _EvaluationModels:
    """The models of the settings, opened when a measure or a style needs them."""

    def __init__(
        self, options: EvaluationOptions, settings: Settings, journal: EvaluationJournal, stack: AsyncExitStack
    ) -> None:
        self._options = options
        self._settings = settings
        self._journal = journal
        self._stack = stack
        self._prices = {name: Price(each.prompt, each.completion) for name, each in settings.prices.items()}
        self._accounts = UsageAccounting(rules=Rules(self._prices))
        limit = Budget(options.max_tokens, round(options.max_cost * NANO))
        self._budget = EvaluationBudget(limit, lambda: sum(journal.spent.values(), ModelUsage()))
        self._used: dict[str, str] = {}

    def systems(self, graph: Graph | None, location: GraphLocation) -> list[AnswerSource]:
        """Return the evaluated system, then those that it is compared with. Raises Invalid for equal names."""
        modes = (self._options.mode, *self._options.against)
        found: list[AnswerSource] = [
            FileAnswers(Path(each)) if _is_file(each) else self._asked(graph, each, location) for each in modes
        ]
        names = [system.name for system in found]
        if len(set(names)) < len(names):
            raise Invalid("against", f"{', '.join(names)}: each mode and each file must have a name of its own")
        return found

    def judges(self) -> EvaluationJudges:
        """Return the judges that the measures need."""
        measures = self._options.measures
        if not measures - {AnswerMeasure.EXACT}:
            return EvaluationJudges()
        judge = self._calls("judge", self._options.judge_model or self._settings.llm_model)
        if AnswerMeasure.BENCHMARK not in measures:
            return EvaluationJudges(judge)
        rouge_l("", "a")  # fails now, not after all answers, without its package
        pool = WorkPool()
        self._stack.callback(pool.close)
        embedder = open_embedder(self._settings, self._accounts, self._stack, pool)
        self._used["vectors"] = embedder.name
        price = self._price(self._settings.embedding_model) if self._settings.embedding_base_url else Price()
        similarity = VectorSimilarity(embedder, self._journal, self._budget, price)
        return EvaluationJudges(judge, BenchmarkJudge(judge, similarity))

    def report_settings(self) -> ReportSettings:
        options = self._options
        style = str(options.style)
        return ReportSettings(self._used, style, options.top_k, options.temperature, bool(self._prices))

    def _asked(self, graph: Graph | None, mode: str, location: GraphLocation) -> AnswerSource:
        if graph is None:
            raise AssertionError("a graph is opened for every mode")
        options = self._options
        style = options.style or AnswerStyle.SERVICE
        keep = AnswerMeasure.BENCHMARK in options.measures
        asking = AskingSettings(mode, style, options.top_k, keep_contexts=keep, where=location.where)
        reader = None if style is AnswerStyle.SERVICE else self._calls("answers", self._settings.llm_model)
        return GraphAnswers(graph, asking, self._journal, self._budget, reader)

    def _calls(self, role: str, model: str) -> ModelCalls:
        if not self._settings.llm_base_url or not model:
            raise Broken(
                f"no language model for {role} is configured: set GRAPHTIDE_LLM_BASE_URL and GRAPHTIDE_LLM_MODEL, or "
                "measure only exact answers of the service (--measure exact --answers service)"
            )
        options, settings = self._options, self._settings
        limits = EndpointLimits(
            settings.llm_concurrency, settings.llm_requests_per_minute, settings.llm_tokens_per_minute
        )
        endpoint = ChatEndpoint(
            settings.llm_base_url,
            model,
            settings.llm_api_key.get_secret_value(),
            settings.llm_timeout_s,
            options.max_output_tokens,
            limits,
            options.temperature,
        )
        chat = OpenAIChat(endpoint, self._accounts)
        self._stack.push_async_callback(chat.close)
        self._used[role] = model
        call_settings = CallSettings(self._price(model), options.max_output_tokens, options.temperature, options.seed)
        return ModelCalls(chat, self._journal, self._budget, call_settings)

    def _price(self, model: str) -> Price:
        if self._options.max_cost and model not in self._prices:
            raise Broken(
                f"--max-cost is set, and the model {model!r} has no price: set one in prices of graphtide.toml"
            )
        return self._prices.get(model, Price())


def _is_file(system: str) -> bool:
    return system.endswith((".json", ".jsonl"))


@asynccontextmanager
async def _graph(location: GraphLocation, settings: Settings) -> AsyncIterator[Graph]:
    if location.data is not None:
        if settings.kafka or settings.bolt:
            raise Broken("--data is for a data folder, and the settings name a cluster: give --url instead")
        from graphtide.services.wiring import open_application

        async with open_application(settings.model_copy(update={"data": location.data})) as application:
            yield EmbeddedDatabase(application, RequestLimits.of(settings)).graph(location.graph)
        return
    cert, verify = location.client_cert or None, location.ca_file or True
    async with connect(location.url, api_key=location.api_key, verify=verify, cert=cert) as remote:
        yield remote.graph(location.graph)


async def _load_corpus(
    graph: Graph, options: EvaluationOptions, location: GraphLocation, journal: EvaluationJournal
) -> None:
    """Publish the corpus and wait until the graph includes it, unless an earlier run did."""
    if options.corpus is None:
        return
    documents = list(read_corpus(options.corpus))
    key = journal_key("corpus", location.where, graph.name, documents)
    if journal.find(key) is None:
        receipt = await graph.add_many(documents)
        if receipt.rejected:
            first = receipt.rejected[0]
            raise Rejected(
                f"{len(receipt.rejected)} documents of the corpus are wrong, such as {first.id}: {first.message}"
            )
        await graph.wait(receipt.token, _LOADING_TIMEOUT_S)
        failed = (await graph.documents(state="failed", limit=1)).documents
        if failed:
            raise Rejected(
                f"documents of graph {graph.name!r} failed, such as {failed[0].id}: graphtide dlq list -g {graph.name} "
                "has the reasons; correct them, or choose another graph"
            )
        journal.record(key, "corpus", {"documents": receipt.accepted}, ModelUsage())


def _chosen(found: QuestionSet, options: EvaluationOptions) -> QuestionSet:
    """Return the questions, or a sample of `limit` of them, drawn with the seed, in the order of the file."""
    if not options.limit or options.limit >= len(found.questions):
        return found
    drawn = sorted(random.Random(options.seed).sample(range(len(found.questions)), options.limit))
    return replace(found, questions=tuple(found.questions[at] for at in drawn))


def _with_defaults(options: EvaluationOptions, questions: QuestionSet) -> EvaluationOptions:
    measures = options.measures or _measures_of(options, questions)
    if AnswerMeasure.PAIRWISE in measures and not options.against:
        raise Invalid(
            "against", "pairwise judging needs another system: name a mode such as vector, or a file of answers"
        )
    style = options.style or (AnswerStyle.SHORT if measures == {AnswerMeasure.EXACT} else AnswerStyle.SERVICE)
    return replace(options, measures=measures, style=style)


def _measures_of(options: EvaluationOptions, questions: QuestionSet) -> frozenset[AnswerMeasure]:
    if questions.form is QuestionForm.GRAPHRAG_BENCH:
        return frozenset({AnswerMeasure.BENCHMARK})
    if any(question.golds for question in questions.questions):
        return frozenset({AnswerMeasure.EXACT})
    return frozenset({AnswerMeasure.PAIRWISE if options.against else AnswerMeasure.SCORES})


def _write(folder: Path, body: Json, plan: EvaluationPlan, outcome: EvaluationOutcome) -> None:
    _write_private(folder / REPORT, json.dumps(body, ensure_ascii=False, indent=1) + "\n")
    _write_private(folder / TABLES, report_markdown(body))
    if AnswerMeasure.BENCHMARK in plan.measures:
        for system in plan.systems:
            answers = {
                name: each
                for (which, number, name), each in outcome.answers.items()
                if which == system.name and not number
            }
            rows = export_rows(plan.questions.questions, answers)
            _write_private(
                folder / f"answers-{system.name}.json", json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
            )


def _write_private(path: Path, text: str) -> None:
    make_private_file(path)
    path.write_text(text, encoding="utf-8")
