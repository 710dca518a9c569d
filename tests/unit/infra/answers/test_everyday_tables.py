"""Questions to tables of a club: who may do something, what is full or used up, and which row is meant."""

from __future__ import annotations

import re

import pytest

from graphtide.infra.models.local.answers.choosing.selection import answer_by_relevance, answer_by_rules
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import Relevance
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import answer, note, table

HANNE = "name: Hanne Brekke; role: captain; joined: 2009-05-01; driver: yes; lives: Nedre Vik"
TORLEIF = "name: Torleif Aas; role: deputy captain; joined: 2012-09-15; driver: yes; lives: Sandnes"
SIV = "name: Siv Ness; role: firefighter; joined: 2018-02-01; driver: no; lives: Sandnes"
AMINA = "name: Amina Warsame; role: trainee; joined: 2026-01-10; driver: no; lives: Krossen"
CHIMNEY = "number: 26-01; date: 2026-01-08; kind: chimney fire; leader: Hanne Brekke; hours: 3"
ACCIDENT = "number: 26-02; date: 2026-01-29; kind: traffic accident; leader: Torleif Aas; hours: 4.5"
GRASS = "number: 26-03; date: 2026-03-21; kind: grass fire; leader: Torleif Aas; hours: 5"
ENGINE = "vehicle: Engine 1; built: 2014; last inspection: 2026-02-10; next inspection: 2027-02-10"
TANKER = "vehicle: Tanker; built: 1998; last inspection: 2025-09-30; next inspection: 2026-09-30"
BRIGADE = (
    table("roster.csv", HANNE, TORLEIF, SIV, AMINA, title="roster"),
    table("callouts.csv", CHIMNEY, ACCIDENT, GRASS, title="callouts"),
    table("vehicles.md", ENGINE, TANKER, title="Vehicles and equipment", headings=["Vehicles"]),
    table(
        "plan.md", "date: 2026-04-07; topic: ladders; leader: Torleif", "date: 2026-05-05; topic: hoses; leader: Jon"
    ),
    note("log.txt", "Seal ordered, comes Friday. 640 kr. Engine 1 stays usable.", title="Log"),
)

BALLET = "class: Ballet; teacher: Oriane Pell; places: 14; enrolled: 14"
TAP = "class: Tap; teacher: Lia Moreau; places: 10; enrolled: 7"
STREET = "class: Street; teacher: Lia Moreau; places: 24; enrolled: 24"
ORIANE = "name: Oriane Pell; since: 2011; teaches: ballet; substitute: Lia Moreau"
LIA = "name: Lia Moreau; since: 2021; teaches: street, tap; substitute: Oriane Pell"
SHOES = "item: tap shoes 38; quantity: 0; where: cupboard B"
MATS = "item: yoga mats; quantity: 18; where: attic"
HATS = "item: hats; quantity: 0; where: opera"
SCHOOL = (
    table("classes.csv", BALLET, TAP, STREET, title="classes"),
    table("teachers.md", ORIANE, LIA, title="Teachers", headings=["Teachers"]),
    table("stock.csv", SHOES, MATS, HATS, title="stock list"),
)


def rows_in(text: str) -> set[str]:
    """Return what the rows in an answer are about."""
    return set(re.findall(r"\b(?:name|number|vehicle|class|item|course|topic): ([^;]+)(?:;|\Z)", text))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who is allowed to drive?", {"Hanne Brekke", "Torleif Aas"}),
        ("Who can drive?", {"Hanne Brekke", "Torleif Aas"}),
        ("Who is not allowed to drive?", {"Siv Ness", "Amina Warsame"}),
        ("Who is the captain?", {"Hanne Brekke"}),
        ("Who is the deputy captain?", {"Torleif Aas"}),
        ("Who joined last?", {"Amina Warsame"}),
        ("Who joined first?", {"Hanne Brekke"}),
        ("Who has joined most recently?", {"Amina Warsame"}),
        ("Who was the last to join?", {"Amina Warsame"}),
        ("Which call-outs did Torleif lead?", {"26-02", "26-03"}),
        ("How many call-outs were there in January?", {"26-01", "26-02"}),
        ("What was the longest call-out?", {"26-03"}),
        ("Which of our vehicles is the oldest?", {"Tanker"}),
        ("What is our newest vehicle?", {"Engine 1"}),
        ("Which vehicle has not been inspected for the longest time?", {"Tanker"}),
    ],
)
async def test_rows_of_a_brigade(question: str, expected: set[str]) -> None:
    assert rows_in(await answer(question, *BRIGADE)) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which classes are full?", {"Ballet", "Street"}),
        ("Which classes are fully booked?", {"Ballet", "Street"}),
        ("Which classes have no places left?", {"Ballet", "Street"}),
        ("Which classes are not full yet?", {"Tap"}),
        ("Which classes still have places?", {"Tap"}),
        ("Which class has free places?", {"Tap"}),
        ("Which items are out of stock?", {"tap shoes 38", "hats"}),
        ("What does Lia teach?", {"Lia Moreau"}),
        ("Who is the newest teacher?", {"Lia Moreau"}),
        ("Who is the longest-serving teacher?", {"Oriane Pell"}),
    ],
)
async def test_rows_of_a_school(question: str, expected: set[str]) -> None:
    assert rows_in(await answer(question, *SCHOOL)) == expected


async def test_rows_show_the_columns_that_select_them() -> None:
    """Also where so many are quoted that each is shortened."""
    rows = [
        f"class: C{at}; level: beginner; room: large hall {at}; teacher: Ann Ek; day: Monday; start: 16:00; end: 17:30;"
        " age: 6-8; fee: 160 euros a term; places: 9; enrolled: 9"
        for at in range(4)
    ]
    found = await answer("Which classes are full?", table("classes.csv", *rows, title="classes"))
    assert found.count("places: 9; enrolled: 9") == 4 and "fee" not in found


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("Who is the newest teacher?", 0),
        ("Which is the most expensive class?", 0),
        ("Which classes are the most expensive?", 5),
        ("Who teaches a class?", 5),
        ("Who teaches at least one class?", 5),
        ("Who do most people ask for a class?", 5),
    ],
)
def test_a_superlative_that_no_column_decides_lists_no_table(question: str, number: int) -> None:
    """However probable its rows are; several may be asked for."""
    units = units_of(
        [table("classes.csv", *(f"class: C{at}; teacher: Person {at}" for at in range(5)), title="classes")]
    )
    evidence = score_units(plan_of(question), units, [0.0] * len(units))
    relevance = Relevance(dict.fromkeys(range(5), 0.19), 0.02, dict.fromkeys(range(5), 0.9))
    assert len(answer_by_relevance(evidence, relevance, answer_by_rules(evidence))) == number


async def test_a_place_that_nothing_counts_makes_no_class_full() -> None:
    """Without a column for those that are taken nothing is known."""
    lessons = table(
        "lessons.csv", "lesson: Harp; places: 3; room: 1", "lesson: Oboe; places: 2; room: 2", title="lessons"
    )
    assert NOTHING_FITS in await answer("Which lessons are fully booked?", lessons)
    courses = table(
        "courses.csv", "course: Weaving; hours: 8; places: 9; booked: 9", "course: Felt; hours: 4; places: 5; booked: 1"
    )
    assert rows_in(await answer("Which courses are full?", courses)) == {"Weaving"}
    assert rows_in(await answer("Which courses have seats left?", courses)) == {"Felt"}


async def test_a_longer_role_is_left_out_for_its_holder_alone() -> None:
    """A question for all who work there lists both."""
    staff = table(
        "staff.csv", "name: Ines Roy; post: reception", "name: Petra Holm; post: evening reception", title="staff"
    )
    assert rows_in(await answer("Who works at reception?", staff)) == {"Ines Roy", "Petra Holm"}


@pytest.mark.parametrize("question", ["How much was the seal?", "What did the seal cost?"])
async def test_a_sum_in_crowns_belongs_to_the_sentence_before(question: str) -> None:
    assert "Seal ordered, comes Friday. 640 kr." in await answer(question, *BRIGADE)


async def test_a_reply_of_yes_or_no_comes_with_what_was_asked() -> None:
    chat = note(
        "chat.txt",
        "[20.05.2026, 09:15] Amina: can I come along on call-outs before the course?",
        "[20.05.2026, 09:31] Hanne: yes, but you stay at the vehicle",
        "[21.05.2026, 10:02] Amina: which boots do I need?",
        "[21.05.2026, 10:04] Hanne: ask Siv",
        title="chat",
    )
    found = await answer("Can Amina come along on call-outs?", chat)
    assert "can I come along" in found and "yes, but you stay at the vehicle" in found and "ask Siv" not in found


async def test_what_happened_to_a_person_is_told_in_full() -> None:
    report = note(
        "accident.txt",
        "Date: 2026-10-15\nPupil: No\u00e9 Vandam, 13\nClass: Street\n"
        "What: slipped on a wet patch near the door of the hall and hurt his left wrist\nReported by: Lia\n"
        "Action: parents called, ice; doctor says sprain, no dance for two weeks\nCause: the umbrella rack drips",
        title="Accident report",
    )
    assert "slipped on a wet patch" in await answer("What happened to No\u00e9?", report)


@pytest.mark.parametrize(
    ("question", "extreme"),
    [
        ("Who joined last?", -1),
        ("Who arrived first?", 1),
        ("Who was the first to arrive?", 1),
        ("Who has paid most recently?", -1),
        ("Who is first?", 0),
        ("Who lives last on the list?", 0),
        ("Who was here last?", -1),
    ],
)
def test_order_asked_of_persons(question: str, extreme: int) -> None:
    assert plan_of(question).extreme == extreme
