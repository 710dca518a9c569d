"""Reading of a question's units: by a cross-encoder, the shortlist in steps until an answer is found, each unit alone;
then by the listwise ranker, all that were read together.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

import numpy as np

from graphtide.infra.models.local.answers.documentation import prior
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance
from graphtide.infra.models.local.answers.relevance import (
    AT_ONCE,
    FEW,
    SHORTLIST,
    CrossEncoder,
    read_count,
    relevance_of,
    shortlist,
    unit_text,
)
from graphtide.infra.models.local.answers.units import Unit
from graphtide.infra.models.local.listwise.features import ListReading, features_of
from graphtide.infra.models.local.listwise.network import ListLogits, list_network
from graphtide.streams.errors import Broken
from graphtide.streams.model_ports import Embedder
from graphtide.streams.scheduling.work_pool import WorkPool

log = logging.getLogger("graphtide")

MAX_RANKED = 800
"""Units that are ranked by similarity: those with the best scores. A static embedder needs 40 µs for each."""


class UnitReader:
    """A cross-encoder, and a fast embedder whose ranking decides, with that of the rules, what it reads. The ranker
    runs in `pool`.
    """

    def __init__(self, cross_encoder: CrossEncoder, embedder: Embedder, pool: WorkPool | None = None) -> None:
        self._cross_encoder = cross_encoder
        self._embedder = embedder
        self._pool = pool or WorkPool()
        self._failed = False

    @property
    def name(self) -> str:
        return self._cross_encoder.name

    async def relevance(self, evidence: AnswerEvidence, *, covered: bool) -> Relevance | None:
        """Return the probabilities of the shortlist's units. None if a model cannot be loaded: then the rules answer,
        and the log has the reason once. `covered`: see `read`.
        """
        if self._failed:
            return None
        try:
            reading = await self.read(evidence, covered=covered)
            return await self._pool.run(partial(rank, evidence, reading))
        except Broken as error:
            if not self._failed:  # another question may have reported it meanwhile
                log.error("answers are chosen by rules alone from now on: %s", error)
            self._failed = True
            return None

    async def read(self, evidence: AnswerEvidence, *, covered: bool) -> ListReading:
        """Return what the cross-encoder reads of the shortlist: its beginning if the rules' answer covers the question;
        else its first half, and the second one only if the first answers nothing.

        Raises Broken if the model cannot be loaded.
        """
        question, scored = evidence.plan.text, evidence.scored
        places, similarities = await shortlist_of(evidence, self._embedder)
        places = places[: FEW if covered else SHORTLIST]
        logits, states = np.empty(0, np.float32), np.empty((0, 0), np.float32)
        for start in range(0, len(places), AT_ONCE):
            texts = [unit_text(scored[place].unit) for place in places[start : start + AT_ONCE]]
            found = await self._cross_encoder.read(question, texts)
            logits = np.concatenate([logits, found.logits])
            states = np.concatenate([states, found.states]) if start else found.states
            if len(logits) >= read_count(logits.tolist()):
                break
        count = len(logits)
        return ListReading(places[:count], logits, states, similarities[:count])


async def shortlist_of(evidence: AnswerEvidence, embedder: Embedder) -> tuple[list[int], list[float]]:
    """Return the places of the units to read, and their similarities to the question by a fast embedder."""
    scored = evidence.scored
    known = sorted(range(len(scored)), key=lambda place: -scored[place].score)[:MAX_RANKED]
    vectors = await embedder.embed([evidence.plan.text, *(titled(scored[place].unit) for place in known)])
    similarities = (vectors[1:] @ vectors[0]).tolist()
    first = shortlist([scored[place].score for place in known], similarities)
    return [known[place] for place in first], [similarities[place] for place in first]


def rank(evidence: AnswerEvidence, reading: ListReading) -> Relevance:
    """Return the probabilities of the units read, by the listwise ranker. Raises Broken without its weights."""
    if not reading.places:
        return relevance_of((), ())
    return probabilities(
        evidence, reading.places, list_network().logits(features_of(evidence, reading), reading.logits, reading.states)
    )


def probabilities(evidence: AnswerEvidence, places: Sequence[int], found: ListLogits) -> Relevance:
    """Return the probabilities of the units at the places, from the ranker's logits and the priors of their forms.

    Only a definition makes it more probable that something answers: the other priors divide the same probability.
    """
    logits = found.units.astype(np.float64)
    preferred = logits + [prior(evidence.plan, evidence.scored[place].unit) for place in places]
    if len(places) and not evidence.plan.defines:
        preferred += np.logaddexp.reduce(logits) - np.logaddexp.reduce(preferred)
    return relevance_of(places, preferred.tolist(), found.none, found.parts.tolist())


def titled(unit: Unit) -> str:
    """Return a unit's text after its innermost headings, as an embedder compares it."""
    return f"{' > '.join((unit.title, *unit.headings)[-2:])}: {unit.text}"
