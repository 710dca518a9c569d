"""Quoted document text: whatever it contains, nothing in it is a citation, a mark, a link or a tag."""

from __future__ import annotations

import random
import re

import pytest

from graphtide.graph.reports.rows import ReportFinding
from graphtide.graph.reports.subject import Report, render_report
from graphtide.graph.text.quotation import neutralise
from tests.support.hostile_text import LIVE, MARKUP

_LETTERS_AND_DIGITS = re.compile(r"\w")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It opened [2].", "It opened (2)."),
        ("It opened [1, 3][ 4 ; 5 ].", "It opened (1, 3)( 4 ; 5 )."),
        ("It opened [unsupported]. [Cut off]", "It opened (unsupported). (Cut off)"),
        ("See [the notice](https://evil.example/a).", "See [the notice] (https:/ /evil.example/a)."),
        ("![logo](//evil.example/x.png)", "![logo] (//evil.example/x.png)"),
        ("[here]: https://evil.example", "[here] : https:/ /evil.example"),
        ("[text][1](x)", "[text] (1)(x)"),
        ("<a href='x'>a</a> <!-- b -->", "< a href='x'>a< /a> < !-- b -->"),
        ("<https://evil.example>", "< https:/ /evil.example>"),
        ("visit www.evil.example", "visit www. evil.example"),
        ("It ends with [1, ", "It ends with (1, "),
        ("Anna [sic] wrote a[i] < 3, at 10:30.", "Anna [sic] wrote a[i] < 3, at 10:30."),
    ],
)
def test_text_keeps_its_words_when_marks_and_links_are_neutralised(text: str, shown: str) -> None:
    """Brackets and blanks change, words do not; text without markup stays as it is."""
    assert neutralise(text) == shown == neutralise(shown)


def test_nothing_is_markup_in_neutralised_text_whatever_its_parts() -> None:
    """Random strings of fragments of markup: no live pattern matches, words stay, and a second pass changes nothing."""
    seed = 11
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(3_000):
        text = "".join(rng.choices(MARKUP, k=rng.randint(1, 12)))
        shown = neutralise(text)
        assert not LIVE.search(shown), (text, shown)
        assert not LIVE.search(f"{shown} 2] x"), (text, shown)
        assert _LETTERS_AND_DIGITS.findall(shown) == _LETTERS_AND_DIGITS.findall(text)
        assert neutralise(shown) == shown


def test_report_cites_only_by_its_own_numbers_when_its_findings_quote_markup() -> None:
    """The numbers of a finding are those of its chunks; the document's are text."""
    findings = (
        ReportFinding("The boiler is new [2][unsupported].", ("a",)),
        ReportFinding("See [it](http://evil.example) [", ("b",)),
    )
    report = Report("t", "A [2] summary, see <a href=x>.", findings, 1.0)
    assert render_report(report, ("a", "b")).splitlines() == [
        "A (2) summary, see < a href=x>. [1][2]",
        "The boiler is new (2)(unsupported). [1]",
        "See [it] (http:/ /evil.example) ( [2]",
    ]
