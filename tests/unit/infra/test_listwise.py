"""The listwise ranker: probabilities over a shortlist whose units see each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.cross_encoder.encoder import MiniLmCrossEncoder
from graphtide.infra.models.local.generator import ExtractiveGenerator
from graphtide.infra.models.local.listwise import network
from graphtide.infra.models.local.listwise.features import ListReading, features_of
from graphtide.infra.models.local.listwise.network import list_network, read_weights
from graphtide.infra.models.local.static_embedder import StaticEmbedder
from graphtide.infra.models.local.unit_reader import UnitReader, rank
from graphtide.streams.model_ports import ContextPassage
from tests.unit.infra.answers.notes import note

EARLIER = note("minutes-1.md", "The gallery opens on 14 June.", title="Staff meeting", date="2024-02-12")
LATER = note("minutes-2.md", "The gallery opens on 5 July instead.", title="Staff meeting", date="2024-05-20")
OTHERS = [
    note("log.md", "Ines has nineteen school bookings. The roof leaks again. Rain came in on Sunday.", title="Log"),
    note("staff.csv", "Ruth Hale looks after the clocks. Ed Marsh has the keys.", title="Staff"),
]


def read_evidence(question: str, notes: Sequence[ContextPassage], seed: int) -> tuple[AnswerEvidence, ListReading]:
    """Return the evidence of a question, and a reading of all its units with random logits and states."""
    units = units_of(notes)
    random = np.random.default_rng(seed)
    evidence = score_units(plan_of(question), units, random.random(len(units)).tolist())
    logits = random.normal(size=len(units)).astype(np.float32)
    states = random.normal(size=(len(units), 128)).astype(np.float32)
    return evidence, ListReading(range(len(units)), logits, states, random.random(len(units)).tolist())


@pytest.mark.parametrize("seed", range(8))
def test_probabilities_of_units_are_the_same_in_any_order(seed: int) -> None:
    evidence, reading = read_evidence("When does the gallery open now?", [EARLIER, *OTHERS, LATER], seed)
    order = np.random.default_rng(seed).permutation(len(reading.places))
    shuffled = ListReading(
        [reading.places[at] for at in order],
        reading.logits[order],
        reading.states[order],
        [reading.similarities[at] for at in order],
    )
    expected, found = rank(evidence, reading), rank(evidence, shuffled)
    assert found.none == pytest.approx(expected.none, abs=1e-4)
    assert found.units == pytest.approx(expected.units, abs=1e-4)
    assert found.parts == pytest.approx(expected.parts, abs=1e-4)
    assert found.none + sum(found.units.values()) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(4))
def test_ranker_has_finite_logits_for_a_single_unit_and_extreme_readings(seed: int) -> None:
    evidence, reading = read_evidence("Who has the keys?", OTHERS, seed)
    alone = ListReading(reading.places[:1], reading.logits[:1], reading.states[:1], reading.similarities[:1])
    extreme = ListReading(reading.places, reading.logits * 1e4, reading.states, reading.similarities)
    for each in (alone, extreme):
        found = list_network().logits(features_of(evidence, each), each.logits, each.states)
        assert np.isfinite([*found.units, *found.parts, found.none]).all()


def test_pair_features_tell_which_of_two_units_is_later() -> None:
    evidence, reading = read_evidence("When does the gallery open?", [EARLIER, LATER], 0)
    pairs = features_of(evidence, reading).pairs
    assert pairs[0, 1, 1] == 1
    assert pairs[1, 0, 1] == -1
    assert pairs[0, 1, 0] == pairs[1, 0, 0] > 0
    assert not pairs[[0, 1], [0, 1]].any()


def test_ranker_has_the_mean_of_the_logits_of_its_networks() -> None:
    evidence, reading = read_evidence("Who has the keys?", OTHERS, 0)
    weights = read_weights(network.WEIGHTS)
    numbers = sorted({name.partition("/")[0] for name in weights} - {network.TRAINED_WITH})
    alone = [
        network.ensemble_of({name: each for name, each in weights.items() if name.startswith(f"{number}/")})
        for number in numbers
    ]
    features = features_of(evidence, reading)
    whole = list_network().logits(features, reading.logits, reading.states)
    found = [each.logits(features, reading.logits, reading.states) for each in alone]
    assert len({each.none for each in found}) == len(numbers) > 1
    assert whole.none == pytest.approx(np.mean([each.none for each in found]))
    assert whole.units == pytest.approx(np.mean([each.units for each in found], axis=0))
    assert whole.parts == pytest.approx(np.mean([each.parts for each in found], axis=0))


@pytest.mark.parametrize("damage", ["missing", "cut", "of another adapter", "of an older version"])
async def test_rules_answer_when_the_weights_cannot_be_used(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """They belong to one adapter: the states of another one mean something else."""
    path = tmp_path / "weights.npz"
    if damage == "cut":
        path.write_bytes(network.WEIGHTS.read_bytes()[:1000])
    elif damage == "of another adapter":
        arrays = read_weights(network.WEIGHTS)
        arrays[network.TRAINED_WITH] = arrays[network.TRAINED_WITH][::-1]
        np.savez(path, allow_pickle=False, **arrays)
    elif damage == "of an older version":
        np.savez(
            path,
            allow_pickle=False,
            **{name.partition("/")[2] or name: each for name, each in read_weights(network.WEIGHTS).items()},
        )
    monkeypatch.setattr(network, "WEIGHTS", path)
    list_network.cache_clear()
    try:
        generator = ExtractiveGenerator(reader=UnitReader(MiniLmCrossEncoder(), StaticEmbedder()))
        question = "Who keeps the time pieces in order?"
        assert await generator.answer(question, OTHERS) == await ExtractiveGenerator().answer(question, OTHERS)
    finally:
        list_network.cache_clear()
    assert "GRAPHTIDE_ANSWER_MODEL=rules" in caplog.text


def test_number_in_superscript_is_no_year() -> None:
    """Python calls the superscript a digit, and cannot convert it."""
    evidence, reading = read_evidence("How many atoms are in it?", [note("a.md", "It has 10²³ atoms. Ada counted.")], 0)
    assert np.isfinite(features_of(evidence, reading).pairs).all()


async def share_of_later(question: str, earlier: str, later: str) -> float:
    """Return the probability of the later one of two notes, among both."""
    notes = [
        note("minutes-1.md", earlier, title="Staff meeting", date="2024-02-12"),
        *OTHERS,
        note("minutes-2.md", later, title="Staff meeting", date="2024-05-20"),
    ]
    units = units_of(notes)
    reader = UnitReader(MiniLmCrossEncoder(), StaticEmbedder())
    relevance = await reader.relevance(score_units(plan_of(question), units, [0.0] * len(units)), covered=False)
    assert relevance is not None
    texts = [unit.text for unit in units]
    first, last = (relevance.units[texts.index(text)] for text in (earlier, later))
    return last / (first + last)


@pytest.mark.parametrize("swapped", [False, True])
async def test_the_later_of_two_values_counts_more_for_now_than_for_what_was_planned_at_first(swapped: bool) -> None:
    values = ["The gallery opens on 14 June.", "The gallery opens on 5 July."]
    earlier, later = reversed(values) if swapped else values
    now = await share_of_later("When is the opening of the gallery now?", earlier, later)
    assert now > 0.5
    assert now > await share_of_later("What opening day had originally been planned?", earlier, later)
