"""Training examples of the listwise ranker: units as the service reads them with a new adapter.

`python -m tests.training.lists FOLDER --adapter FILE` writes a file for each world of the parts RANKER,
MANUALS and HELD_OUT, which the adapter was not trained on.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.models.local.answers.choosing.selection import answer_by_rules
from graphtide.infra.models.local.cross_encoder.encoder import MiniLmCrossEncoder
from graphtide.infra.models.local.listwise.features import ListFeatures, features_of
from graphtide.infra.models.local.static_embedder import StaticEmbedder
from graphtide.infra.models.local.unit_reader import UnitReader
from graphtide.streams.scheduling.work_pool import WorkPool
from tests.training.contexts import JOINED_KINDS, AskedQuestion, asked_worlds
from tests.training.corpus import RANKED, CorpusPart, World, read_worlds

Array = NDArray[np.float32]
PART_SHARE, SINGLE_PART_SHARE = 0.3, 0.09
"""Weights in the loss of the parts of an answer, where it has several and where it has one."""
_FEATURES = ("units", "pairs", "question")
_ARRAYS = ("states", "logits", "positives", "neutral", "places")


@dataclass(frozen=True, slots=True)
class ListExample:
    """The features of a shortlist, what the cross-encoder made of it, and which of its units answer or lead there.

    `places` are those of its units among all units of the question, and `part_weight` is the weight of the parts of the
    answer in the loss.
    """

    kind: str
    features: ListFeatures
    states: Array
    logits: Array
    positives: NDArray[np.int64]
    neutral: NDArray[np.int64]
    places: NDArray[np.int64]
    part_weight: float = 0.0


class ListRecorder:
    """Reads the units of questions with an adapter, as the service does."""

    def __init__(self, adapter: Path) -> None:
        pool = WorkPool()
        self._reader = UnitReader(MiniLmCrossEncoder(pool, adapter), StaticEmbedder(pool), pool)

    async def record(self, worlds: Sequence[World], folder: Path) -> None:
        """Write the examples of each world to a file of its name in `folder`. Cost: half a minute for a world."""
        async for world, asked in asked_worlds(worlds):
            usable = [question for question in asked if question.labels.usable]
            write_lists(folder / f"{world.name}.npz", await asyncio.gather(*map(self.example, usable)))

    async def example(self, asked: AskedQuestion) -> ListExample:
        """Return the example of a question. If none of the units that are read answers it, it counts as one that
        nothing answers, even if a unit beyond them does.
        """
        evidence = asked.evidence()
        by_rules = answer_by_rules(evidence)
        reading = await self._reader.read(evidence, covered=by_rules.covers_most)
        at = {place: position for position, place in enumerate(reading.places)}
        positives = [at[place] for place in asked.labels.positives if place in at]
        neutral = [at[place] for place in asked.labels.neutral if place in at]
        return ListExample(
            asked.labels.kind,
            features_of(evidence, reading),
            reading.states,
            reading.logits,
            np.array(positives, np.int64),
            np.array(neutral, np.int64),
            np.array(reading.places, np.int64),
        )


def write_lists(path: Path, examples: Sequence[ListExample]) -> None:
    """Write examples as arrays, numbers with fractions in half precision."""
    arrays: dict[str, NDArray[Any]] = {"kinds": np.array([example.kind for example in examples])}
    for number, example in enumerate(examples):
        parts = {**asdict(example.features), **{name: getattr(example, name) for name in _ARRAYS}}
        for name, array in parts.items():
            arrays[f"{number}.{name}"] = array.astype(np.float16) if array.dtype == np.float32 else array
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, allow_pickle=False, **arrays)


def read_lists(path: Path) -> list[ListExample]:
    """Return the examples that `write_lists` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        found = []
        for number, kind in enumerate(arrays["kinds"]):
            parts = {name: _widened(arrays[f"{number}.{name}"]) for name in (*_FEATURES, *_ARRAYS)}
            features = ListFeatures(*(parts.pop(name) for name in _FEATURES))
            weight = PART_SHARE if kind in JOINED_KINDS else SINGLE_PART_SHARE
            found.append(ListExample(str(kind), features, **parts, part_weight=weight))
        return found


def _widened(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.float32) if array.dtype == np.float16 else array


async def record_parts(recorder: ListRecorder, folder: Path) -> None:
    """Record the worlds of the ranker and those held out."""
    for part in (*RANKED, CorpusPart.HELD_OUT):
        await recorder.record(read_worlds(part), folder / part)


def main() -> None:
    parser = argparse.ArgumentParser(description="Record the training examples of the listwise ranker.")
    parser.add_argument("folder", type=Path, help="folder to write a file for each world to")
    parser.add_argument("--adapter", type=Path, required=True, help="adapter of the cross-encoder (.npz)")
    chosen = parser.parse_args()
    asyncio.run(record_parts(ListRecorder(chosen.adapter), chosen.folder))


if __name__ == "__main__":
    main()
