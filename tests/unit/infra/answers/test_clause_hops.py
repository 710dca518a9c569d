"""Questions with a relative clause: the clause tells which thing is meant, and another unit answers about it."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.questions.clauses import clauses_of
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.questions.terms import MAX_TERMS
from graphtide.infra.models.local.english.lexical.verbs import VERBS
from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import answer, chosen_of, note, table

BREWERY = (
    table(
        "phones.csv",
        "Name: Dagny Rask; Job: brewer; Ext.: 41; Days: Mon-Thu",
        "Name: Oskar Pihl; Job: cooper; Ext.: 44; Days: Tue-Fri",
        "Name: Lotte Brun; Job: bookkeeper; Ext.: 47; Days: Mon-Fri",
        title="Telephone list",
    ),
    table(
        "tanks.csv",
        "tank: T1; litres: 900; cleaned on: 2025-03-02; supplier: Ekman Steel",
        "tank: T4; litres: 1500; cleaned on: 2025-04-11; supplier: Brandt & Sons",
        title="Tanks",
    ),
    table(
        "casual.csv",
        "name: Ville Aho; from: 2025-06-02; to: 2025-06-20; home_town: Kuhmo; meals: none",
        "name: Rauni Laine; from: 2025-06-02; to: 2025-07-04; home_town: Salla; meals: no fish",
        title="Summer helpers",
    ),
    note(
        "leak.md",
        "A valve dripped for a week under the mash tun. It was spotted by Oskar Pihl on his round.",
        "Tank T4 lost 30 litres when the hose burst.",
        title="Leaks in spring",
        date="2025-04-09",
    ),
    note("diary.md", "Rauni found a bent key in the barley.", title="Diary", date="2025-06-11"),
    note(
        "casks.md",
        "Fourteen casks lie in the old cellar. Dagny Rask sealed them with wax.",
        title="Casks",
        date="2025-02-01",
    ),
    note("prize.md", "Dagny Rask won the silver spoon in Tartu.", title="Prizes", date="2025-01-20"),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the extension of the person who spotted the dripping valve?", "44"),
        ("On which days does the person work who spotted the dripping valve?", "Tue-Fri"),
        ("When was the tank cleaned that lost 30 litres?", "2025-04-11"),
        ("Who supplied the tank whose hose burst?", "Brandt & Sons"),
        ("From which town does the helper come who found a bent key?", "Salla"),
        ("How many casks were sealed by the woman who won the silver spoon?", "Fourteen"),
    ],
)
async def test_a_clause_tells_which_thing_is_meant(question: str, expected: str) -> None:
    assert expected in await answer(question, *BREWERY)


async def test_the_unit_that_the_clause_describes_is_quoted_first() -> None:
    found = await answer("What is the extension of the person who spotted the dripping valve?", *BREWERY)
    assert found.index("spotted by Oskar Pihl") < found.index("44")


async def test_a_clause_about_nothing_in_the_notes_is_refused() -> None:
    assert await answer("What is the extension of the person who painted the boiler?", *BREWERY) == NOTHING_FITS


@pytest.mark.parametrize(
    ("question", "inner"),
    [
        ("What does a day of the cooper who helped Lotte cost?", [{"helped", "Lotte", "cost"}, {"helped", "Lotte"}]),
        ("How old is the cask that leaks?", [{"leaks"}]),
        ("Which hall has the room in which we brew, and what is its rent?", [{"brew"}]),
    ],
)
def test_a_clause_may_end_before_the_main_verb(question: str, inner: list[set[str]]) -> None:
    plan = plan_of(question)
    found = [{plan.terms[place].text for place in clause.inner} for clause in clauses_of(plan.text, plan.terms)]
    assert found == inner


@pytest.mark.parametrize(
    "question",
    [
        "Who sealed the casks?",
        "Which of the casks leaks?",
        "Who told us that the valve dripped?",
        "How large is the cellar, where the casks lie?",
        "What is the name of the brewer and where is he?",
    ],
)
def test_other_questions_have_no_clause(question: str) -> None:
    plan = plan_of(question)
    assert clauses_of(plan.text, plan.terms) == []


async def test_a_table_with_the_columns_from_and_to_is_no_mail() -> None:
    assert "Kuhmo" in await answer("Which helper comes from Kuhmo?", *BREWERY)


def test_a_clause_of_thousands_of_words_has_few_ends() -> None:
    """Each end costs a comparison of all units, and a client decides how long a question is."""
    verbs = " ".join(f"{verb} x{number}" for number, verb in enumerate(sorted(VERBS)[:2_000]))
    plan = plan_of(f"What does the locum who {verbs} cost?")
    assert len(plan.terms) == MAX_TERMS
    assert len(clauses_of(plan.text, plan.terms)) <= 8


STATION = (
    note("station.md", "Kenji Watanabe is the director of Kittiwake Station."),
    note("ships.md", "The research vessel Meridian supplies Kittiwake Station twice a year."),
    note("crew.md", "Viktor Hale is the captain of Meridian."),
)


def test_the_steps_of_a_clause_are_quoted_if_they_have_what_the_most_probable_unit_lacks() -> None:
    shares = (0.9, 0.002, 0.002)
    question = "Who is the captain of the ship that supplies Kittiwake Station?"
    assert len(chosen_of(question, STATION, shares, 0.05)) == 2
    assert "Viktor Hale" in " ".join(chosen_of(question, STATION, shares, 0.05))
    captain = note("station.md", "Kenji Watanabe is the captain who supplies Kittiwake Station by ship.")
    assert chosen_of(question, [captain, *STATION[1:]], shares, 0.05) == [captain.text]


SCHEDULE = table("schedule.csv", "day: Monday; programme: Dig In; presenter: Ana Lund")


async def test_two_rows_with_an_equal_value_answer_whatever_the_models_say() -> None:
    """The value is in the column that the question names: any other one, such as the day, joins nothing."""
    members = table("members.csv", "name: Cy Moe; fob: 440; day: Monday", "name: Ana Lund; fob: 437; day: Friday")
    question = "What is the fob number of the presenter of Dig In?"
    assert "fob: 437" in await answer(question, SCHEDULE, members)
    units = [SCHEDULE, members]
    assert chosen_of(question, units, [0.01, 0.04, 0.04], 0.9)[-1] == "name: Ana Lund; fob: 437; day: Friday"
    others = table("members.csv", "name: Cy Moe; fob: 440; day: Monday")
    assert chosen_of(question, [SCHEDULE, others], [0.01, 0.04], 0.9) == []


HIVES = (
    note("minutes.md", "Lorcan may spend 640 euros on six hive boxes for the Waterworks."),
    table(
        "apiaries.csv",
        "code: A; name: Priory Orchard; village: Thistle; warden: Lorcan Fyfe",
        "code: B; name: Waterworks; village: Upwater; warden: Ida Kestle",
    ),
)


def test_the_second_step_is_about_what_the_first_one_names() -> None:
    """By a column `name` after a code, too; the warden's row has only the name of the person who pays. The models find
    that one more probable.
    """
    question = "In which village is the apiary that gets the six hive boxes?"
    chosen = chosen_of(question, HIVES, [0.1, 0.8, 0.1], 0.0)
    assert [text.split(";")[0] for text in chosen] == [HIVES[0].text, "code: B"]
    assert [text.split(";")[0] for text in chosen_of(question, HIVES, [0.1, 0.1, 0.8], 0.0)][-1] == "code: B"


async def test_the_sender_of_a_mail_is_no_step() -> None:
    """All sentences of a mail share the name in its heading."""
    order = note("minutes.md", "The order for the pump goes to Atlantic.")
    offers = note(
        "mail.txt",
        "Norstrand: 148,000 euros, warranty 8 years. Bowes: 131,500 euros, warranty 5 years.",
        "Atlantic: 139,900 euros, warranty 6 years.",
        headings=["Mail from Declan Furlong"],
    )
    found = await answer("How long a warranty does the firm give that got the order for the pump?", order, offers)
    assert found.endswith("Atlantic: 139,900 euros, warranty 6 years.")
