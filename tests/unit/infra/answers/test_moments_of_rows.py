"""Rows selected by a moment: before a day without its year, and the first or last one in time."""

from __future__ import annotations

import random

import pytest

from graphtide.infra.models.local.answers.questions.bounds import bound_of
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.questions.types import Bound
from graphtide.infra.models.local.answers.values.dates import day_in_figures
from tests.support.seeds import seeds
from tests.unit.infra.answers.notes import answer, table

DAYS = ((1, 20), (2, 28), (4, 30), (5, 2), (5, 3), (5, 9), (7, 1))
NAMES = ("Tern", "Gull", "Heron", "Egret", "Plover", "Dunlin", "Curlew")
TOWNS = ("Leeds", "York", "Hull", "Ripon", "Selby", "Goole", "Otley")


@pytest.mark.parametrize("day", ["3 May", "May 3", "the 3rd May", "3 May 2026", "2026-05-03"])
@pytest.mark.parametrize("seed", seeds(4, 40))
async def test_rows_before_and_after_a_day_with_or_without_its_year(seed: int, day: str) -> None:
    """The year of a day without one is that of the rows."""
    print(f"seed {seed}")
    days = random.Random(seed).sample(DAYS, 5)
    rows = [f"order: A{month}-{date}; placed: 2026-{month:02}-{date:02}" for month, date in days]
    for word, sign in (("before", -1), ("after", 1)):
        text = await answer(f"Which orders were placed {word} {day}?", table("orders.csv", *rows))
        for month, date in days:
            assert (f"A{month}-{date};" in text) == (sign * (100 * month + date - 503) > 0), text


async def test_a_day_without_a_year_selects_nothing_where_rows_have_several_years() -> None:
    rows = [f"order: A{year}; placed: {year}-04-01" for year in (2024, 2025)]
    text = await answer("Which orders were placed before 3 May?", table("orders.csv", *rows))
    assert ("A2024" in text) == ("A2025" in text)


@pytest.mark.parametrize("column", ["Built", "Launched", "year built"])
@pytest.mark.parametrize("seed", seeds(4, 40))
async def test_first_and_last_in_time_are_read_from_a_column_of_years(seed: int, column: str) -> None:
    """Also where the question asks for the oldest, and no column is called age."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    names, years = rng.sample(NAMES, 4), rng.sample(range(1850, 2020), 4)
    rows = [
        f"Ship: {name}; {column}: {year}; Town: {town}"
        for name, year, town in zip(names, years, rng.sample(TOWNS, 4), strict=True)
    ]
    first, last = names[years.index(min(years))], names[years.index(max(years))]
    verb = column.rsplit(maxsplit=1)[-1].lower()
    asked = {
        f"Which ship was {verb} first?": first, f"Which ship was {verb} last?": last,
        f"Which ship was {verb} most recently?": last, "Which is the oldest ship?": first,
    }  # fmt: skip
    for question, name in asked.items():
        text = await answer(question, table("ships.csv", *rows))
        assert [each for each in names if each in text] == [name], (question, text)


async def test_first_without_a_column_of_that_name_selects_no_row() -> None:
    """Another column of years says nothing of it."""
    rows = ("Ship: Tern; Sold: 1990", "Ship: Gull; Sold: 1980")
    text = await answer("Which ship was painted first?", table("ships.csv", *rows))
    assert ("Gull" in text) == ("Tern" in text)


@pytest.mark.parametrize("question", ["What was done first?", "Who was there at last?", "Which is the last name?"])
def test_only_a_deed_has_an_order(question: str) -> None:
    """A name with "first" or "last" is not asked for by its time."""
    assert plan_of(question).ordered == (question == "What was done first?")


@pytest.mark.parametrize(
    "moments", ["3 May and before 1 July", "3 May 2026 and before 1 July", "3 May and before 1 July 2026"]
)
async def test_one_year_of_two_moments_is_that_of_both(moments: str) -> None:
    """As without a year, where the rows have the same one."""
    rows = [f"order: A{month}; placed: 2026-{month:02}-10" for month in range(3, 9)]
    text = await answer(f"Which orders were placed after {moments}?", table("orders.csv", *rows))
    assert text == f"{rows[2]} {rows[3]}"


FORMS = ("{0}-{1:02}-{2:02}", "{2:02}/{1:02}/{0}", "{2}.{1}.{0}", "{0}/{1:02}/{2:02}")
PERIODS = [
    ("between 28 February and 2 May", 228, 502),
    ("from 1 to 9 May", 501, 509),
    ("between 1st May and the 9th May", 501, 509),
    ("from May 3 to May 8 2026", 503, 508),
    ("between 2026-04-30 and 2026-05-03", 430, 503),
    ("between 30/04/2026 and 03.05.2026", 430, 503),
    ("from February to April", 200, 499),
    ("in May", 500, 599),
    ("in April 2026", 400, 499),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("period", "first", "last"), PERIODS)
async def test_rows_of_a_period_are_those_of_its_days(form: str, period: str, first: int, last: int) -> None:
    """Both ends belong to it; the days of the rows may have any form."""
    rows = [f"order: A{month}-{day}; placed: {form.format(2026, month, day)}" for month, day in DAYS]
    text = await answer(f"Which orders were placed {period}?", table("orders.csv", *rows))
    for month, day in DAYS:
        assert (f"A{month}-{day};" in text) == (first <= 100 * month + day <= last), text


@pytest.mark.parametrize(
    ("period", "limits"),
    [
        ("from december to 3 march 2026", (20251200, 20260303)),
        ("between 3 may 2026 and june", (20260503, 20260699)),
        ("between december and january", None),
        ("between 2024-13-45 and 4 may", None),
        ("between 10 and 20 euros", None),
        ("between the shed and the gate", None),
    ],
)
def test_period_has_the_year_that_it_names(period: str, limits: tuple[int, int] | None) -> None:
    """The first moment is before the last; what is no period limits nothing."""
    expected = limits and Bound(*limits, with_low=True, with_high=True, dated=True)
    assert bound_of(period.split()) == expected


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("28/04/2026", (2026, 4, 28)),
        ("28.04.2026", (2026, 4, 28)),
        ("04/28/2026", (2026, 4, 28)),
        ("04/05/2026", (2026, 5, 4)),
        ("2026/4/28", (2026, 4, 28)),
        ("31/31/2026", None),
        ("0/4/2026", None),
        ("1/2", None),
        ("1.2.3", None),
    ],
)
def test_day_in_figures_is_day_first_unless_the_second_number_is_no_month(
    text: str, day: tuple[int, int, int] | None
) -> None:
    assert day_in_figures(text) == day


@pytest.mark.parametrize("day", ["28/04/2026", "28.04.2026", "04/28/2026"])
async def test_moment_in_figures_is_that_of_words(day: str) -> None:
    """In the question and in the cell."""
    rows = [f"order: A{month}; placed: 2026-{month:02}-28" for month in range(3, 6)]
    assert await answer(f"Which orders were placed before {day}?", table("orders.csv", *rows)) == rows[0]
    dated = table("visits.csv", f"guest: Ana Ruiz; visit: {day}", "guest: Bo Lind; visit: 01/05/2026")
    assert "Ana Ruiz" in await answer("Who visited on 28 April?", dated)
    assert "Bo Lind" not in await answer("Who visited on 28 April?", dated)
