"""Tables whose rows lack cells are one table each, and what lacks may be the answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphtide.graph.text.place import PassageKind, Place
from graphtide.infra.models.local.answers.choosing.rows.stated import rows_beyond, rows_of_extreme, rows_stated
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.answers.units import UnitKind
from graphtide.streams.model_ports import ContextPassage
from tests.unit.infra.answers.notes import answer, chosen_of, note, table

BARNS = table(
    "barns.csv",
    "barn: Elm; floor: 0; m2: 75; keeper: Ana",
    "barn: Oak; floor: 1; m2: 90; keeper: Bo; remark: roof leaks",
    "barn: Ash; floor: 0; m2: 48; remark: empty",
    "barn: Fir; floor: 2; m2: 82; keeper: Cai",
)
JOBS = (
    note("repairs.jsonl#1", "id: 1\n\nproblem: tap drips\n\ndone: 2026-01-11", title="repairs.jsonl#1"),
    note("repairs.jsonl#2", "id: 2\n\nproblem: mould\n\nflat: B5", title="repairs.jsonl#2"),
    note("repairs.jsonl#3", "id: 3\n\nproblem: oven\n\ndone: 2026-02-20", title="repairs.jsonl#3"),
)
PAPERS = table(
    "papers.csv", "paper: Ice; state: published", "paper: Eels; state: draft", "paper: Mud; state: in review"
)
BOOKS = table("books.csv", "book: Emma; lent to: Ana; returned: 2026-03-01", "book: Ulysses; lent to: Bo")


def evidence_of(question: str, *notes: ContextPassage) -> AnswerEvidence:
    units = units_of(notes)
    return score_units(plan_of(question), units, [0.0] * len(units))


def firsts(evidence: AnswerEvidence) -> list[str]:
    return [one.unit.cells[0].value for one in rows_stated(evidence)]


def test_rows_beyond_a_bound_are_found_whatever_other_cells_they_lack() -> None:
    found = rows_beyond(evidence_of("Which barns are larger than 70 m2?", BARNS))
    assert [one.unit.cells[0].value for one in found] == ["Elm", "Oak", "Fir"]


def test_the_greatest_value_is_among_all_rows() -> None:
    assert firsts(evidence_of("Which barn is the largest?", BARNS)) == ["Oak"]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Which repairs are not done?", ["2"]),
        ("Which repairs are still open?", ["2"]),
        ("Which repairs are done?", ["1", "3"]),
        ("Which paintings are not done?", []),
    ],
)
def test_rows_without_the_date_of_an_end_are_not_done(question: str, found: list[str]) -> None:
    assert firsts(evidence_of(question, *JOBS)) == found


MEMBERS = table(
    "members.csv",
    "name: Ruta; shelf: A; key: yes",
    "name: Yasmin; shelf: C; key: no",
    "name: Pip; key: no",
    "name: Odo",
)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Who has no key?", ["Yasmin", "Pip", "Odo"]),
        ("Who has no shelf?", ["Pip", "Odo"]),
        ("Which members are without a shelf?", ["Pip", "Odo"]),
        ("Who has no dog?", []),
        ("Which barns have no shelf?", []),
    ],
)
def test_who_has_none_lacks_the_cell_or_has_no_in_it(question: str, found: list[str]) -> None:
    assert firsts(evidence_of(question, MEMBERS)) == found


def test_the_few_open_ones_of_many_rows_are_found() -> None:
    rows = [f"job: J{number}" + ("" if number % 50 == 7 else "; done: 2026-01-11") for number in range(200)]
    assert firsts(evidence_of("Which jobs are not done?", table("jobs.csv", *rows))) == ["J7", "J57", "J107", "J157"]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Which books have not been returned?", ["Ulysses"]),
        ("Which papers are not yet published?", ["Eels", "Mud"]),
        ("Which papers are published?", []),
    ],
)
def test_a_denial_selects_the_rows_that_lack_it_or_have_another_value(question: str, found: list[str]) -> None:
    """A sentence with all its words answers nothing."""
    log = note("rules.md", "Do not use anything that is not published. Books not returned cost a fine.")
    assert firsts(evidence_of(question, BOOKS, PAPERS, log)) == found


def test_rows_whose_value_denies_it_are_those_that_a_denial_asks_for() -> None:
    parts = ("part: Start; state: not started", "part: Methods; state: draft", "part: End; state: Not started yet")
    found = firsts(evidence_of("Which parts have not been started?", table("paper.md", *parts)))
    assert found == ["Start", "End"]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Who has been in the group longest?", ["Tomas"]),
        ("Who is the newest in our team?", ["Yuki"]),
        ("Who has been in the choir longest?", []),
    ],
)
def test_those_among_whom_one_is_looked_for_are_no_column(question: str, found: list[str]) -> None:
    """Only words for any group of persons."""
    people = table("people.md", "name: Ines; since: 2017", "name: Tomas; since: 2012", "name: Yuki; since: May 2024")
    assert firsts(evidence_of(question, people)) == found


def test_things_are_compared_in_the_table_that_lists_them() -> None:
    """Not in one with a row for each of their days."""
    sites = table("sites.csv", "site: H1; installed: 2019-04-11", "site: H6; installed: 2012-05-30; status: weekly")
    days = table("eels.csv", "date: 2001-05-20; site: H1; eels: 3", "date: 2001-06-20; site: H1; eels: 1")
    found = rows_of_extreme(evidence_of("Which is the oldest site?", days, sites))
    assert [one.unit.cells[0].value for one in found] == ["H6"]


def test_every_row_of_a_table_is_what_its_title_says() -> None:
    drill, book = (
        "item: Drill; ordered: 2026-07-30; price: 139",
        "item: Book; ordered: 2026-09-03; price: 34.50; by: Bo",
    )
    rows = table("purchase.csv", drill, book, title="purchase")
    assert firsts(evidence_of("What is the most expensive purchase?", rows)) == ["Drill"]


async def test_the_ground_floor_is_floor_0() -> None:
    text = await answer("Which barns are on the ground floor?", BARNS)
    assert "Elm" in text and "Ash" in text
    assert "Oak" not in text and "Fir" not in text


async def test_residents_are_members_of_the_row_of_a_flat() -> None:
    flats = table("flats.csv", "flat: A3; rent: 655; members: Oluwaseun Bello", "flat: B8; rent: 805")
    assert "Oluwaseun Bello" in await answer("Who lives in A3?", flats)


@pytest.mark.parametrize(("row", "kind"), [(1, UnitKind.ROW), (0, UnitKind.ABOUT)])
def test_a_column_for_titles_describes_no_document(row: int, kind: UnitKind) -> None:
    """The fields of front matter are no row of a table."""
    passage = table("bugs.csv", "id: T-1; title: Crash; status: open")
    [unit] = units_of([replace(passage, place=Place(row=row, kind=PassageKind.TABLE))])
    assert unit.kind is kind


def test_the_second_of_a_list_has_its_number() -> None:
    rows = table("waiting list.md", "place: 1; name: Ana Lund", "place: 2; name: Bo Ek", "place: 3; name: Cai Moe")
    first = note("minutes.md", "First on the waiting list is Ana Lund.")
    found = chosen_of("Who is second on the waiting list?", [rows, first], (0.1, 0.2, 0.0, 0.6), 0.1)
    assert found == ["place: 2; name: Bo Ek"]


@pytest.mark.parametrize("column", ["due", "deadline", "planned"])
async def test_what_is_due_dates_nothing_that_happened(column: str) -> None:
    rows = table("payments.csv", f"milestone: slice; {column}: 2026-02-27; amount: 65,000")
    paid = note("log.md", "The slice was paid on 16 April.")
    assert "16 April" in await answer("When was the slice paid?", rows, paid)


def test_rows_with_another_name_in_the_column_that_is_asked_answer_nothing() -> None:
    bugs = table("bugs.csv", "bug: Crash; assigned to: Noor", "bug: Rain; assigned to: Kit")
    assert not chosen_of("Which bugs are assigned to Sorcha?", [bugs], (0.4, 0.3), 0.2)
    assert chosen_of("Which bugs are assigned to Noor?", [bugs], (0.4, 0.3), 0.2) == ["bug: Crash; assigned to: Noor"]


@pytest.mark.parametrize("question", ["What happened to C-6?", "What happened to C-7?"])
def test_the_row_of_the_one_thing_asked_about_answers(question: str) -> None:
    """That of another thing does not, however alike the codes are."""
    cells = table("cells.csv", "cell: C-5; status: running", "cell: C-6; status: short circuit")
    found = chosen_of(question, [cells], (0.02, 0.64), 0.33)
    assert found == (["cell: C-6; status: short circuit"] if "C-6" in question else [])


@pytest.mark.parametrize(
    ("question", "answers"),
    [("Who teaches Year 5?", True), ("Who teaches Year 6?", False), ("Who likes Year 5 best?", False)],
)
def test_the_row_of_the_person_with_the_value_named_answers_without_the_verb(question: str, answers: bool) -> None:
    staff = table("staff.md", "Name: Ms Brook; class: Year 3", "Name: Mrs Dowd; class: Year 5")
    found = chosen_of(question, [staff], (0.02, 0.53), 0.37)
    assert found == (["Name: Mrs Dowd; class: Year 5"] if answers else [])


async def test_what_is_lacking_may_be_for_what_another_column_holds() -> None:
    """The column `line (Mbit/s)` says what the fallback is for."""
    lines = table(
        "sites.csv", "site: Leith; line (Mbit/s): 50; fallback: none", "site: Crail; line (Mbit/s): 80; fallback: LTE"
    )
    assert (
        await answer("Which sites have no fallback for their line?", lines)
        == "site: Leith; line (Mbit/s): 50; fallback: none"
    )
