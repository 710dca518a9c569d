"""Expected length of answers, for reservations before a call and for estimates of a run.

It does not bound an answer. An extraction grows with its passage, other answers hardly do; so the one is a ratio to the
tokens of its material, the others are means. Both begin with a guess that weighs as much as a few calls, and follow the
model's answers. Invariant: the same calls give the same expectation.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphtide.streams.usage import Stage

EXTRACTION_RATIO = 12.0
"""Tokens of an extraction per token of its passage with title and marks, at first: each relation quotes its sentence.
(Measured on the recorded extractions of the benchmark's 1,890 passages.)
"""
HEADING_TOKENS = 55
"""Tokens of a passage's title and description, whatever its length. (Measured on 200 of these: 57 per call.)"""
MEANS = {Stage.GLEAN: 300, Stage.JUDGE: 10, Stage.RATE: 120, Stage.SUMMARIZE: 500, Stage.ANSWER: 150, Stage.OTHER: 300}
_WEIGHT_CALLS = 8
_WEIGHT_TOKENS = 2_000


@dataclass(slots=True)
class _Seen:
    calls: int = 0
    material: int = 0
    completion: int = 0


class Expectations:
    """Expected lengths of one model's answers. `limit` is the longest answer that is requested of it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: dict[Stage, _Seen] = {}

    def completion(self, stage: Stage, material: int) -> int:
        """Return the tokens of an answer about `material` tokens of text."""
        seen = self._seen.get(stage, _Seen())
        if stage is Stage.EXTRACT:
            stated = max(0, seen.completion - HEADING_TOKENS * seen.calls)
            ratio = (EXTRACTION_RATIO * _WEIGHT_TOKENS + stated) / (_WEIGHT_TOKENS + seen.material)
            return min(self._limit, HEADING_TOKENS + round(ratio * material))
        mean = (MEANS.get(stage, 300) * _WEIGHT_CALLS + seen.completion) / (_WEIGHT_CALLS + seen.calls)
        return min(self._limit, round(mean))

    def learn(self, stage: Stage, material: int, completion: int, calls: int = 1) -> None:
        """Record the length of an answer, or of the answers of some calls."""
        seen = self._seen.setdefault(stage, _Seen())
        seen.calls += calls
        seen.material += material
        seen.completion += min(completion, calls * self._limit)
