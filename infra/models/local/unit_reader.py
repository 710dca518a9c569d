"""Reading of a question's units by a cross-encoder: the shortlist in steps, until an answer is found."""

from __future__ import annotations

import logging

from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance
from graphtide.infra.models.local.answers.relevance import (
    AT_ONCE,
    CLEAR,
    CrossEncoder,
    relevance_of,
    shortlist,
    unit_text,
)
from graphtide.infra.models.local.answers.units import Unit
from graphtide.streams.errors import Broken
from graphtide.streams.model_ports import Embedder

log = logging.getLogger("graphtide")

MAX_RANKED = 800
"""Units that are ranked by similarity: those with the best scores. A static embedder needs 40 µs for each."""


class UnitReader:
    """A cross-encoder, and a fast embedder whose ranking decides, with that of the rules, what it reads."""

    def __init__(self, cross_encoder: CrossEncoder, embedder: Embedder) -> None:
        self._cross_encoder = cross_encoder
        self._embedder = embedder
        self._failed = False

    @property
    def name(self) -> str:
        return self._cross_encoder.name

    async def relevance(self, evidence: AnswerEvidence) -> Relevance | None:
        """Return what the cross-encoder says of the shortlist; of its second half only if the first answers nothing.
        None if its model cannot be loaded: then the rules answer, and the log has the reason once.
        """
        if self._failed:
            return None
        try:
            return await self._relevance(evidence)
        except Broken as error:
            self._failed = True
            log.error("answers are chosen by rules alone from now on: %s", error)
            return None

    async def _relevance(self, evidence: AnswerEvidence) -> Relevance:
        question, scored = evidence.plan.text, evidence.scored
        known = sorted(range(len(scored)), key=lambda place: -scored[place].score)[:MAX_RANKED]
        vectors = await self._embedder.embed([question, *(titled(scored[place].unit) for place in known)])
        first = shortlist([scored[place].score for place in known], (vectors[1:] @ vectors[0]).tolist())
        places = [known[place] for place in first]
        logits: list[float] = []
        relevance = relevance_of((), ())
        for start in range(0, len(places), AT_ONCE):
            texts = [unit_text(scored[place].unit) for place in places[start : start + AT_ONCE]]
            logits += (await self._cross_encoder.logits(question, texts)).tolist()
            relevance = relevance_of(places[: len(logits)], logits)
            if relevance.none < CLEAR:
                break
        return relevance


def titled(unit: Unit) -> str:
    """Return a unit's text after its innermost headings, as an embedder compares it."""
    return f"{' > '.join((unit.title, *unit.headings)[-2:])}: {unit.text}"
