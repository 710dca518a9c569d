"""Collections of invented notes with questions: `tests/data/notes/`, in the format of the notes benchmark.

A question has `must`, groups of regular expressions of which one each must match the answer, and `must_not`; with
`refuse`, nothing in the notes answers it, and a refusal is right, or a text that matches `or_must`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import graphtide
from graphtide.infra.models.local.generator import NOTHING_FITS
from graphtide.services.sdk.interface import Graph
from tests.support.bench_data import ROOT

COLLECTIONS = ROOT / "tests" / "data" / "notes"
MAX_WORDS, TIMEOUT_S = 80, 120.0
_MARKUP = (
    r"(?m)^\s{0,3}#{1,6}\s",
    r"\|\s*:?-{3,}",
    r"(?m)^---\s*$",
    r"\*\*",
    r"\[\[",
    r"\]\(",
    "```",
    r"</?(p|td|tr|li|div)\b",
)
_MARKS = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its answer, and the verdict: right, wrong, or false refusal."""

    question: Mapping[str, Any]
    answer: str
    verdict: str


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def completed(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question with all fields that `score.py` of the notes benchmark reads."""
    markup = {"must_not": [*question.get("must_not", ()), *_MARKUP]}
    return {"must": [], "sources": [], **question, **markup}


def verdict(question: Mapping[str, Any], answer: str) -> str:
    """Return "right", "wrong" or "false refusal"."""
    refused = answer == NOTHING_FITS
    if question.get("refuse"):
        alternatives = question.get("or_must")
        return "right" if refused or (alternatives and _matches(answer, alternatives, question)) else "wrong"
    if refused:
        return "false refusal"
    return "right" if _matches(answer, question["must"], question) else "wrong"


def _matches(answer: str, must: list[list[str]], question: Mapping[str, Any]) -> bool:
    text = _MARKS.sub("", answer)
    found = all(any(re.search(each, text, re.IGNORECASE) for each in group) for group in must)
    wrong = any(re.search(each, text, re.IGNORECASE) for each in completed(question)["must_not"])
    return found and not wrong and len(text.split()) <= MAX_WORDS


async def ask_collection(name: str, scratch: Path, answer_model: str, *, step: int = 1) -> list[Asked]:
    """Publish the notes of a collection to a new data folder and ask; then apply each update and ask its questions.

    Of the questions before the updates, each `step`-th is asked. `answer_model` is the setting of that name.
    """
    source, docs = COLLECTIONS / name, scratch / "docs"
    shutil.copytree(source / "docs", docs)
    async with graphtide.open(scratch / "data", settings={"answer_model": answer_model}) as db:
        notes = _Notes(db.graph(name), docs)
        found = [await notes.ask(question) for question in lines_of(source / "questions.jsonl")[::step]]
        for update in lines_of(source / "updates.jsonl"):
            path = docs / update["file"]
            if update.get("delete"):
                path.unlink()
            else:
                path.write_text(update["text"], encoding="utf-8")
            found += [await notes.ask(question) for question in update["questions"]]
    return found


class _Notes:
    """A graph that follows a folder."""

    def __init__(self, graph: Graph, docs: Path) -> None:
        self._graph = graph
        self._docs = docs
        self._published: dict[str, Mapping[str, Any]] = {}
        self._token = ""

    async def ask(self, question: Mapping[str, Any]) -> Asked:
        await self._publish()
        answer = (await self._graph.ask(question["question"], after=self._token, timeout_s=TIMEOUT_S)).answer
        return Asked(question, answer, verdict(question, answer))

    async def _publish(self) -> None:
        documents: dict[str, Mapping[str, Any]] = {str(each["id"]): each for each in graphtide.documents_in(self._docs)}
        tokens = list(self._changed(documents))
        if tokens:
            self._token = (await self._graph.add_many(tokens)).token
        for doc_id in self._published.keys() - documents.keys():
            self._token = (await self._graph.delete(doc_id)).token
        self._published = documents

    def _changed(self, documents: Mapping[str, Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        yield from (document for doc_id, document in documents.items() if self._published.get(doc_id) != document)
