"""Signed sums of contributions: the additions and retractions of a batch, with everything that cancels left out.

The cost of an edit is therefore that of the difference: a sentence in both revisions is added and retracted here, and
reaches neither the labels nor the statements.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from sys import intern

import numpy as np

from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.records import ChunkContribution, DocumentChange, Extraction, Mention
from graphtide.graph.resolution.normalisation import normalise

LabelKey = tuple[str, str]
"""Normalised name and type."""
Triple = tuple[LabelKey, str, LabelKey]
MentionKey = tuple[str, bytes]
"""One form of a label's mentions: its spelling and the vector's bytes."""
FactKey = tuple[int, bytes]
"""One form of a statement: its weight in thousandths and the vector's bytes."""

normalised = lru_cache(maxsize=1 << 12)(normalise)
"""Normalise a name; those of the last documents are remembered."""


UNIT_STEP = 4
"""Units between two yield points: each has some forty contributions."""
COUNTED_UNITS = 256
"""Maximum number of units whose additions are summed at a time."""


@dataclass(slots=True)
class SignedCounts:
    """Signed counts by label and by triple, and the added and removed units."""

    labels: dict[LabelKey, Counter[MentionKey]] = field(default_factory=lambda: defaultdict(Counter))
    triples: dict[Triple, Counter[FactKey]] = field(default_factory=lambda: defaultdict(Counter))

    def count(self, unit: ChunkContribution, sign: int) -> None:
        """Add (`sign` 1) or retract (-1) all contributions of a unit."""
        keys = label_keys(unit)
        for key, mention in zip(keys, unit.mentions, strict=True):
            self.labels[key][(mention.name, mention.vector.tobytes())] += sign
        for fact in unit.facts:
            triple = (keys[fact.subject], predicate_key(fact.predicate), keys[fact.object])
            self.triples[triple][(fact.weight_milli, fact.vector.tobytes())] += sign


@dataclass(slots=True)
class UnitDiff:
    """The difference of a document's units: those kept (with their chunks), those added, and the removed chunks."""

    kept: dict[int, int] = field(default_factory=dict)
    """Index of the new unit -> the chunk that already holds it."""
    added: list[int] = field(default_factory=list)
    """Indices of new units that have no chunk yet."""
    retracted: list[tuple[ChunkContribution, int]] = field(default_factory=list)


def diff_units(change: DocumentChange, chunks: tuple[int, ...]) -> UnitDiff:
    """Match the new revision's units with the old one's by content. `chunks` are the old units' chunks, in order."""
    by_key: dict[bytes, list[int]] = defaultdict(list)
    old = change.old.units if change.old else ()
    for index in reversed(range(len(old))):
        by_key[old[index].key].append(index)
    plan = UnitDiff()
    for index, unit in enumerate(change.new.units if change.new else ()):
        if by_key[unit.key]:
            plan.kept[index] = chunks[by_key[unit.key].pop()]
        else:
            plan.added.append(index)
    left = sorted(index for indices in by_key.values() for index in indices)
    plan.retracted = [(old[index], chunks[index]) for index in left]
    return plan


def label_keys(unit: ChunkContribution) -> list[LabelKey]:
    """Return the label of each mention of a unit."""
    return [label_key(mention) for mention in unit.mentions]


def label_key(mention: Mention) -> LabelKey:
    return normalised(mention.name), normalised(mention.type) if mention.type else ""


def predicate_key(predicate: str) -> str:
    """Return a predicate's identity key: spacing and case unified, words kept. Equal keys are one object."""
    return intern(" ".join(predicate.casefold().replace("_", " ").split()))


def occurrence_index(extraction: Extraction | None) -> list[int]:
    """Return, for each unit, the number of earlier units with the same text; it keeps chunk ids distinct."""
    seen: Counter[str] = Counter()
    numbers = []
    for unit in extraction.units if extraction else ():
        numbers.append(seen[unit.text])
        seen[unit.text] += 1
    return numbers


def as_vector(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.float16]]:
    return np.frombuffer(data, np.float16)


def counted(plans: Sequence[tuple[DocumentChange, UnitDiff]]) -> Iterator[SignedCounts]:
    """Yield the signed sum of all contributions, in slices of COUNTED_UNITS units where nothing is retracted.

    The counts hold a copy of each vector, and additions alone cannot cancel each other.
    """
    net, counted = SignedCounts(), 0
    retracted = [unit for _, plan in plans for unit, _ in plan.retracted]
    for unit in retracted:
        net.count(unit, -1)
    for change, plan in plans:
        units = change.new.units if change.new else ()
        for index in with_yields(plan.added, UNIT_STEP):
            if counted >= COUNTED_UNITS and not retracted:
                yield net
                net, counted = SignedCounts(), 0
            net.count(units[index], 1)
            counted += 1
    yield net
