"""The date that a document states of itself in a line of its head."""

from __future__ import annotations

import pytest

from graphtide.infra.documents.description import describe
from graphtide.infra.documents.stated_dates import FIRST_LINES, HEAD_LINES, stated_date
from graphtide.streams.model_ports import MARKDOWN, PLAIN
from tests.support.growth import grows_linearly

MAIL = "From: Ada Bell\nTo: Bo Crane\nDate: {}\nSubject: The weir\n\nIt broke on 2 May 1954.\n"


@pytest.mark.parametrize(
    "line",
    [
        "Date: 2026-05-12",
        "- Date: 2026-05-12",
        "* **Date:** 12 May 2026",
        "**Date**: May 12, 2026",
        "| Date | 2026-05-12 |",
        "Date: Tuesday, 12 May 2026, 10:00",
        "date of the meeting: 12th of May 2026",
        "12 May 2026",
        "*Tuesday, 12 May 2026*",
        "Leeds, 12 May 2026",
        "*As of 12 May 2026, A. Bell*",
    ],
)
def test_line_of_the_head_dates_the_document(line: str) -> None:
    text = f"# Weir inspection\n\n{line}\n\nThe last one was on 3 March 2020.\n"
    assert stated_date(text) == "2026-05-12"
    assert describe(text, MARKDOWN).occurred_at == "2026-05-12"


@pytest.mark.parametrize(
    "line",
    [
        "Due date: 2026-05-12",
        "Date: to be decided",
        "Date: May 2026",
        "Date: 2026-02-31",
        "Date of birth: 2026-05-12",
        "On 12 May 2026 it broke.",
        "It is due on Tuesday, 12 May 2026",
        "The lease ends on 12 May 2026.",
        "1. The market moves to Corn Square as of 12 May 2026;",
        "| Date | Amount |",
    ],
)
def test_other_lines_date_nothing(line: str) -> None:
    """A due date, a month, a day that does not exist, or a day in a sentence is not the document's date."""
    assert stated_date(f"# Weir inspection\n\n{line}\n\nDone.\n") == ""


def test_entries_of_a_diary_date_nothing() -> None:
    """Lines that are dates alone begin entries where there are several, or where much text comes before."""
    assert stated_date("12 May 2026\nRain.\n\n13 May 2026\nSun.\n") == ""
    assert stated_date("Rehearsals\n\n12 May 2026\nFirst time.\n\n14 May\nSecond time.\n") == ""
    assert stated_date("Note.\n" * FIRST_LINES + "12 May 2026\n") == ""


def test_title_may_date_the_document() -> None:
    assert stated_date("# Weekly sync, 12 May 2026\n\nPresent: Ada.\n") == "2026-05-12"
    assert stated_date("# Plan of 12 May 2026, revised\n\nPresent: Ada.\n") == ""


def test_only_the_head_counts() -> None:
    assert stated_date("# Notes\n\n## Friday\n\nDate: 2026-05-12\n") == ""
    assert stated_date("Note.\n" * HEAD_LINES + "Date: 2026-05-12\n") == ""
    assert stated_date("# Headers\n\n```\nDate: Tue, 12 May 2026 08:00:00 GMT\n```\n") == ""


@pytest.mark.parametrize("date", ["12 May 2026", "Tue, 12 May 2026", "2026-05-12", "Tue, 12 May 2026 08:00:00 +0200"])
def test_mail_is_of_the_day_in_its_header_with_or_without_a_time(date: str) -> None:
    """Saved mails often have the day alone, which is no date of RFC 5322."""
    assert describe(MAIL.format(date), PLAIN).occurred_at == "2026-05-12"


def test_front_matter_dates_the_document_whatever_its_lines_say() -> None:
    assert describe("---\ndate: 2026-05-12\n---\n# A\n\nDate: 2020-01-01\n", MARKDOWN).occurred_at == "2026-05-12"


@pytest.mark.parametrize("part", ["Date: ", "1 May 2026 ", "1 May 2026\n", "**", "# ", " ", "\ud800"])
def test_work_is_in_proportion_to_the_length(part: str) -> None:
    grows_linearly(stated_date, part)


def test_value_of_a_date_is_short() -> None:
    assert stated_date("Date: " + "1 May 2026 " * 5) == "2026-05-01"
    assert stated_date("Date: " + "1 May 2026 " * 10) == ""
