"""Questions about what reports tell: what happened on a day, why, how many it concerned, who is responsible, and what a
later part of the same report corrects. The notes are those of a harbour.
"""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.questions.limits import options_of
from graphtide.infra.models.local.answers.thesaurus import synonyms_of
from graphtide.infra.models.local.answers.words import key_of
from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import answer, note, table

STORM = note(
    "storm.md",
    "Boats damaged on the night: 31 yachts, as the pilots told the press.",
    title="Storm of 4 March",
    date="2026-03-04",
    headings=["Damage"],
)
MINUTES = (
    note(
        "minutes.txt",
        "Storm of 4 March. The crane driver counted again: 27 yachts were damaged.",
        date="2026-03-20",
        title="Minutes, 20 March 2026",
    ),
    note(
        "minutes.txt",
        "The board has approved the new slipway at Ness Point (S-7). The old one stays. "
        "It is to be opened on 5 September.",
        date="2026-03-20",
        title="Minutes",
        headings=["Board meeting, 20 March 2026", "Ness Point"],
    ),
)
PEOPLE = (
    table("people.html", "Name: Ida Holm; Task: moorings; Room: 4", headings=["People"]),
    table("people.html", "Name: Per Ahl; Task: cranes and slipway; Room: 7", headings=["People"]),
    note("budget.html", "Income: 9,000 euros of charges for moorings.", title="Budget"),
    table("fleet.csv", "boat: pilot launch; bought: 2011; driver: Yusuf Lang"),
    table("fleet.csv", "boat: dredger; bought: 1998; driver: Ann Berg"),
)
LIGHTS = (
    table("lights.md", "light: blue; meaning: the mast scanner is updating", headings=["Lights of the mast scanner"]),
    table("lights.md", "light: yellow; meaning: wait for the pilot", headings=["Lights of the mast scanner"]),
)
NONE_HURT = "None of the crew was hurt."
FIRE = (
    note("fire.md", "Three of the four pumps at Ness Point refused to start.", headings=["What happened"]),
    note("fire.md", "The fuel of the pumps had frozen during the night.", headings=["Cause"]),
    note("fire.md", "To do: order the winter fuel.", NONE_HURT, headings=["Actions"]),
)


async def test_a_later_report_below_the_day_asked_for_is_of_that_day() -> None:
    assert "27" in await answer("How many yachts were damaged in the storm of 4 March?", STORM, *MINUTES)


async def test_the_day_of_a_meeting_does_not_date_what_it_only_approves() -> None:
    assert "5 September" in await answer("When will the new slipway at Ness Point be opened?", *MINUTES)


async def test_who_is_in_charge_is_told_by_a_column_of_tasks_and_not_by_a_charge() -> None:
    assert "Ida Holm" in await answer("Who is in charge of the moorings?", *PEOPLE)


async def test_who_drives_is_told_by_a_column_for_the_driver() -> None:
    assert key_of("driver") in synonyms_of("drives")
    assert "Yusuf Lang" in await answer("Who drives the pilot launch?", *PEOPLE)


async def test_a_colour_is_no_synonym_of_another() -> None:
    assert "wait for the pilot" in await answer("What does a yellow light on the mast scanner mean?", *LIGHTS)
    assert key_of("blue") not in synonyms_of("yellow")
    assert key_of("yellow") in synonyms_of("colour")


async def test_a_reason_is_quoted_from_below_its_heading_with_what_happened() -> None:
    assert "frozen" in await answer("Why did the pumps at Ness Point refuse to start?", *FIRE)


async def test_a_reason_without_a_word_for_it_is_in_the_sentences_before() -> None:
    minutes = note("m.txt", "Below the old quay lies a wreck. The ground has to be tested. The work is put off to May.")
    assert "wreck" in await answer("Why was the work put off?", minutes)


async def test_none_is_a_number_of_people_and_an_unrelated_number_is_none() -> None:
    assert await answer("How many people were hurt at Ness Point?", *FIRE) in (NONE_HURT, NOTHING_FITS)
    opening = note("o.md", "The new quay was opened on 3 May. The band played 12 songs.", title="The quay")
    assert await answer("How many people came to the opening of the quay?", opening) == NOTHING_FITS


async def test_a_correction_below_its_heading_replaces_the_number() -> None:
    report = (
        note("r.md", "412 guests were charged twice.", title="Report of 7 May", headings=["What happened"]),
        note("r.md", "The right number is 396 guests.", title="Report of 7 May", headings=["Correction, 12 May"]),
    )
    assert "396" in await answer("How many guests were charged twice?", *report)


async def test_what_is_taken_back_is_not_quoted() -> None:
    mail = note(
        "m.eml",
        "In April I wrote that the old crane has to be scrapped. I take that back: the crane can stay until 2030.",
    )
    assert "can stay" in await answer("Does the old crane have to be scrapped?", mail)


async def test_what_can_be_bought_is_for_sale() -> None:
    yard = (
        note("y.md", "The plant sale is on Saturday 10 May.", title="Yard notes", headings=["For citizens"]),
        note("y.md", "Last year the plants flowered on 9 April.", title="Yard notes", headings=["Yard"]),
    )
    assert "10 May" in await answer("On which day can people buy plants?", *yard)


async def test_a_price_of_something_else_at_the_same_place_is_refused() -> None:
    notes = (
        note("n.md", "The budget is 186,000 euros.", headings=["Ness Green"], title="Meeting"),
        note("n.md", "Done: order rubber tiles in two colours.", headings=["Actions"], title="Meeting"),
    )
    assert await answer("How much did the rubber tiles for Ness Green cost?", *notes) == NOTHING_FITS


async def test_who_is_allowed_is_told_below_a_heading_with_may_and_all_are_quoted() -> None:
    notes = (
        note("b.md", "On 20 May Ida Holm restored the plans of the quay.", title="Plans", headings=["Last restore"]),
        note(
            "b.md",
            "Ann Berg and Per Ahl. In an emergency also Yusuf Lang.",
            title="Plans",
            headings=["Who may restore"],
        ),
    )
    given = await answer("Who is allowed to restore a plan?", *notes)
    assert "Ann Berg" in given
    assert "Yusuf Lang" in given


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Which van has been driven further, K-304 or K-305?", ({"k-304"}, {"k-305"})),
        ("Which boat is longer, the Tern or the Gull?", ({"tern"}, {"gull"})),
    ],
)
def test_two_names_after_which_are_the_sides_of_a_comparison(question: str, options: tuple[set[str], set[str]]) -> None:
    found, alternatives = options_of(question)
    assert tuple(map(set, found)) == options
    assert not alternatives
