"""Measures the answers over realistic notes with the default settings, and writes the README's table.

Three collections of notes (`notes/` of the bench data) are published by `graphtide sync`, each into its own graph of
one service without any endpoint. Ninety questions are asked over HTTP with the question alone; then the updates are
applied one by one, each followed by its questions. `score.py` of the bench data judges the answers. It asserts nothing.
`--notes tests/data/notes` asks the project's own five collections, which a test bounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx

from tests.support.bench_data import ROOT, bench_data
from tests.support.marked_page import write_part
from tests.support.note_collections import completed
from tests.support.processes import service

Json = dict[str, Any]
BEGIN, END = "<!-- notes:begin -->", "<!-- notes:end -->"


@dataclass(frozen=True, slots=True)
class Judged:
    """A question, the service's answer, and the verdict of `score.py`."""

    question: Json
    answer: Json
    verdict: str
    recall: float | None

    @property
    def right(self) -> bool:
        return self.verdict.startswith("right")

    @property
    def formats(self) -> set[str]:
        """Return the formats of the sources; "refusal" for a question that has none to cite."""
        if self.question.get("refuse"):
            return {"(to be refused)"}
        return {source.rsplit(".", 1)[-1] for source in self.question["sources"]}


class NotesFolder:
    """A copy of a collection's notes, and the graph that `graphtide sync` keeps equal to it."""

    def __init__(self, client: httpx.Client, graph: str, folder: Path) -> None:
        self._client = client
        self._graph = graph
        self._folder = folder

    def apply(self, update: Json) -> None:
        """Write or delete one file, and publish the difference."""
        path = self._folder / update["file"]
        if update.get("delete"):
            path.unlink()
        else:
            path.write_text(update["text"], encoding="utf-8")
        self.publish()

    def publish(self) -> None:
        """Publish the folder as a user would, and wait until everything is applied."""
        command = [sys.executable, "-m", "graphtide.services.cli", "sync", str(self._folder), "--graph", self._graph]
        environment = {**os.environ, "GRAPHTIDE_URL": str(self._client.base_url)}
        # S603: the command is this project's own
        done = subprocess.run(
            [*command, "--prune", "--json"], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"sync ended with {done.returncode}: {done.stderr}")

    def ask(self, question: str) -> Json:
        """Ask with the default settings."""
        body = {"question": question}
        found: Json = self._client.post(f"/v1/graphs/{self._graph}/query", json=body).raise_for_status().json()
        return found


def scorer() -> ModuleType:
    """Return `score.py` of the bench data as a module."""
    spec = importlib.util.spec_from_file_location("notes_score", bench_data() / "notes" / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", help="names of collections; default: all")
    parser.add_argument("--wrong", action="store_true", help="list the wrong answers")
    parser.add_argument("--answers", type=Path, help="folder for the answers as score.py reads them")
    parser.add_argument("--notes", type=Path, help="folder of collections; default: notes/ of the bench data")
    parser.add_argument("--no-readme", action="store_true", help="print the table, leave the README alone")
    chosen = parser.parse_args()
    if not (bench_data() / "notes").exists():
        sys.exit(f"No notes in {bench_data()}: set GRAPHTIDE_BENCH_DATA to the folder that holds notes/.")
    before, after = measure(chosen.collections, chosen.notes or bench_data() / "notes")
    for name, judged in (("answers", before), ("updates", after)):
        if chosen.answers:
            lines = (json.dumps(submission(one)) + "\n" for one in judged)
            (chosen.answers / f"{name}.jsonl").write_text("".join(lines))
        if chosen.wrong:
            list_wrong(judged)
    table = markdown(before, after)
    print(table)
    if not (chosen.no_readme or chosen.collections or chosen.notes):
        write_part(ROOT / "README.md", BEGIN, END, f"\n{table}\n")


def measure(names: Sequence[str], notes: Path) -> tuple[list[Judged], list[Judged]]:
    """Return the judged answers before the updates, and those of the follow-up questions."""
    score = scorer()
    folders = sorted(path.parent for path in notes.glob("*/questions.jsonl"))
    folders = [one for one in folders if not names or one.name in names]
    before: list[Judged] = []
    after: list[Judged] = []
    with tempfile.TemporaryDirectory() as scratch:
        kept = Path(scratch)
        with (
            service(kept / "data", {"GRAPHTIDE_ANSWER_MODEL": "minilm"}, kept / "service.log") as running,
            httpx.Client(base_url=running.url, timeout=120) as client,
        ):
            for folder in folders:
                shutil.copytree(folder / "docs", kept / folder.name)
                copied = NotesFolder(client, folder.name, kept / folder.name)
                copied.publish()
                before += asked(copied, score, folder, score.read(folder / "questions.jsonl"))
                for update in score.read(folder / "updates.jsonl"):
                    copied.apply(update)
                    after += asked(copied, score, folder, update["questions"])
    return before, after


def asked(notes: NotesFolder, score: ModuleType, folder: Path, questions: Sequence[Json]) -> list[Judged]:
    named = file_names(folder, score.read(folder / "updates.jsonl"))
    whole = [completed(question) for question in questions]
    return [judge(score, named, question, notes.ask(question["question"])) for question in whole]


def file_names(folder: Path, updates: Iterable[Json]) -> dict[str, str]:
    """Return what a citation may be called (name, stem, or the id of a JSONL record), to the name of the file."""
    texts = {path.name: path for path in sorted((folder / "docs").rglob("*")) if path.is_file()}
    records = [(name, path.read_text("utf-8")) for name, path in texts.items() if name.endswith(".jsonl")]
    records += [(one["file"], one["text"]) for one in updates if one["file"].endswith(".jsonl") and "text" in one]
    lines = [(name, json.loads(line)) for name, text in records for line in text.splitlines() if line.strip()]
    names = {str(record["id"]): name for name, record in lines if "id" in record}
    names = {path.stem: name for name, path in texts.items()} | names
    return names | {name: name for name in texts}


def judge(score: ModuleType, named: dict[str, str], question: Json, answer: Json) -> Judged:
    given = {"answer": answer["answer"], "citations": [one["doc_id"] for one in answer["citations"]]}
    recall = score.source_recall(question, score.cited_files(given["citations"], named))
    return Judged(question, answer, score.judge(question, given), recall)


def submission(one: Judged) -> Json:
    cited = [citation["doc_id"] for citation in one.answer["citations"]]
    return {"id": one.question["id"], "answer": one.answer["answer"], "citations": cited}


def list_wrong(judged: Iterable[Judged]) -> None:
    for one in judged:
        if not one.right:
            print(f"{one.question['id']} [{one.verdict}] {one.question['question']}\n    {one.answer['answer']}")


def markdown(before: Sequence[Judged], after: Sequence[Judged]) -> str:
    """Return the table: right answers of all, refusals and recall in all, by type and by format, before and after."""
    lines = ["| questions | right | right after updates |", "| --- | --- | --- |"]
    lines.append(row("**all**", before, after))
    lines.append(f"| false refusals | {false_refusals(before)} | {false_refusals(after)} |")
    lines.append(f"| share of the sources that are cited | {recall_of(before)} | {recall_of(after)} |")
    for name, kinds in (("type", lambda one: {one.question["type"]}), ("format", lambda one: one.formats)):
        groups: dict[str, tuple[list[Judged], list[Judged]]] = defaultdict(lambda: ([], []))
        for place, judged in enumerate((before, after)):
            for one in judged:
                for kind in kinds(one):
                    groups[kind][place].append(one)
        lines += [row(f"{name}: {kind}", *groups[kind]) for kind in sorted(groups)]
    return "\n".join(lines)


def row(name: str, before: Sequence[Judged], after: Sequence[Judged]) -> str:
    return f"| {name} | {share(before)} | {share(after)} |"


def share(judged: Sequence[Judged]) -> str:
    right = sum(one.right for one in judged)
    return f"{right} of {len(judged)}" if judged else ""


def false_refusals(judged: Sequence[Judged]) -> str:
    counts = Counter(one.verdict for one in judged)
    asked = sum(not one.question.get("refuse") for one in judged)
    return f"{counts['false refusal']} of {asked}"


def recall_of(judged: Sequence[Judged]) -> str:
    recalls = [one.recall for one in judged if one.recall is not None]
    return f"{sum(recalls) / len(recalls):.2f}" if recalls else ""


if __name__ == "__main__":
    main()
