"""Forms of questions of the generator without a model: counts, definitions, permissions, decisions, columns."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import answer, note, table

LIBRARY = (
    table(
        "loans.csv",
        "loan: L1; reader: Ana Ruiz; state: overdue; fee: 4; paid: 6",
        "loan: L2; reader: Bo Lind; state: returned; fee: 5; paid: 3",
        "loan: L3; reader: Cy Marsh; state: overdue; fee: 7; paid: 9",
        title="Loans",
    ),
    table("quotes.csv", "supplier: Marlow Shelving; part: bookcase; price: 2350; valid: yes", title="Quotes"),
    table("halls.csv", "hall: attic; size: 40 m²; wall: oak", "hall: cellar; size: 90 m²; wall: brick", title="Halls"),
    note("works.md", "The cellar gets a dehumidifier.", date="2025-02-01"),
    note("terms.md", "The carousel is a rotating shelf for new books. Weeding means the removal of old ones."),
    note(
        "house.md", "Open fire is forbidden. The goods lift must not be used.", "The archive is heated.", title="Rules"
    ),
    note("house-2.md", "The reading room has a bell and an alarm, and a goods lift is beside it.", title="House rules"),
    note("roles.md", "Director: Petra Holm.", "Acquisitions: Ivo Brandt.", title="Library of Vell", headings=["Vell"]),
    note("gift.md", "The harbour board gave 7,500 euros for the roof."),
    note("ladders.md", "Do not lend the short ladder. The long one carries 120 kg.", title="Ladders"),
    note("deed.md", "We bought the van from the Aldous family in 2019."),
    note("plan.md", "The exhibition opens on 4 May.", date="2025-01-10"),
    note(
        "diary.md", "Changed the exhibition: it opens not on 4 May but on 9 June.",
        headings=["Diary, March 2025", "3 March"],
    ),
    note("damp-1.md", "Mould was suspected in the archive.", headings=["3 March 2025"]),
    note("damp-2.md", "The laboratory found no mould in the archive.", headings=["9 March 2025"]),
    note(
        "minutes.md", "The archive closes at 18:00.", "The stacks are painted in May.",
        title="Board meeting", headings=["Board meeting", "Decisions"],
    ),
    note("minutes.md", "Not decided.", title="Board meeting", headings=["Board meeting", "Other"]),
    note("report.md", "214 visitors came.", date="2025-06-01", title="Visitors"),
    note("licence.md", "The licence is granted from 3 April to 30 June."),
    note("coat.md", "The usher has a coat of wool."),
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("How many loans are overdue?", ("loan: L1", "loan: L3")),
        ("In which loans was more paid than the fee?", ("loan: L1", "loan: L3")),
        ("How much does Marlow Shelving want for the bookcase?", ("price: 2350",)),
        ("How large is the hall that gets a dehumidifier?", ("dehumidifier", "90 m²")),
        ("What is the carousel?", ("a rotating shelf",)),
        ("Is open fire allowed in the archive?", ("Open fire is forbidden.",)),
        ("May the goods lift be used when the alarm rings?", ("must not be used",)),
        ("Who directs the library of Vell?", ("Petra Holm",)),
        ("Who is responsible for acquisitions?", ("Ivo Brandt",)),
        ("Who gave 7,500 euros?", ("The harbour board",)),
        ("How much weight does the long ladder carry?", ("120 kg",)),
        ("Who sold the van to us?", ("the Aldous family",)),
        ("When does the exhibition open?", ("9 June",)),
        ("Was there mould in the archive?", ("no mould",)),
        ("What was decided at the board meeting?", ("18:00", "painted")),
        ("From when is the licence valid?", ("from 3 April",)),
    ],
)
async def test_an_answer_fits_the_form_of_its_question(question: str, parts: tuple[str, ...]) -> None:
    found = await answer(question, *LIBRARY)
    assert all(part in found for part in parts), found


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("How many loans are overdue?", "loan: L2"),
        ("In which loans was more paid than the fee?", "loan: L2"),
        ("What was decided at the board meeting?", "Not decided"),
    ],
)
async def test_an_answer_leaves_other_rows_and_items_out(question: str, part: str) -> None:
    assert part not in await answer(question, *LIBRARY)


@pytest.mark.parametrize("question", ["What colour is the coat of the usher?", "How many visitors came in 2023?"])
async def test_a_missing_property_or_year_is_refused(question: str) -> None:
    assert await answer(question, *LIBRARY) == NOTHING_FITS


async def test_a_column_for_states_answers_what_is_fixed_or_open() -> None:
    faults = table(
        "faults.csv",
        "fault: torn map; state: done",
        "fault: dim lamp; state: open",
        "fault: loose tile; state: done",
        title="Faults",
    )
    found = await answer("Which faults have been fixed?", faults)
    assert "torn map" in found
    assert "loose tile" in found
    assert "dim lamp" not in found


@pytest.mark.parametrize(
    ("question", "part"), [("Which atlases are bound?", "A1"), ("Which atlases are not bound?", "A2")]
)
async def test_a_column_of_yes_and_no_selects_the_rows(question: str, part: str) -> None:
    atlases = table("atlases.csv", *(f"atlas: A{n}; bound: {word}" for n, word in enumerate(("yes", "no") * 2, 1)))
    found = await answer(question, atlases)
    assert f"atlas: {part}" in found
    assert ("bound: no" in found) is ("not" in question.split())
    assert ("bound: yes" in found) is ("not" not in question.split())


async def test_labelled_paragraphs_are_quoted_one_by_one() -> None:
    report = note(
        "report.md",
        "Doors: the third door sticks. Please plane it before Monday.",
        "Lamps: the lamp of the stairs is weak. Two bulbs are on order.",
        "Heating: the pump hums. It was bled in May.",
    )
    assert "door" not in await answer("What is wrong with the lamp of the stairs?", report)


async def test_the_fields_of_a_record_come_with_its_text() -> None:
    record = "shelf: 14\n\nreported_by: Ana Ruiz\n\nstate: open"
    notes = (
        note("faults.jsonl#F1", record, title="F1", date="2025-03-01"),
        note("faults.jsonl#F1", "A board sagged below the atlases.", title="F1", date="2025-03-01"),
    )
    assert "shelf: 14" in await answer("On which shelf did a board sag?", *notes)


STABLE = note(
    "stable.md",
    "In a heat wave the ponies leave the upper field. They wait in the old cow shed until the evening.",
    "The farrier charges 70 euros for a pony. He comes every six weeks.",
)


async def test_the_next_sentence_continues_a_sentence_that_only_introduces_a_place() -> None:
    assert "old cow shed" in await answer("Where do the ponies go in a heat wave?", STABLE)


async def test_the_next_sentence_does_not_follow_a_value_of_the_type_asked_for() -> None:
    assert await answer("How much does the farrier charge?", STABLE) == "The farrier charges 70 euros for a pony."
