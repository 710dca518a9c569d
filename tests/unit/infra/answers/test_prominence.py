"""Support by prominence: a unit far better than those of all other documents answers in other words, too."""

from __future__ import annotations

from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import answer, note

QUAY = note(
    "quay.md",
    "The slipway of the sailing club reopens on 3 May.",
    title="Quay",
    date="2025-03-01",
)
OTHERS = (
    note("boats.md", "The rowing boat has a new oar.", title="Boats", date="2025-03-02"),
    note("kitchen.md", "The kettle is descaled on Mondays.", title="Kitchen", date="2025-03-03"),
)
QUESTION = "When is the slipway of the club usable afterwards?"


async def test_a_unit_far_better_than_all_other_documents_answers_in_other_words() -> None:
    assert "3 May" in await answer(QUESTION, QUAY, *OTHERS)


async def test_it_does_not_when_another_document_says_as_much() -> None:
    rival = note("sheds.md", "The slipway of the rowing club was painted on 9 June.", title="Sheds", date="2025-03-02")
    assert await answer(QUESTION, QUAY, rival, *OTHERS) == NOTHING_FITS


async def test_it_does_not_without_a_value_of_the_type_asked_for() -> None:
    plain = note("quay.md", "The slipway of the sailing club reopens soon.", title="Quay", date="2025-03-01")
    assert await answer(QUESTION, plain, *OTHERS) == NOTHING_FITS


FLEECE = note("flock.md", "Next pickup of the old fleeces in the barn: 26 March.", title="Flock", date="2025-03-01")
COLLECTED = "When do the spinners next collect the old fleeces from the barn?"


async def test_a_unit_far_better_than_all_other_documents_needs_no_verb_of_the_question() -> None:
    assert "26 March" in await answer(COLLECTED, FLEECE, *OTHERS)


async def test_it_needs_a_verb_when_another_document_says_as_much() -> None:
    rival = note("hay.md", "The barn with the old fleeces is painted next on 9 June.", title="Hay", date="2025-03-02")
    assert await answer(COLLECTED, FLEECE, rival, *OTHERS) == NOTHING_FITS


async def test_it_needs_a_verb_when_it_has_few_other_words_of_the_question() -> None:
    crowned = note("oven.md", "The old bell weighs 90 kg.", "It was cast in 1810.", title="Bell", date="2025-03-01")
    assert await answer("When was the bell stolen?", crowned, *OTHERS) == NOTHING_FITS
