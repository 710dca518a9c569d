"""Training examples of the adapter: a question, the units that the service has for it, and which of them answer it.

`python -m tests.training.examples FOLDER` writes a file for each world of the parts ADAPTER and HELD_OUT.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from graphtide.infra.models.local.answers.relevance import UnitText, unit_text
from tests.training.contexts import AskedQuestion, Labels, asked_worlds
from tests.training.corpus import CorpusPart, World, read_worlds


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """A question with its units, the rules' score of each, and which of them answer."""

    question: str
    units: Sequence[UnitText]
    scores: Sequence[float]
    labels: Labels

    @property
    def by_score(self) -> list[int]:
        """Return all places, that of the greatest score first."""
        return sorted(range(len(self.scores)), key=lambda place: -self.scores[place])


async def record_examples(worlds: Sequence[World], folder: Path) -> None:
    """Write the examples of each world to a file of its name in `folder`."""
    async for world, asked in asked_worlds(worlds):
        write_examples(folder / f"{world.name}.json", [example_of(question) for question in asked])


def example_of(asked: AskedQuestion) -> TrainingExample:
    scores = [round(unit.score, 4) for unit in asked.evidence(by_words=True).scored]
    return TrainingExample(asked.plan.text, [unit_text(unit) for unit in asked.units], scores, asked.labels)


def write_examples(path: Path, examples: Sequence[TrainingExample]) -> None:
    """Write examples as JSON, with each text of a unit once, as the questions of a world share them."""
    numbers: dict[UnitText, int] = {}
    rows = [
        {
            "question": example.question,
            "kind": example.labels.kind,
            "units": [numbers.setdefault(unit, len(numbers)) for unit in example.units],
            "scores": example.scores,
            "gold": example.labels.gold,
            "also": example.labels.also,
        }
        for example in examples
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"units": [astuple(unit) for unit in numbers], "examples": rows}
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def read_examples(path: Path) -> list[TrainingExample]:
    """Return the examples that `write_examples` wrote."""
    content = json.loads(path.read_text(encoding="utf-8"))
    units = [UnitText(*texts) for texts in content["units"]]
    return [
        TrainingExample(
            row["question"],
            [units[number] for number in row["units"]],
            row["scores"],
            Labels(row["kind"], row["gold"], row["also"]),
        )
        for row in content["examples"]
    ]


def main() -> None:
    """Record the worlds of the adapter and those held out."""
    parser = argparse.ArgumentParser(description="Record the training examples of the adapter.")
    parser.add_argument("folder", type=Path, help="folder to write a file for each world to")
    folder = parser.parse_args().folder
    for part in (CorpusPart.ADAPTER, CorpusPart.HELD_OUT):
        asyncio.run(record_examples(read_worlds(part), folder / part))


if __name__ == "__main__":
    main()
