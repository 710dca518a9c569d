"""The laws of an evaluation, with scripted judges over real sockets."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphtide.infra.settings import Settings
from graphtide.services.cli.exit_codes import CommandError
from graphtide.services.cli.top_level.app import app
from graphtide.services.evaluation.answers import MISSING, AnswerStyle, EvaluatedAnswer
from graphtide.services.evaluation.measures.pairwise import CRITERIA
from graphtide.services.evaluation.measures.rubric import SCORES
from graphtide.services.evaluation.questions import EvaluationQuestion, read_questions
from graphtide.services.evaluation.run import AnswerMeasure, EvaluationJudges, EvaluationPlan, EvaluationRun
from graphtide.services.evaluation.wiring import EvaluationOptions, GraphLocation, evaluate
from graphtide.streams.errors import Broken
from tests.support.endpoints import Fault, status
from tests.support.llm_server import LlmServer, Seen
from tests.support.seeds import seeds

Json = dict[str, Any]
Judge = Callable[[str, str], str]
_ANSWERS = re.compile(r"<answer-(\w+) [12]>\n(.*?)\n</answer-\1>", re.DOTALL)
PRICES = {"judge": {"prompt": 1.0, "completion": 2.0}}


def pair_of(seen: Seen) -> tuple[str, str]:
    """Return the two answers that a judge is shown."""
    (_, first), (_, second) = _ANSWERS.findall(seen.asked)
    return first, second


def judging(winner: Judge) -> Callable[[Seen], str]:
    """Return the script of a judge with one preference for all criteria."""

    def says(seen: Seen) -> str:
        verdict = {"reason": "so", "winner": winner(*pair_of(seen))}
        return json.dumps(dict.fromkeys(CRITERIA, verdict))

    return says


def longer(first: str, second: str) -> str:
    return "tie" if len(first) == len(second) else "1" if len(first) > len(second) else "2"


def files(folder: Path, count: int, seed: int, **last: object) -> tuple[Path, Path, Path]:
    """Write questions and the answers of two systems, of random lengths; `last` is added to our last answer."""
    print(f"seed {seed}")
    draw = random.Random(seed)
    questions, ours, theirs = (folder / f"{name}.jsonl" for name in ("questions", "ours", "theirs"))
    questions.write_text("".join(json.dumps({"id": f"q{n}", "question": f"Why {n}?"}) + "\n" for n in range(count)))
    for path, fields in ((ours, last), (theirs, {})):
        rows = [{"id": f"q{n}", "answer": "word " * draw.randrange(1, 9) + f"{n}{path.stem[0]}"} for n in range(count)]
        rows[-1] |= fields  # type: ignore[arg-type]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return questions, ours, theirs


def options(folder: Path, count: int = 8, seed: int = 1, **last: object) -> EvaluationOptions:
    questions, ours, theirs = files(folder, count, seed, **last)
    pairwise = frozenset({AnswerMeasure.PAIRWISE})
    return EvaluationOptions(questions, folder / "out", str(ours), (str(theirs),), pairwise)


def run(asked: EvaluationOptions, server: LlmServer, data: Path | None = None, **settings: object) -> Json:
    """Evaluate with a model at the server; return the report."""
    given: Json = {"llm_base_url": server.base_url, "llm_model": "judge", "prices": PRICES, **settings}
    location = GraphLocation("eval", "http://127.0.0.1:9", data)
    return asyncio.run(evaluate(asked, location, Settings(**given), lambda _name, _total: lambda _count: None))


def truncated(answer: Json) -> object:
    """Spoil a right answer: the model reached its limit."""
    answer["choices"][0]["finish_reason"] = "length"
    return answer


def lengths(path: Path) -> list[int]:
    return [len(json.loads(line)["answer"]) for line in path.read_text().splitlines()]


def test_judge_that_prefers_the_first_gives_one_half(tmp_path: Path) -> None:
    """Both orders cancel a preference for a position, which the report names."""
    with LlmServer(says=judging(lambda _first, _second: "1")) as server:
        body = run(options(tmp_path), server)
    for criterion in body["pairwise"]["theirs"].values():
        assert (criterion["rate"]["mean"], criterion["rate"]["low"], criterion["rate"]["high"]) == (0.5, 0.5, 0.5)
        assert (criterion["won"], criterion["lost"], criterion["first"]) == (8, 8, 1.0)
    assert len(server.seen) == 16


@pytest.mark.parametrize("seed", range(3))
def test_judge_that_prefers_the_longer_gives_the_computed_rate(tmp_path: Path, seed: int) -> None:
    """Wins count one, ties one half; repetitions agree, so they do not deviate; tokens are the endpoint's."""
    asked = replace(options(tmp_path, seed=seed), repetitions=2)
    with LlmServer(says=judging(longer)) as server:
        body = run(asked, server)
    pairs = zip(lengths(Path(asked.mode)), lengths(Path(asked.against[0])), strict=True)
    expected = [1.0 if ours > theirs else 0.5 if ours == theirs else 0.0 for ours, theirs in pairs]
    rate = body["pairwise"]["theirs"]["overall"]["rate"]
    assert rate["mean"] == pytest.approx(sum(expected) / 8)
    assert rate["deviation"] == 0
    assert rate["low"] <= rate["mean"] <= rate["high"]
    assert {seen.body["seed"] for seen in server.seen} == {0, 1}
    used = body["usage"]["pairwise judging"]
    prompt, completion = (
        sum(getattr(seen, f"{kind}_tokens") for seen in server.seen) for kind in ("prompt", "completion")
    )
    assert (used["calls"], used["prompt tokens"], used["completion tokens"]) == (len(server.seen), prompt, completion)
    assert used["cost"] == pytest.approx((prompt + 2 * completion) / 1e6)


def test_answer_that_was_cut_off_loses_without_a_call(tmp_path: Path) -> None:
    """However long it is; it matches no gold answer, and scores 0."""
    asked = options(tmp_path, 1, finish_reason="length", answer="long " * 99)
    with LlmServer(says=judging(longer)) as server:
        body = run(asked, server)
        assert body["pairwise"]["theirs"]["overall"]["rate"]["mean"] == 0
        scored = run(replace(asked, measures=frozenset({AnswerMeasure.SCORES}), against=()), server)
    assert not server.seen
    assert scored["scores"]["ours"]["overall"]["mean"] == 0
    assert scored["answers"]["ours"]["cut off"] == 1


def test_malformed_and_truncated_verdicts_are_asked_once_more_then_counted(tmp_path: Path) -> None:
    """A verdict in another form is never read as one; the question is left out, and the report names the class."""
    asked = options(tmp_path, 2)
    wrong = json.dumps({name: {"reason": "", "winner": "Answer 1"} for name in CRITERIA})

    def says(seen: Seen) -> str:
        return wrong if "Why 0?" in seen.asked else judging(longer)(seen)

    with LlmServer(says=says) as server:
        body = run(asked, server)
        again = run(asked, server)
    assert len(server.seen) == 2 * 2 + 2
    assert body == again
    assert body["judge_failures"] == {"pairwise": {"malformed": 2}}
    assert body["pairwise"]["theirs"]["overall"]["rate"]["count"] == 1
    assert body["usage"]["pairwise judging"]["calls"] == 6


def test_failures_of_the_endpoint_are_retried_and_change_nothing(tmp_path: Path) -> None:
    """429 with Retry-After, 500, a dropped connection, a truncated verdict."""
    asked = options(tmp_path, 3)
    with LlmServer(says=judging(longer)) as server:
        plain = run(replace(asked, output=tmp_path / "plain"), server)
        server.misbehave(status(429, retry_after="0"), status(500), Fault(drop=True), Fault(edit=truncated))
        body = run(asked, server)
    assert body["pairwise"] == plain["pairwise"]
    assert not body["judge_failures"]
    assert body["complete"]


def test_endpoint_that_knows_neither_seed_nor_temperature_is_asked_without_them(tmp_path: Path) -> None:
    """Each refusal costs one refused call; the verdicts are the same."""
    asked = options(tmp_path, 2)
    with LlmServer(says=judging(longer), refuses=("seed", "temperature")) as server:
        body = run(asked, server, llm_concurrency=1)
    assert body["complete"]
    assert len(server.seen) == 2 + 4
    assert not {"seed", "temperature"} & server.seen[-1].body.keys()


def test_wrong_key_stops_at_once_and_a_later_run_continues(tmp_path: Path) -> None:
    """The report is incomplete and names the reason, without the key."""
    asked, key = options(tmp_path, 2), "sk-secret-of-the-test"
    with LlmServer(says=judging(longer)) as server:
        server.misbehave(status(401, f"wrong key {key}"))
        body = run(asked, server, llm_concurrency=1, llm_api_key=key)
        assert (body["complete"], len(server.seen)) == (False, 1)
        assert "401" in body["stopped"]
        whole = run(asked, server, llm_api_key=key)
    assert whole["complete"]
    assert len(server.seen) == 5
    assert all(key not in path.read_text() for path in (tmp_path / "out").iterdir())
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir()} == {0o600}


@pytest.mark.parametrize("seed", seeds(1, 6))
def test_budget_is_never_exceeded_and_no_call_is_repeated(tmp_path: Path, seed: int) -> None:
    """Runs with growing limits stay below them, and together make the calls of one run."""
    asked = replace(options(tmp_path, 4, seed), max_output_tokens=128)
    with LlmServer(says=judging(longer)) as server:
        limits = range(1_000, 9_000, 1_000)
        for limit in limits:
            body = run(replace(asked, max_tokens=limit), server)
            used = [each["prompt tokens"] + each["completion tokens"] for each in body["usage"].values()]
            assert sum(used) <= limit
            assert body["complete"] or "--max-tokens" in body["stopped"]
        assert body["complete"]
        assert len(server.seen) == 8


def test_other_failure_is_raised_after_the_calls_in_flight_and_begins_no_more(tmp_path: Path) -> None:
    """A result that is paid for reaches the journal before its owner closes it."""
    questions, began, ended = read_questions(files(tmp_path, 5, 1)[0]), asyncio.Event(), list[str]()

    class Failing:
        name = "failing"

        async def answer(self, question: EvaluationQuestion, repetition: int) -> EvaluatedAnswer:
            if question.id == "q0":
                await began.wait()
                raise Broken("the source is broken")
            began.set()
            for _ in range(10):
                await asyncio.sleep(0)
            ended.append(question.id)
            return MISSING

    plan = EvaluationPlan(questions, [Failing()], frozenset({AnswerMeasure.EXACT}), concurrency=2)
    course = EvaluationRun(plan, EvaluationJudges(), lambda _name, _total: lambda _count: None)

    async def ends() -> list[str]:
        with pytest.raises(Broken, match="the source is broken"):
            await course.run()
        return list(ended)

    assert asyncio.run(ends()) == ["q1"]


def test_nine_scores_and_their_mean(tmp_path: Path) -> None:
    """Each whole number from 0 to 10; another one is not a score."""
    given = {name: at for at, name in enumerate(SCORES)}
    replies = iter([json.dumps(given | {"diversity": 11}), json.dumps(given)])
    asked = replace(options(tmp_path, 1), measures=frozenset({AnswerMeasure.SCORES}), against=())
    with LlmServer(says=lambda _: next(replies)) as server:
        scores = run(asked, server)["scores"]["ours"]
    assert {name: each["mean"] for name, each in scores.items()} == {**given, "overall": 4.0}


def test_modes_of_a_graph_are_matched_with_one_reader(tmp_path: Path) -> None:
    """The corpus is published once; the model answers from what a mode retrieves; a cut-off answer is wrong."""
    corpus, questions = tmp_path / "corpus.jsonl", tmp_path / "questions.jsonl"
    texts = {"d1": "Ana Ruiz leads the harbour office in Vigo.", "d2": "The ferry Marisol was built in 1974."}
    corpus.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items()))
    rows = [("q1", "When was the ferry Marisol built?", "1974"), ("q2", "Who leads the harbour office?", "Ana Ruiz")]
    fields = ("id", "question", "answer")
    questions.write_text("".join(json.dumps(dict(zip(fields, row, strict=True))) + "\n" for row in rows))

    def says(seen: Seen) -> str | None:
        if "evaluated_answer" not in json.dumps(seen.body):
            return None
        question = seen.asked.rpartition("Question: ")[2]
        known = "1974" in seen.asked if "ferry" in question else "Ana Ruiz" in seen.asked
        return json.dumps({"answer": ("1974" if "ferry" in question else "The Ana Ruiz.") if known else "unknown"})

    asked = EvaluationOptions(questions, tmp_path / "out", "local", ("vector",), corpus=corpus)
    with LlmServer(says=says) as server:
        body = run(replace(asked, style=AnswerStyle.SHORT), server, tmp_path / "data")
        assert [body["exact"][name]["em"]["mean"] for name in ("local", "vector")] == [1, 1]
        assert body["exact_difference"]["vector"]["f1"]["mean"] == 0
        assert body["usage"]["answers of local"]["calls"] == 2
        assert run(replace(asked, style=AnswerStyle.SHORT), server, tmp_path / "data") == body
        assert texts["d1"] not in (tmp_path / "out" / "journal.jsonl").read_text()
        server.misbehave(Fault(edit=truncated))
        served = run(replace(asked, style=AnswerStyle.SERVICE, limit=1, seed=1, against=()), server, tmp_path / "data")
    assert served["answers"]["local"]["cut off"] == 1
    assert served["exact"]["local"]["f1"]["mean"] == 0
    assert served["usage"]["answers of local"]["calls"] == 3


@pytest.mark.thorough
def test_graphrag_bench_measures_are_computed_from_verdicts(tmp_path: Path) -> None:
    """ROUGE-L and correctness, coverage, faithfulness by type; the export has the form of the benchmark's scripts."""
    kinds = {"q1": "Fact Retrieval", "q2": "Creative Generation", "q3": "Creative Generation"}
    questions, answers = tmp_path / "medical.json", tmp_path / "ours.jsonl"
    row = {"question": "Which?", "answer": "BCC is common. It grows.", "evidence": "e"}
    questions.write_text(json.dumps([{"id": name, "question_type": kind, **row} for name, kind in kinds.items()]))
    given: Json = {"answer": "BCC is common.", "contexts": ["BCC is common"]}
    rows = [{"id": "q1", **given}, {"id": "q2", **given}, {"id": "q3", **given, "finish_reason": "length"}]
    answers.write_text("".join(json.dumps(each) + "\n" for each in rows))

    def says(seen: Seen) -> str:
        name = seen.body["response_format"]["json_schema"]["name"]
        stated = ["BCC is common", "BCC grows"] if "It grows." in seen.asked else ["BCC is common"]
        reply: Json = {"classified_statements": {"TP": ["BCC is common"], "FP": [], "FN": ["BCC grows"]}}
        reply |= {"statements": {"statements": stated}, "covered_facts": {"verdicts": [1, 0]}}
        return json.dumps(reply.get(name, {"verdicts": [1]}))

    with LlmServer(says=says) as server:
        asked = EvaluationOptions(questions, tmp_path / "out", str(answers))
        body = run(asked, server, embedding_model="hashing")
        alone = run(replace(asked, output=tmp_path / "alone"), server, embedding_model="hashing", llm_concurrency=1)
    assert json.dumps(alone) == json.dumps(body), "the order in which calls end changes nothing"
    kinds_of = body["graphrag_bench"]["ours"]
    assert kinds_of["Fact Retrieval"]["rouge_l"]["mean"] == pytest.approx(2 * 3 / (3 + 5))
    factual = 2 * 1 / (2 * 1 + 0 + 1)
    correctness = kinds_of["Fact Retrieval"]["correctness"]["mean"]
    assert 0.75 * factual + 0.125 < correctness < 0.75 * factual + 0.25
    creative = {name: each["mean"] for name, each in kinds_of["Creative Generation"].items()}
    assert creative == pytest.approx({"correctness": correctness / 2, "coverage": 0.25, "faithfulness": 0.5}, abs=1e-6)
    exported = json.loads((tmp_path / "out" / "answers-ours.json").read_text())
    assert [len(exported[name]) for name in ("type1", "type2", "type3", "type4")] == [1, 0, 0, 2]
    assert exported["type1"][0]["context"] == ["BCC is common"]


@pytest.mark.parametrize(
    ("given", "settings", "message"),
    [
        (("--measure", "elegance"), {}, "--measure elegance is unknown"),
        (("--measure", "pairwise"), {}, "needs another system"),
        (("--measure", "scores"), {}, "GRAPHTIDE_LLM_BASE_URL"),
        (
            ("--measure", "scores", "--max-cost", "1"),
            {"GRAPHTIDE_LLM_BASE_URL": "http://127.0.0.1:9/v1", "GRAPHTIDE_LLM_MODEL": "m"},
            "'m' has no price",
        ),
    ],
)
def test_command_names_what_is_wrong_before_it_asks(
    tmp_path: Path, given: tuple[str, ...], settings: dict[str, str], message: str
) -> None:
    """An unknown measure, no other system, no language model, and a budget in money without a price."""
    questions, ours, _ = files(tmp_path, 1, 1)
    command = ["eval", str(questions), "--mode", str(ours), "--output", str(tmp_path / "out"), *given]
    done = CliRunner().invoke(app, command, env=settings)
    assert isinstance(done.exception, CommandError)
    assert message in str(done.exception)
