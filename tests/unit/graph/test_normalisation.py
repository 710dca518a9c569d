"""Label normalisation: spellings of one label, and stability of the normal form."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide.graph.resolution import normalisation
from graphtide.graph.resolution.normalisation import normalise


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("  Person \u2013 centered   Therapy ", "person-centered therapy"),
        ("Person-Centered Therapy", "person-centered therapy"),
        ("\u201cHeroes\u201d", "heroes"),
        ("``Heroes ''", "heroes"),
        ("O\u2019Connor", "o'connor"),
        ("New_York", "new york"),
        ("Stra\u00dfe", "strasse"),
        ("\uff27\uff30\uff34\uff0d\uff13", "gpt-3"),
        ("zero\u200bwidth\u202e", "zerowidth"),
        ("Apple Inc.", "apple inc"),
        ("Boston , Massachusetts,", "boston, massachusetts"),
        ("Mercury ( planet )", "mercury (planet)"),
        ("Oklahoma!", "oklahoma!"),
        ("C++", "c++"),
        (".NET", ".net"),
        ("1.355", "1.355"),
    ],
)
def test_normalise_unifies_spelling_when_only_form_differs(name: str, label: str) -> None:
    """Differences of form are removed, and differences of meaning are kept."""
    assert normalise(name) == label


@pytest.mark.parametrize(("name", "label"), [("...", "..."), (" \u2026 ", "\u2026"), ("\u200b", "\u200b"), (" \t", "")])
def test_normalise_keeps_the_stripped_original_when_nothing_else_is_left(name: str, label: str) -> None:
    """Only a blank name has the empty label."""
    assert normalise(name) == label


@given(st.text())
def test_normalise_is_idempotent_when_given_any_text(name: str) -> None:
    """A label is its own label, and is empty for a blank name only."""
    label = normalise(name)
    assert normalise(label) == label
    assert bool(label) == bool(name.strip())


@given(st.text(alphabet="aA -\u2013.,;:'`\"()[]_!\u00a0\u200d\u0301\u0345\u03a3\u1e9e\u0149", max_size=12))
def test_normalise_is_idempotent_when_punctuation_is_dense(name: str) -> None:
    """The rules for punctuation and spaces do not trigger each other."""
    assert normalise(normalise(name)) == normalise(name)


@given(st.text(alphabet="aZ9 -.'\u00df", max_size=8))
def test_plain_name_has_the_label_that_the_patterns_give(name: str) -> None:
    """Names of letters, digits and single spaces pass over them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(normalisation, "_PLAIN", re.compile("(?!)"))
        expected = normalise(name)
    assert normalise(name) == expected


def test_plain_name_is_read_by_one_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two passes over five patterns took three times as long, for most names."""
    monkeypatch.setattr(normalisation, "_one_pass", pytest.fail)
    assert normalise("Marie Curie 2") == "marie curie 2"
