"""Measures the answers over documentation of programs with the default settings; writes the table of docs/answers.md.

    python -m tests.bench.documentation FOLDER [--wrong] [--no-page]

FOLDER has a folder for each project of tests/data/documentation, whose README names repositories and commits; a project
without a folder is left out. Each is published by `documents_in` into a graph of its own. It asserts nothing. Needs
pandoc for reStructuredText. Cost: two minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

import graphtide
from tests.support.bench_data import ROOT
from tests.support.marked_page import write_part
from tests.support.note_collections import TIMEOUT_S, Asked, lines_of, verdict

QUESTIONS = ROOT / "tests" / "data" / "documentation"
PAGE, BEGIN, END = ROOT / "docs" / "answers.md", "<!-- documentation:begin -->", "<!-- documentation:end -->"


async def asked(folder: Path, questions: Path) -> list[Asked]:
    """Publish a project's documentation, and ask its questions."""
    found = []
    with tempfile.TemporaryDirectory() as data:
        async with graphtide.open(data) as db:
            graph = db.graph(folder.name)
            documents = graphtide.documents_in(folder, on_skipped=lambda _name, _reason: None)
            token = (await graph.add_many(documents)).token
            for question in lines_of(questions):
                answer = (await graph.ask(question["question"], after=token, timeout_s=TIMEOUT_S)).answer
                found.append(Asked(question, answer, verdict(question, answer)))
    return found


def row(name: str, found: list[Asked]) -> str:
    """Return the row of a project's results."""
    answerable = [one for one in found if not one.question.get("refuse")]
    right = sum(one.verdict == "right" for one in answerable)
    refusals = sum(one.verdict == "right" for one in found if one.question.get("refuse"))
    false = sum(one.verdict == "false refusal" for one in found)
    return f"| {name} | {right} of {len(answerable)} | {false} | {refusals} of {len(found) - len(answerable)} |"


def main() -> None:
    """Measure, print the table, and write it."""
    parser = argparse.ArgumentParser(description="Measure the answers over documentation.")
    parser.add_argument("folder", type=Path, help="folder with a folder for each project")
    parser.add_argument("--wrong", action="store_true", help="print the wrong answers")
    parser.add_argument("--no-page", action="store_true", help="print the table, leave docs/answers.md alone")
    chosen = parser.parse_args()
    rows = [
        "| documentation | right, of the answerable | false refusals | rightly refused |",
        "| --- | --- | --- | --- |",
    ]
    for questions in sorted(QUESTIONS.glob("*.jsonl")):
        if not (chosen.folder / questions.stem).is_dir():
            print(f"{questions.stem}: no such folder", flush=True)
            continue
        found = asyncio.run(asked(chosen.folder / questions.stem, questions))
        rows.append(row(questions.stem, found))
        print(rows[-1], flush=True)
        for one in found if chosen.wrong else ():
            if one.verdict != "right":
                print(f"  {one.question['question']} [{one.verdict}]\n    {one.answer}", flush=True)
    text = "\n".join(rows)
    print(text)
    if not chosen.no_page:
        write_part(PAGE, BEGIN, END, f"\n{text}\n")


if __name__ == "__main__":
    main()
