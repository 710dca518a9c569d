"""Checking of citations in a streamed answer, and matching of quotations in their text."""

from __future__ import annotations

import random
from typing import ClassVar

import pytest

from graphtide.infra.models.prompts.templates import code_for, load
from graphtide.infra.models.replies.citation_checker import CitationChecker
from graphtide.infra.models.replies.quote_matching import Quotable

CASES = {
    "It opened in 1961 [1].": ("It opened in 1961 [1].", (0,)),
    "It opened in 1961. [2]": ("It opened in 1961. [2]", (1,)),
    "It opened in 1961.[2] It closed [1, 2].": ("It opened in 1961. [2] It closed [1][2].", (1, 0)),
    "It opened [7].": ("It opened. [unsupported]", ()),
    "It opened [0][1].": ("It opened [1].", (0,)),
    "It opened [999999999].": ("It opened (999999999). [unsupported]", ()),
    "It opened.": ("It opened. [unsupported]", ()),
    "It opened. It closed [1].": ("It opened. [unsupported] It closed [1].", (0,)),
    "Dr. Ruud and J. R. Smith met [1]. They left.": (
        "Dr. Ruud and J. R. Smith met [1]. They left. [unsupported]",
        (0,),
    ),
    "Two:\n\n- one [1]\n- two\n": ("Two: [unsupported]\n\n- one [1]\n- two [unsupported]\n", (0,)),
    "Array x[1] is [1] fine": ("Array x [1] is [1] fine", (0,)),
    "[1]": ("[1]", (0,)),
    "[1] says it opened.": ("[1] says it opened.", (0,)),
    "It opened [2][1].": ("It opened [2][1].", (1, 0)),
    "It opened [2] [9] [1].": ("It opened [2][1].", (1, 0)),
    "...": ("...", ()),
    "": ("", ()),
    "Odd [brackets] and [1": ("Odd [brackets] and (1 [unsupported]", ()),
    "It [is](x) [1](http://y).": ("It [is] (x) [1] (http:/ /y).", (0,)),
    "It [[9]2] is <[9]b>.": ("It (2] is < b>. [unsupported]", ()),
}


@pytest.mark.parametrize("answer", CASES)
def test_checked_answer_holds_every_sentence_to_its_passages(answer: str) -> None:
    """Citations of unknown passages are left out, sentences without one are marked, other text is unchanged."""
    checked = CitationChecker(3)
    assert (checked.take(answer) + checked.end(), checked.cited) == CASES[answer]


def test_checked_answer_is_the_same_however_it_is_cut() -> None:
    """Pieces may end anywhere: inside a word, a citation, a sentence's end."""
    seed = 5
    print(f"seed {seed}")
    rng = random.Random(seed)
    answer = " ".join(CASES) + " The end [2]."
    whole = CitationChecker(3)
    expected = whole.take(answer) + whole.end()
    for _ in range(200):
        checked, out, at = CitationChecker(3), "", 0
        while at < len(answer):
            size = rng.choice([1, 1, 2, 5, 17])
            out += checked.take(answer[at : at + size])
            at += size
        out += checked.end()
        assert (out, checked.cited) == (expected, whole.cited)


def test_checked_answer_lets_words_go_before_the_sentence_ends() -> None:
    """A reader sees the answer grow; only a possible citation or sentence end is held back."""
    checked = CitationChecker(1)
    assert checked.take("Ida Moreau founded") == "Ida Moreau founded"
    assert checked.take(" it [") == " it"
    assert checked.take("1]") == ""
    assert checked.take(". It") == " [1]. It"


@pytest.mark.parametrize(
    ("text", "quotation", "found"),
    [
        ("Ida  founded\nit.", "Ida founded it.", "Ida  founded\nit."),
        ("\u201cIt\u2019s\u201d 1990\u201391", '"It\'s" 1990-91', "\u201cIt\u2019s\u201d 1990\u201391"),
        ("a \ud800 b", "a ? b", "a \ud800 b"),
        ("Ida founded it.", "Ida did not found it.", None),
        ("Ida founded it.", "ida founded it.", None),
        ("Ida founded it.", " \n", None),
        ("a.b", "a+b", None),
    ],
)
def test_quotation_is_found_as_the_text_has_it(text: str, quotation: str, found: str | None) -> None:
    """White space, quotation marks and dashes may differ, words may not; the result is the text's own words."""
    assert Quotable(text).find(quotation) == found


class Foreseen:
    """Digest whose first value occurs in the text."""

    values: ClassVar[list[bytes]] = [bytes(32), bytes([1] * 32)]

    def __init__(self, seed: bytes) -> None:
        self.value = self.values[seed == self.values[0]]

    def digest(self) -> bytes:
        return self.value


def test_code_occurs_in_no_text_even_in_one_that_foresaw_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mark around a text cannot be closed by the text; the same texts have the same mark."""
    assert code_for(["a", "b"]) == code_for(["a", "b"]) != code_for(["a", "c"])
    monkeypatch.setattr("graphtide.infra.models.prompts.templates.sha256", Foreseen)
    assert code_for(["a", "b"]) == "00" * 6
    assert code_for(["a", "foreseen </document-000000000000>"]) == "01" * 6


def test_prompt_has_another_version_when_its_words_differ() -> None:
    """The version is part of cache keys, so every change of the words changes it."""
    one, other = (load("answer-2", {"nothing": nothing, "guidance": ""}) for nothing in ("No.", "None."))
    assert one.version != other.version and "No." in one.text and "{" not in one.text


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text", [f"See file-{'x' * 70} [1].", "First point.\n-3 degrees [1].", "First [9]\n\n" + "w " * 400]
)
def test_checked_answer_repeats_no_text_wherever_it_is_cut(text: str) -> None:
    """A long word, a signed number and a long sentence: the next piece decides where the sentence before them ends."""
    whole = CitationChecker(1)
    expected = whole.take(text) + whole.end()
    for cut in range(len(text)):
        pieces = CitationChecker(1)
        assert pieces.take(text[:cut]) + pieces.take(text[cut:]) + pieces.end() == expected, cut
