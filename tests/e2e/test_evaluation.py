"""The command `graphtide eval` as a process: kill -9 and continuation."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from graphtide.infra.settings import Settings
from graphtide.services.evaluation.measures.pairwise import CRITERIA
from graphtide.services.evaluation.run import AnswerMeasure
from graphtide.services.evaluation.wiring import EvaluationOptions, GraphLocation, evaluate
from tests.support.command import ROOT, graphtide
from tests.support.llm_server import LlmServer, Seen

QUESTIONS = 4
CALLS = 2 * QUESTIONS
ANSWERED = 5
"""The calls that are answered before the kill."""


def files(folder: Path) -> list[str]:
    """Write questions and the answers of two systems; return the arguments of the command."""
    rows = [{"id": f"q{number}", "question": f"Why {number}?"} for number in range(QUESTIONS)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("ours", "theirs"):
        answers = [{"id": row["id"], "answer": f"{name} of {row['id']}"} for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    compared = ["--mode", str(folder / "ours.jsonl"), "--against", str(folder / "theirs.jsonl")]
    return ["eval", str(folder / "questions.jsonl"), *compared, "--measure", "pairwise"]


def options(folder: Path) -> EvaluationOptions:
    """Return the options of the same evaluation, with another output folder."""
    ours, theirs = str(folder / "ours.jsonl"), str(folder / "theirs.jsonl")
    measures = frozenset({AnswerMeasure.PAIRWISE})
    return EvaluationOptions(folder / "questions.jsonl", folder / "whole", ours, (theirs,), measures)


def verdict(seen: Seen) -> str:
    """Prefer the answer of `ours`, except to one question."""
    first = "ours" in seen.asked.split("</answer-")[0]
    winner = "1" if first == ("Why 2?" not in seen.asked) else "2"
    return json.dumps({name: {"reason": "so", "winner": winner} for name in CRITERIA})


@pytest.mark.thorough
def test_killed_evaluation_continues_with_the_same_report_and_repeats_no_answered_call(tmp_path: Path) -> None:
    """The call that was in flight at kill -9 is made again; every other one is made once."""
    arguments, reached, release = files(tmp_path), threading.Event(), threading.Event()

    def says(seen: Seen) -> str:
        if len(server.seen) == ANSWERED + 1:
            reached.set()
            release.wait(timeout=60)
        return verdict(seen)

    with LlmServer(says=says) as server:
        settings: dict[str, Any] = {"llm_base_url": server.base_url, "llm_model": "judge", "llm_concurrency": "1"}
        given = {f"GRAPHTIDE_{name.upper()}": value for name, value in settings.items()}
        output = ["--output", str(tmp_path / "killed")]
        command = [sys.executable, "-m", "graphtide.services.cli", *arguments, *output]
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT), **given})
        assert reached.wait(timeout=120)
        process.kill()
        process.wait(timeout=60)
        release.set()
        done = graphtide(*arguments, *output, **settings)
        assert done.returncode == 0, done.stderr
        asked = [seen.asked for seen in server.seen]
        assert len(asked) == CALLS + 1
        assert len(set(asked)) == CALLS
        assert asked[ANSWERED] == asked[ANSWERED + 1]
        whole = evaluate(options(tmp_path), GraphLocation("", ""), Settings(**settings), lambda *_: lambda _: None)
        rate = asyncio.run(whole)["pairwise"]["theirs"]["overall"]["rate"]
    assert (tmp_path / "killed" / "report.json").read_text() == (tmp_path / "whole" / "report.json").read_text()
    assert rate["mean"] == 0.75
    assert "| overall | 0.750 [" in (tmp_path / "killed" / "report.md").read_text()
