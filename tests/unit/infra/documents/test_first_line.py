"""The title on the first line of a plain text is a heading of what follows, and remains a text itself."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from graphtide.infra.documents.plain import read_plain

BODY = "The bellows leak, and four reed pipes are cracked along their whole length."


def headings_of(text: str) -> list[tuple[str, ...]]:
    return [block.headings for block in read_plain(text).blocks]


@pytest.mark.parametrize(
    "title",
    [
        "Organ repair, St Olave's",
        "Biscuit the cat",
        "Weekly search team, 26 Oct 2026",
        "Equipment log, roastery Leith",
        "Jonas to do",
        "Batch K-118",
        "Notes (second visit)",
    ],
)
def test_title_is_the_heading_of_what_follows(title: str) -> None:
    assert headings_of(f"{title}\n\n{BODY}\n") == [(title,), (title,)]
    assert headings_of(f"{title}\nwithout a capital: {BODY}\nand a last line\n")[-1] == (title,)


def test_title_with_its_date_below_is_a_heading() -> None:
    assert headings_of(f"Organ repair\nUpdated 12 March 2026\n\n{BODY}")[-1] == ("Organ repair",)


@pytest.mark.parametrize(
    "line",
    [
        "Good morning everybody",
        "Hi all",
        "Gate code 4471",
        "Owner: Ana",
        "Write to ana@example.org",
        "We meet on Monday",
        "The boiler is broken",
        "Dentist moved to Friday",
        "Rent 950 €",
        "The bellows leak.",
        "Ask Bo. Then Ana",
        "- milk",
        "3 March: Bo arrived",
        "a note without a capital",
        "One more line that has far more words than a title of a note",
    ],
)
def test_line_that_states_something_is_no_heading(line: str) -> None:
    assert headings_of(f"{line}\n\n{BODY}\n")[-1] == ()


def test_first_of_several_short_lines_and_a_line_alone_are_no_headings() -> None:
    assert headings_of("Milk\nEggs\nBread\nButter\n") == [()] * 4
    assert headings_of("Biscuit the cat\n") == [()]


def test_wrapped_first_line_is_no_heading() -> None:
    assert headings_of("The heron on the harbour wall with all of its\nfish and its young\n") == [()]


WORDS = ("heron", "Marta", "12 March", "wall.", "the", "is", "Bergen!", "(red)", "4471", "Boat: key\n", "-\n", "\n\n")


@pytest.mark.parametrize("seed", range(40))
def test_no_word_is_lost_and_none_is_in_two_blocks(seed: int) -> None:
    """Whatever counts as a title, all words are in blocks or headings, and those of a block are not in another."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    text = " ".join(rng.choices(WORDS, k=rng.randint(1, 40)))
    blocks = read_plain(text).blocks
    places = [(block.start, block.end) for block in blocks]
    assert all(one[1] <= other[0] for one, other in pairwise(places))
    found = " ".join(word for block in blocks for part in (block.text, *block.headings) for word in part.split())
    assert {word.strip(" -:") for word in text.split()} - {""} <= {word.strip(" -:") for word in found.split()}
