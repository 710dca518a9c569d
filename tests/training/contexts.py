"""Contexts of the worlds' questions: the units among which the generator looks for the answer, and which are right.

`asked_worlds` publishes worlds to graphs of the embedded service, which answers by rules alone, and asks their
questions. Invariant: units and similarities are those that the generator's rules see. A question for which the service
finds no passage, or which asks about the whole corpus, has no context.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import graphtide
from graphtide.infra.models.local import generator
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence
from graphtide.infra.models.local.answers.questions.types import QuestionPlan
from graphtide.infra.models.local.answers.units import Unit
from graphtide.services.sdk.interface import Database, Graph
from tests.training.corpus import World, WorldQuestion, flat_documents
from tests.training.labels import places_of

SETTINGS: Mapping[str, object] = {"answer_model": "rules"}
TIMEOUT_S = 120.0
JOINED_KINDS = ("list", "comparison")
"""Kinds of questions whose answer has several parts."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The kind of a question, and the places of the units for each text of its fields `gold` and `also`; a text may
    have none.
    """

    kind: str
    gold: Sequence[Sequence[int]]
    also: Sequence[Sequence[int]]

    @property
    def usable(self) -> bool:
        """Return whether it is known which unit is right: nothing answers, or a unit has the answer."""
        return not self.gold or bool(self.gold[-1])

    @property
    def positives(self) -> list[int]:
        """Return the places of the units that answer."""
        answers = self.gold if self.kind in JOINED_KINDS else self.gold[-1:]
        return sorted({place for places in (*answers, *self.also) for place in places})

    @property
    def neutral(self) -> set[int]:
        """Return the places of the units that lead to the answer: neither right nor wrong."""
        return {place for places in self.gold for place in places} - set(self.positives)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """The plan of a question, its units in the generator's order, their similarities to it, and which are right."""

    plan: QuestionPlan
    units: Sequence[Unit]
    similarities: Sequence[float]
    labels: Labels

    def evidence(self, *, by_words: bool = False) -> AnswerEvidence:
        """Return the units with the rules' scores; `by_words` leaves the similarities out."""
        similarities = [0.0] * len(self.units) if by_words else self.similarities
        return score_units(self.plan, self.units, similarities)


async def asked_worlds(worlds: Sequence[World]) -> AsyncIterator[tuple[World, list[AskedQuestion]]]:
    """Yield each world with its questions. Cost: a few seconds for a world."""
    with tempfile.TemporaryDirectory() as scratch:
        async with graphtide.open(Path(scratch) / "data", settings=SETTINGS) as database:
            for world in worlds:
                asked = await _asked(database, world, Path(scratch) / world.name)
                print(f"{world.name}: {len(asked)} of {len(world.questions)} questions", flush=True)
                yield world, asked


async def _asked(database: Database, world: World, notes: Path) -> list[AskedQuestion]:
    """Publish a world to a graph of its name, and ask its questions one after another."""
    graph, documents = database.graph(world.name), flat_documents(world)
    token = await _publish(graph, world, notes)
    asked = []
    with _recorded() as calls:
        for question in world.questions:
            calls.clear()
            await graph.ask(question.text, after=token, timeout_s=TIMEOUT_S)
            if calls:
                plan, units, similarities = whole(calls)
                labels = _labels(question, units, documents)
                asked.append(AskedQuestion(plan, units, similarities, labels))
    return asked


_Call = tuple[QuestionPlan, Sequence[Unit], Sequence[float]]


def whole(calls: Sequence[_Call]) -> _Call:
    """Return the last call for the question as a whole: those for the second part of a compound one follow."""
    return [call for call in calls if call[0].text == calls[0][0].text][-1]


@contextmanager
def _recorded() -> Iterator[list[_Call]]:
    """Collect, until the block ends, the arguments of each call that generators make to `score_units`. For a question
    the last call is the one with the similarities; see `whole`.
    """
    calls: list[_Call] = []

    def record(plan: QuestionPlan, units: Sequence[Unit], similarities: Sequence[float]) -> AnswerEvidence:
        calls.append((plan, units, similarities))
        return score_units(plan, units, similarities)

    with patch.object(generator, "score_units", record):
        yield calls


async def _publish(graph: Graph, world: World, notes: Path) -> str:
    """Publish a world from files in the folder `notes`, and return the token of the last document. A row that cannot be
    read is named and left out.
    """

    def name_skipped(name: str, reason: str) -> None:
        print(f"{world.name}: left out {name}: {reason}", flush=True)

    for name, text in world.documents.items():
        path = notes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return (await graph.add_many(graphtide.documents_in(notes, on_skipped=name_skipped))).token


def _labels(question: WorldQuestion, units: Sequence[Unit], documents: Mapping[str, str]) -> Labels:
    gold = [places_of(place, units, documents) for place in question.gold]
    return Labels(question.kind, gold, [places_of(place, units, documents) for place in question.also])
