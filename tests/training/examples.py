"""Training examples: a question, the units that the service has for it, and which of them answer it.

`python -m tests.training.examples FOLDER` publishes each world to a graph of the embedded service, asks its questions,
and writes a file for each world. Invariant: the units and their scores are those that the generator's rules see. A
question for which the service finds no passage, or which asks about the whole corpus, makes no example.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from unittest.mock import patch

import graphtide
from graphtide.infra.models.local import generator
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence
from graphtide.infra.models.local.answers.questions.types import QuestionPlan
from graphtide.infra.models.local.answers.relevance import UnitText, unit_text
from graphtide.infra.models.local.answers.units import Unit
from graphtide.services.sdk.interface import Database, Graph
from tests.training.corpus import World, WorldQuestion, flat_documents, read_worlds
from tests.training.labels import places_of

SETTINGS: Mapping[str, object] = {"answer_model": "rules"}
TIMEOUT_S = 120.0
_JOINED_KINDS = ("list", "comparison")


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """A question with its units, the rules' score of each, and the places of those that answer.

    `gold` and `also` are the places for each text of the question's fields of these names; a text may have none.
    """

    question: str
    kind: str
    units: Sequence[UnitText]
    scores: Sequence[float]
    gold: Sequence[Sequence[int]]
    also: Sequence[Sequence[int]]

    @property
    def usable(self) -> bool:
        """Return whether it is known which unit is right: nothing answers, or a unit has the answer."""
        return not self.gold or bool(self.gold[-1])

    @property
    def positives(self) -> list[int]:
        """Return the places of the units that answer."""
        answers = self.gold if self.kind in _JOINED_KINDS else self.gold[-1:]
        return sorted({place for places in (*answers, *self.also) for place in places})

    @property
    def neutral(self) -> set[int]:
        """Return the places of the units that lead to the answer: neither right nor wrong."""
        return {place for places in self.gold for place in places} - set(self.positives)

    @property
    def by_score(self) -> list[int]:
        """Return all places, that of the greatest score first."""
        return sorted(range(len(self.scores)), key=lambda place: -self.scores[place])


@dataclass(frozen=True, slots=True)
class ScoredContext:
    """The plan of a question, and the units among which the generator looks for its answer."""

    plan: QuestionPlan
    units: Sequence[Unit]


@contextmanager
def recorded_contexts() -> Iterator[list[ScoredContext]]:
    """Collect, until the block ends, the context of each call that generators make to `score_units`."""
    found: list[ScoredContext] = []

    def record(plan: QuestionPlan, units: Sequence[Unit], similarities: Sequence[float]) -> AnswerEvidence:
        found.append(ScoredContext(plan, units))
        return score_units(plan, units, similarities)

    with patch.object(generator, "score_units", record):
        yield found


async def record_worlds(worlds: Sequence[World], folder: Path) -> None:
    """Write the examples of each world to a file of its name in `folder`. Cost: a few seconds for a world."""
    with tempfile.TemporaryDirectory() as scratch:
        async with graphtide.open(Path(scratch) / "data", settings=SETTINGS) as database:
            for world in worlds:
                examples = await _record(database, world, Path(scratch) / world.name)
                write_examples(folder / f"{world.name}.json", examples)
                print(f"{world.name}: {len(examples)} of {len(world.questions)} questions", flush=True)


async def _record(database: Database, world: World, notes: Path) -> list[TrainingExample]:
    """Publish a world to a graph of its name, ask its questions one after another, and return the examples."""
    graph, documents = database.graph(world.name), flat_documents(world)
    token = await _publish(graph, world, notes)
    examples = []
    with recorded_contexts() as contexts:
        for question in world.questions:
            contexts.clear()
            await graph.ask(question.text, after=token, timeout_s=TIMEOUT_S)
            if contexts:
                examples.append(_example(question, contexts[0], documents))
    return examples


async def _publish(graph: Graph, world: World, notes: Path) -> str:
    """Publish a world from files in the folder `notes`, and return the token of the last document."""
    for name, text in world.documents.items():
        path = notes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return (await graph.add_many(graphtide.documents_in(notes))).token


def _example(question: WorldQuestion, context: ScoredContext, documents: Mapping[str, str]) -> TrainingExample:
    units = context.units
    scored = score_units(context.plan, units, [0.0] * len(units)).scored
    return TrainingExample(
        question.text,
        question.kind,
        [unit_text(unit) for unit in units],
        [round(unit.score, 4) for unit in scored],
        [places_of(place, units, documents) for place in question.gold],
        [places_of(place, units, documents) for place in question.also],
    )


def write_examples(path: Path, examples: Sequence[TrainingExample]) -> None:
    """Write examples as JSON, with each text of a unit once, as the questions of a world share them."""
    numbers: dict[UnitText, int] = {}
    rows = [
        {
            "question": example.question,
            "kind": example.kind,
            "units": [numbers.setdefault(unit, len(numbers)) for unit in example.units],
            "scores": example.scores,
            "gold": example.gold,
            "also": example.also,
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
        TrainingExample(**{**row, "units": [units[number] for number in row["units"]]}) for row in content["examples"]
    ]


def main() -> None:
    """Record all worlds."""
    parser = argparse.ArgumentParser(description="Record the examples of all worlds.")
    parser.add_argument("folder", type=Path, help="folder to write a file for each world to")
    asyncio.run(record_worlds(read_worlds(), parser.parse_args().folder))


if __name__ == "__main__":
    main()
