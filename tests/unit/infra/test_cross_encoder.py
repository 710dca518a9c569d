"""The cross-encoder: logits of pairs, its weights, and what the choice makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphtide.infra.models.local.answers.relevance import (
    FEW,
    SHORTLIST,
    PairReading,
    Support,
    UnitText,
    answer_parts,
    finds_nothing,
    relevance_of,
    shortlist,
    unit_text,
)
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.cross_encoder import encoder as encoder_module
from graphtide.infra.models.local.cross_encoder import weights
from graphtide.infra.models.local.cross_encoder.encoder import MiniLmCrossEncoder
from graphtide.infra.models.local.cross_encoder.weights import check_model
from graphtide.infra.models.local.generator import NOTHING_FITS, ExtractiveGenerator
from graphtide.infra.models.local.static_embedder import StaticEmbedder
from graphtide.infra.models.local.unit_reader import UnitReader
from graphtide.streams.errors import Broken
from tests.unit.infra.answers.notes import note

QUESTION = "Who is Ifeoma's boss?"
ANSWER = UnitText("Team Kestrel", "", "Ifeoma Nwosu is engineering lead and reports to Henrik Dahl (VP Platform).")
OTHERS = [
    UnitText("Team Kestrel", "", "Stand-up is at 09:40 because Yuki brings her son to kindergarten first."),
    UnitText("On-call rota", "", "Week: 24; From: 2025-06-09; First: Ifeoma Nwosu; Second: Tomasz Wilk"),
    UnitText("", "", "Decisions go to #kestrel-decisions, everything else to #kestrel."),
]


@pytest.fixture(scope="module")
def encoder() -> MiniLmCrossEncoder:
    return MiniLmCrossEncoder()


async def test_the_unit_that_answers_in_other_words_has_the_greatest_logit(encoder: MiniLmCrossEncoder) -> None:
    reading = await encoder.read(QUESTION, [*OTHERS, ANSWER])
    assert reading.logits.shape == (4,)
    assert reading.states.shape[0] == 4
    assert reading.logits.dtype == reading.states.dtype == np.float32
    assert int(reading.logits.argmax()) == len(OTHERS)
    assert reading.logits[-1] > 0


async def test_a_logit_belongs_to_its_pair_in_any_order_and_company(encoder: MiniLmCrossEncoder) -> None:
    """Batches differ in length, so equal up to rounding."""
    long = UnitText("Minutes", "", "The boiler was serviced in May and found to be in good order. " * 12)
    alone = await encoder.read(QUESTION, [ANSWER])
    among = await encoder.read(QUESTION, [long, ANSWER, *OTHERS, long])
    assert np.allclose(among.logits[1], alone.logits[0], atol=1e-3)
    assert np.allclose(among.states[1], alone.states[0], atol=1e-3)
    assert np.allclose(among.logits[0], among.logits[-1], atol=1e-3)
    again = await encoder.read(QUESTION, [long, ANSWER, *OTHERS, long])
    assert np.array_equal(among.logits, again.logits)


async def test_any_text_has_a_finite_logit(encoder: MiniLmCrossEncoder) -> None:
    odd = ["", " ", "\udc80 half of a surrogate", "\x00", "ي" * 500, "[SEP] [CLS] [PAD]", "😀" * 90]
    units = [UnitText(each, each, each) for each in odd]
    for question in ("", *odd):
        assert np.isfinite((await encoder.read(question, units)).logits).all()
    assert (await encoder.read(QUESTION, [])).logits.shape == (0,)


async def test_scaling_the_rows_that_are_read_changes_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the table of the word embeddings is held as floats."""
    tables = []

    async def read() -> PairReading:
        encoder_module._load.cache_clear()
        return await MiniLmCrossEncoder().read(QUESTION, [*OTHERS, ANSWER])

    def table_scaled(model: Any) -> None:
        tables.append(len(model.graph.node))

    by_row = await read()
    monkeypatch.setattr(weights, "_scale_rows_read", table_scaled)
    by_table = await read()
    encoder_module._load.cache_clear()
    assert len(tables) == 1
    assert np.array_equal(by_row.logits, by_table.logits)
    assert np.array_equal(by_row.states, by_table.states)


def test_another_model_is_refused_with_the_remedy(tmp_path: Path) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(b"another model")
    with pytest.raises(Broken, match="GRAPHTIDE_ANSWER_MODEL=rules"):
        check_model(other)


def test_probabilities_add_up_to_one_with_none() -> None:
    relevance = relevance_of([4, 2], [1e9, -1e9])
    assert relevance.units[4] == pytest.approx(1)
    assert relevance.none + sum(relevance.units.values()) == pytest.approx(1)
    assert relevance_of([], []).none == 1
    assert relevance_of([3], [0.0], none=0.0).none == pytest.approx(0.5)


def test_the_parts_of_an_answer_begin_with_the_most_probable_unit() -> None:
    relevance = relevance_of([4, 2, 7, 9], [1.0, 3.0, -2.0, 2.0], none=-5.0, parts=[2.0, -9.0, 1.0, -1e9])
    assert answer_parts(relevance, several=False) == [2, 4, 7]
    assert relevance.parts[9] == pytest.approx(0)
    assert answer_parts(relevance_of([], []), several=True) == []


def test_the_shortlist_begins_with_the_firsts_of_both_rankings() -> None:
    count = 3 * SHORTLIST
    scores = [float(-place) for place in range(count)]
    places = shortlist(scores, [float(place) for place in range(count)])
    assert len(places) == len(set(places)) == SHORTLIST
    assert {places[0], places[1]} == {0, count - 1}


def test_a_unit_is_read_with_its_headings_date_and_the_sentence_before() -> None:
    [first, second] = units_of(
        [note("a.md", "The pump is old. It leaks.", title="Pumps", headings=["Cellar"], date="2025-03-04")]
    )
    assert unit_text(first) == UnitText("Pumps > Cellar (2025-03-04)", "", "The pump is old.")
    assert unit_text(second) == UnitText("Pumps > Cellar (2025-03-04)", "The pump is old.", "It leaks.")


async def test_other_words_are_quoted_and_what_is_not_stated_is_refused(encoder: MiniLmCrossEncoder) -> None:
    notes = [note(f"{place}.md", unit.text, title=unit.context) for place, unit in enumerate([*OTHERS, ANSWER])]
    generator = ExtractiveGenerator(StaticEmbedder(), reader=UnitReader(encoder, StaticEmbedder()))
    assert "reports to Henrik Dahl" in (await generator.answer(QUESTION, notes)).text
    assert (await generator.answer("How much did the new boiler cost?", notes)).text == NOTHING_FITS


async def test_few_units_are_read_where_the_rules_cover_the_question() -> None:
    counting = CountingEncoder()
    generator = ExtractiveGenerator(reader=UnitReader(counting, StaticEmbedder()))
    context = [note(f"{day}.md", f"Kenji Mori repaired pump {day} on Monday.") for day in range(1, 40)]
    await generator.answer("Who repaired pump 3?", context)
    assert counting.units == [FEW]
    await generator.answer("Which person has fixed the machine by the weir?", context)
    assert sum(counting.units) > 2 * FEW


@pytest.mark.parametrize(
    ("question", "statement", "states", "by_rules"),
    [
        ("Which pumps have oil in them?", "Pump {} is filled with {}.", "oil water oil brine oil", True),
        ("Which vehicles run on electricity?", "Van {} is {}.", "electric diesel electric petrol electric", False),
    ],
)
async def test_a_list_has_each_of_its_items_and_nothing_else(
    encoder: MiniLmCrossEncoder, question: str, statement: str, states: str, by_rules: bool
) -> None:
    """Also where the rules find nothing."""
    texts = [statement.format(number, state) for number, state in enumerate(states.split(), 1)]
    notes = [note(f"{number}.md", text, title=text.partition(" is ")[0]) for number, text in enumerate(texts)]
    assert ((await ExtractiveGenerator(StaticEmbedder()).answer(question, notes)).text == NOTHING_FITS) is not by_rules
    generator = ExtractiveGenerator(StaticEmbedder(), reader=UnitReader(encoder, StaticEmbedder()))
    answer = (await generator.answer(question, notes)).text
    wanted = states.split(maxsplit=1)[0]
    assert all((text in answer) == (wanted in text) for text in texts), answer


async def test_an_answer_alone_is_found_as_among_many(encoder: MiniLmCrossEncoder) -> None:
    """The probability of no answer depends on the number of units as little as it can."""
    unit = UnitText("", "", "Kenji Mori repaired pump 3 on Monday.")
    reading = await encoder.read("Who fixed the third pump?", [unit])
    assert not finds_nothing(relevance_of([0], reading.logits.tolist()), Support.ANSWER)


class CountingEncoder:
    """A cross-encoder that prefers no unit, and counts those that it reads."""

    name = "counting"

    def __init__(self) -> None:
        self.units: list[int] = []

    async def read(self, question: str, units: Sequence[UnitText]) -> PairReading:
        self.units.append(len(units))
        return PairReading(np.zeros(len(units), np.float32), np.zeros((len(units), 128), np.float32))


class FailingEncoder:
    """A cross-encoder whose model cannot be loaded."""

    name = "failing"
    calls = 0

    async def read(self, question: str, units: object) -> PairReading:
        self.calls += 1
        raise Broken("the model in a.onnx cannot be read")


async def test_rules_answer_when_the_model_cannot_be_loaded_and_the_log_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failing = FailingEncoder()
    generator = ExtractiveGenerator(reader=UnitReader(failing, StaticEmbedder()))
    context = [note("a.md", "The key to the shed hangs in the dairy. Marta takes it home on Sundays.")]
    question = "Who has the key to the cellar at the weekend?"
    for _ in range(2):
        assert await generator.answer(question, context) == await ExtractiveGenerator().answer(question, context)
    assert failing.calls == 1
    assert [record.levelname for record in caplog.records] == ["ERROR"]
