"""Answers over collections of notes without an account: by rules alone, and with the cross-encoder of the defaults."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.note_collections import COLLECTIONS, ask_collection

MIN_RIGHT, MAX_FALSE_REFUSALS = 0.8, 0.15
STEPS = {"roastery": 3, "windfarm": 3}
"""Of these collections each third question is asked here, all by `python -m tests.bench.notes --notes`."""


@pytest.mark.thorough
@pytest.mark.parametrize("answer_model", ["rules", "minilm"])
@pytest.mark.parametrize("name", sorted(path.name for path in COLLECTIONS.iterdir()))
async def test_four_of_five_answers_over_notes_are_right(name: str, answer_model: str, tmp_path: Path) -> None:
    """Before and after edits and deletions, with few false refusals."""
    asked = await ask_collection(name, tmp_path, answer_model, step=STEPS.get(name, 1))
    counts = Counter(one.verdict for one in asked)
    wrong = "\n".join(
        f"{one.verdict}: {one.question['question']} {one.answer}" for one in asked if one.verdict != "right"
    )
    assert counts["right"] >= MIN_RIGHT * len(asked), f"{counts}\n{wrong}"
    answerable = sum(not one.question.get("refuse") for one in asked)
    assert counts["false refusal"] <= MAX_FALSE_REFUSALS * answerable, f"{counts}\n{wrong}"
