"""Questions that name little but a time: what happens in a month, who is of a day, and who attended a meeting."""

from __future__ import annotations

import re

import pytest

from graphtide.graph.retrieval.question_words import is_corpus_question
from graphtide.infra.models.local.answers.values.dates import month_spans
from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import answer, note, table

CLUB = (
    table(
        "events.md",
        "date: 14 March 2026; event: seed swap; place: church hall",
        "date: 25 April 2026; event: clean-up; place: plots",
        "date: 6 June 2025; event: open garden; place: whole site",
        "date: 6 June 2026; event: open garden; place: whole site",
        "date: 20 June 2026; event: supper; place: club house",
        title="Events",
    ),
    note(
        "rules.txt", "Water is turned off from 1 November to 15 March.", "Dogs must be kept on a lead.", title="Rules"
    ),
    note(
        "minutes-02.md",
        "Present: Petra Holm, Mira Dahl.",
        "The pump leaks again.",
        title="Committee minutes",
        date="2026-02-11",
    ),
    note(
        "minutes-03.md",
        "Present: Petra Holm, Jonas Ek.",
        "Apologies: Mira Dahl.",
        "Compost delivery moved from 28 March to 4 April.",
        title="Committee minutes",
        date="2026-03-11",
    ),
    table(
        "oncall.csv",
        "week: 22; from: 2026-05-25; to: 2026-05-31; primary: Wiktoria",
        "week: 23; from: 2026-06-01; to: 2026-06-07; primary: Lena",
        title="oncall",
    ),
)
GARDEN, SUPPER = (
    "date: 6 June 2026; event: open garden; place: whole site",
    "date: 20 June 2026; event: supper; place: club house",
)
CLEANUP, COMPOST = (
    "date: 25 April 2026; event: clean-up; place: plots",
    "Compost delivery moved from 28 March to 4 April.",
)
FEBRUARY, MARCH, APOLOGIES = (
    "Present: Petra Holm, Mira Dahl.",
    "Present: Petra Holm, Jonas Ek.",
    "Apologies: Mira Dahl.",
)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What happens in June?", f"{GARDEN} {SUPPER}"),
        ("What is happening in June 2025?", "date: 6 June 2025; event: open garden; place: whole site"),
        ("What's on in April?", f"{COMPOST} {CLEANUP}"),
        ("What is planned for 20 June?", SUPPER),
        ("What is on between 1 April and 10 June?", f"{COMPOST} {CLEANUP} {GARDEN}"),
        ("What happened on 11 February 2026?", "The pump leaks again."),
        ("What happens in October?", NOTHING_FITS),
        ("Who is on call on 2 June?", "week: 23; from: 2026-06-01; to: 2026-06-07; primary: Lena"),
        ("Who is on call on 27 May?", "week: 22; from: 2026-05-25; to: 2026-05-31; primary: Wiktoria"),
        ("Is there water in December?", "Water is turned off from 1 November to 15 March."),
    ],
)
async def test_what_states_a_day_of_the_time_in_question_answers(question: str, found: str) -> None:
    """In the order of time, of the latest year unless one is named, whatever the form of the dates."""
    assert await answer(question, *CLUB) == found


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Who was present in February?", FEBRUARY),
        ("Who attended on 11 March?", MARCH),
        ("Who was at the meeting in March?", MARCH),
        ("Who attended the last meeting?", MARCH),
        ("Who was absent in March?", APOLOGIES),
        ("Who could not come in March?", APOLOGIES),
        ("Who sent apologies?", APOLOGIES),
        ("Did Mira attend the March meeting?", APOLOGIES),
        ("Was Mira at the February meeting?", FEBRUARY),
        ("Who attended the welding course in March?", NOTHING_FITS),
    ],
)
async def test_lines_of_minutes_tell_who_attended(question: str, found: str) -> None:
    """Those of the time in question, or of the latest meeting; no other event than the one that is asked about."""
    assert await answer(question, *CLUB) == found


async def test_sentences_that_begin_like_the_lines_of_minutes_are_none() -> None:
    """They have no colon, or other words before it."""
    report = note("report.md", "Present value of the pump is 300.", "Present tools: hammer.", title="Report")
    assert await answer("Who was present in the meeting?", report) == NOTHING_FITS


async def test_the_moment_of_a_message_is_no_day_that_it_states() -> None:
    """Messages of a day answer what happened on it."""
    chat = note(
        "chat.txt",
        "[2026-05-21 10:02] Tom: the laptops come on 3 June",
        "[2026-05-21 10:30] Lena: the portal is read-only on 24 May",
        title="Chat",
    )
    assert await answer("What is on in May?", chat) == "[2026-05-21 10:30] Lena: the portal is read-only on 24 May"
    assert "laptops" in await answer("What happened on 21 May?", chat)


async def test_a_moment_within_a_message_is_a_day_that_it_states() -> None:
    chat = note("chat.txt", "[2026-05-21 10:02] Tom: the export runs on 2026-06-03 10:00", title="Chat")
    assert "export" in await answer("What happens in June?", chat)
    notes = note("notes.txt", "The fair is on 12 June.", "The mail moves on 2026-06-03 10:00 for all.", title="Notes")
    assert (
        await answer("What is on in June?", notes)
        == "The mail moves on 2026-06-03 10:00 for all. The fair is on 12 June."
    )


async def test_a_correction_of_the_minutes_goes_before_their_line() -> None:
    """The line is then left to the models, which see both."""
    correction = note(
        "minutes-04.md",
        "Correction to March: Mira Dahl attended the meeting after all, and Jonas Ek did not.",
        title="Committee minutes",
        date="2026-04-08",
    )
    assert await answer("Who attended the meeting in March?", *CLUB[:-1], correction) != MARCH


async def test_may_is_a_verb_in_a_question_about_everything() -> None:
    found = await answer("Which topics may these notes cover?", *CLUB)
    assert found == await answer("Which topics do these notes cover?", *CLUB) != NOTHING_FITS


async def test_what_is_still_open_lists_all_open_tasks_of_the_matter() -> None:
    incident = note(
        "incident.md",
        "To do: Write the offset after every mail (Lena, due 29 May)",
        "Done: Apologise to customers (Support)",
        "To do: Alert on duplicates (Arjun, due 5 June)",
        title="Incident 0519",
    )
    found = await answer("What is still open from the incident?", incident)
    assert "offset" in found and "Alert" in found and "Apologise" not in found


PROJECTS = table(
    "projects.csv",
    "project: Kitchen; start: 2026-03-02; deadline: 2026-04-17; status: done",
    "project: Staircase; start: 2026-04-06; deadline: 2026-07-31; status: in progress",
    "project: Shelves; start: 2026-05-11; deadline: 2026-06-26; status: in progress",
    "project: Sauna; start: 2026-08-03; deadline: 2026-09-04; status: planned",
    title="Projects",
)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Which projects are still running?", ["Staircase", "Shelves"]),
        ("Which projects are active?", ["Staircase", "Shelves"]),
        ("Which projects are finished?", ["Kitchen"]),
        ("Which projects end before July?", ["Kitchen", "Shelves"]),
        ("Which projects finish after 1 August?", ["Sauna"]),
        ("Which projects start before May?", ["Kitchen", "Staircase"]),
    ],
)
async def test_rows_are_selected_by_a_state_in_other_words_and_by_a_deadline(question: str, names: list[str]) -> None:
    found = await answer(question, PROJECTS)
    assert re.findall(r"project: (\w+)", found) == names


CONTRACTS = table(
    "contracts.csv",
    "contract: Electricity; runs until: 2026-12-31",
    "contract: Internet; runs until: 2027-03-31",
    "contract: Car; runs until: 2027-12-31",
    "contract: Gym; runs until: monthly",
    title="Contracts",
)


async def test_months_of_a_column_with_other_values_and_several_years() -> None:
    found = await answer("Which contracts end in December?", CONTRACTS)
    assert re.findall(r"contract: (\w+)", found) == ["Electricity", "Car"]


async def test_a_row_may_state_the_month_in_another_column_than_that_for_dates() -> None:
    people = table(
        "people.md",
        "Name: Hanne Lillevik; Role: PhD student; Since: Sep 2022; Looks after: stakes",
        "Name: Tobias Achterberg; Role: PhD student; Since: Oct 2024; Looks after: geophones",
        "Name: Yuki Tanabe; Role: PhD student, starts 1 October 2025; Since: -; Looks after: flood modelling",
        title="People",
    )
    assert "Yuki Tanabe" in await answer("Who starts in October?", people)


async def test_what_one_still_has_to_do_is_not_what_is_done() -> None:
    trip = note("trip.md", "Done: passports", "To do: kite", "To do: rain jackets", title="Trip", headings=("To pack",))
    assert await answer("What do we still have to pack?", trip) == "To do: kite To do: rain jackets"


async def test_what_happened_in_a_month_is_in_the_days_of_that_month() -> None:
    """Each day of a diary is a text, and a month without any is refused."""
    diary = [
        note("diary.md", text, title="Diary 2026", headings=("Diary 2026", day))
        for day, text in (
            ("2 March", "The heating stopped at night."),
            ("4 April", "The car got its summer tyres."),
            ("19 April", "We signed the contract for the panels."),
        )
    ]
    found = await answer("What happened in April?", *diary)
    assert found == "Diary 2026: The car got its summer tyres. Diary 2026: We signed the contract for the panels."
    assert await answer("What happened in November?", *diary) == NOTHING_FITS


def test_months_of_a_period() -> None:
    assert month_spans("off from 1 November to 15 March") == [frozenset({11, 12, 1, 2, 3})]
    assert month_spans("open April - September, and the 3rd of May until the 4th of June") == [
        frozenset(range(4, 10)),
        frozenset({5, 6}),
    ]
    assert month_spans("in April and September, or May") == []


def test_what_happens_in_a_month_is_no_question_about_the_whole_corpus() -> None:
    """Unless it names the notes, or the past: then the documents of that time are its subject."""
    assert not is_corpus_question("What happens in June?")
    assert is_corpus_question("What happened in June?")
    assert is_corpus_question("What happens in the notes of June?")
    assert is_corpus_question("What is happening?")
