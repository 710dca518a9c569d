"""Questions to the notes of engineers: names of a table's first column, releases, decisions, runbooks."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.questions.types import Kind
from graphtide.streams.model_ports import ContextPassage
from tests.unit.infra.answers.notes import answer, chosen_of, note, table

TOPICS = table(
    "topics.csv", "topic: orders; owner: Checkout; partitions: 24", "topic: page-views; owner: Web; partitions: 48"
)
RELEASES = (
    note("notes.md", "- writer: fixes the wrong hour in file names", headings=["Notes", "2.8.1 (2026-07-14)"]),
    note("notes.md", "- gateway: metrics on port 9102", headings=["Notes", "2.8.0 (2026-06-30)"]),
)


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("How many partitions does the topic orders have?", True),
        ("How many partitions does the topic clicks have?", False),
        ("What does the topic clicks contain?", False),
        ("Who owns the topic clicks?", False),
        ("How many partitions has the topic that is owned by Web?", True),
        ("Which is the topic with most partitions?", True),
        ("How many partitions does each topic have?", True),
        ("How large is the topic today?", True),
        ("Who is the owner responsible?", True),
    ],
)
def test_rows_of_a_table_without_the_one_named_answer_nothing(question: str, answers: bool) -> None:
    assert bool(chosen_of(question, [TOPICS], (0.6, 0.3), 0.05)) is answers


def test_a_table_that_names_it_elsewhere_is_not_without_it() -> None:
    rows = table("topics.csv", "topic: web.clicks; note: clicks of users", "topic: orders; note: none")
    assert chosen_of("What does the topic clicks contain?", [rows], (0.6, 0.1), 0.05)


@pytest.mark.parametrize(
    ("label", "answers"),
    [
        ("Tech lead: Priya Raman", False),
        ("Product manager: Priya Raman", True),
        ("Product lead: Priya Raman", True),
        ("Priya Raman is responsible for all of it", True),
    ],
)
def test_another_role_of_its_kind_is_not_the_one_asked_for(label: str, answers: bool) -> None:
    owners = [note("readme.md", label, headings=["Owners"])]
    assert bool(chosen_of("Who is the product manager of ingest?", owners, (0.9,), 0.05)) is answers


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("When was 2.8.1 released?", "2.8.1 (2026-07-14): writer: fixes the wrong hour in file names"),
        ("When did 2.8.0 come out?", "2.8.0 (2026-06-30): gateway: metrics on port 9102"),
        ("Which release fixed the file names?", "2.8.1 (2026-07-14): writer: fixes the wrong hour in file names"),
    ],
)
async def test_the_heading_of_a_release_has_its_number_and_its_date(question: str, found: str) -> None:
    assert await answer(question, *RELEASES) == found


def test_a_release_that_the_notes_do_not_have_was_not_released() -> None:
    assert not chosen_of("When was 2.7.9 released?", RELEASES, (0.2, 0.1), 0.7)
    assert chosen_of("When was 2.8.0 released?", RELEASES, (0.1, 0.05), 0.85) == ["gateway: metrics on port 9102"]


def decision(number: int, status: str) -> ContextPassage:
    return table(f"adr-{number}.md", f"title: ADR {number}, format; status: {status}; author: Ana")


async def test_the_status_of_a_document_is_that_of_its_front_matter() -> None:
    notes = (decision(7, "accepted"), decision(9, "deferred"), note("adr-7.md", "Iceberg is postponed, see ADR 9."))
    assert "deferred" in await answer("What is the status of ADR 9?", *notes)


@pytest.mark.parametrize(
    ("question", "how"),
    [
        ("What do I do if the bucket is full?", True),
        ("What should we do when it fails?", True),
        ("What to do in an emergency?", True),
        ("What do we do?", False),
        ("What does she do when it rains?", False),
        ("What do you sell?", False),
    ],
)
def test_what_to_do_on_an_occasion_asks_how(question: str, how: bool) -> None:
    assert plan_of(question).how is how


def test_a_remark_after_the_name_of_what_was_rejected_is_the_reason() -> None:
    notes = [note("adr.md", "Rejected: ORC (no support in our tool), Avro (slow)."), note("b.md", "ORC is a format.")]
    assert plan_of("Why was ORC rejected?").kind is Kind.REASON
    assert chosen_of("Why was ORC rejected?", notes, (0.5, 0.01), 0.47) == [
        "Rejected: ORC (no support in our tool), Avro (slow)."
    ]
