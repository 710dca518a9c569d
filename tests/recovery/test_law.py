"""The law over HTTP: with any order, repeats, edits, deletions and kills, the digest is that of a clean build."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support import law
from tests.support.extractions import NAMES, PREDICATES, TYPES


def document(rng: random.Random) -> law.Body:
    """Return a document about few names, with its own extractions or without."""
    people = rng.sample(NAMES, 4)
    text = (
        f"{people[0]} {rng.choice(PREDICATES)} {people[1]}. {people[2]} met {people[3]} in {rng.randint(1800, 1850)}."
    )
    if rng.random() < 0.3:
        return {"text": text, "title": people[0]}
    return {
        "text": text,
        "metadata": {"n": rng.randint(1, 3)},
        "entities": [
            {"name": name, "type": rng.choice(TYPES), "description": rng.choice(("", "pioneer"))} for name in people
        ],
        "facts": [{"subject": people[0], "predicate": rng.choice(PREDICATES), "object": people[1], "weight": 2}],
    }


@pytest.mark.parametrize("seed", [11, pytest.param(12, marks=pytest.mark.thorough)])
def test_digest_equals_a_clean_build_after_shuffles_repeats_edits_deletions_and_kills(
    seed: int, tmp_path: Path
) -> None:
    """Thirty documents, each thrice, a third edited, some deleted, three kill -9: one digest, nothing to verify."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    documents = {f"d{number}": document(rng) for number in range(30)}
    edits = {doc_id: document(rng) for doc_id in rng.sample(sorted(documents), 10)}
    chosen = law.schedule(rng, documents, edits, kills=3)
    digest, verified = law.run(chosen, tmp_path / "troubled")
    assert verified["differences"] == []
    assert digest == law.build(chosen.live, tmp_path / "clean")
