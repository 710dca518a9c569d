"""Line breaks of short notes are kept, and those of wrapped text are not."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Sequence

import pytest

from graphtide.infra.documents import plain
from graphtide.infra.documents.line_breaks import are_authors
from graphtide.infra.documents.markdown.reader import read_markdown
from graphtide.infra.documents.plain import read_plain

CAT = (
    "born about June 2018, chip number 977200004411",
    "vet: Iffley Vets, Dr Rosa Lindgren, 01865 550177. Jabs every January.",
    "Half a tablet morning and evening, with food. since 3 Nov one tablet in the evening only (blood test)",
    "next blood test 8 Dec",
    "Doesn't like the basket, put it out the day before",
)
_TEXT = """the heron counted its fish before it flew over the harbour wall and Marta who keeps the light wrote the
number into a book that few people read since Anton left for Bergen in the spring of the year with the 12th storm"""
WORDS = _TEXT.split()


def prose(rng: random.Random) -> str:
    """Return sentences with names and figures in them."""
    found = []
    for _ in range(rng.randint(3, 8)):
        words = rng.choices(WORDS, k=rng.randint(8, 24))
        found.append(f"{words[0].capitalize()} {' '.join(words[1:])}.")
    return " ".join(found)


def plain_blocks(text: str) -> list[str]:
    return [block.text for block in read_plain(text).blocks]


def test_each_line_of_short_notes_is_a_block_of_its_own() -> None:
    assert plain_blocks("\n".join(CAT)) == list(CAT)


CAR = (
    "Skoda Octavia estate, reg OY68 KLT, diesel",
    "MOT due 27 Nov. Booked at Cowley Motors Wed 18 Nov 9am, leave key in box",
    "Insurance with Aviva, policy 77-4410-KB, renews 3 January, paid 412 last year",
    "Tyre pressure 2.4 front / 2.6 rear, with luggage 2.6 / 3.1",
    "Winter tyres are at Mum's garage",
)


def test_lines_of_markdown_are_kept_if_each_begins_with_a_capital() -> None:
    """Manuals break their lines anywhere: before a link, and before a name."""
    assert [block.text for block in read_markdown("\n".join(CAR)).blocks] == list(CAR)
    linked = (*CAR[:2], "[Insurance](insurance.md) with Aviva", *CAR[3:])
    assert len(read_markdown("\n".join(linked)).blocks) == 1


def test_a_definition_stays_with_its_term_in_markdown() -> None:
    text = "Batten\n: the strip that holds the sail\nCleat\n: what the rope is made fast to, and a long remark"
    assert not any(block.text.startswith(":") for block in read_markdown(text).blocks)


def test_a_paragraph_with_a_sentence_a_line_is_one() -> None:
    lines = ("Poetry resolves first.", "It needs a lock file for that.", "Commit it.", "Others then install the same.")
    assert not are_authors(lines)
    assert len(read_markdown("\n".join(lines)).blocks) == 1


@pytest.mark.parametrize("seed", range(40))
def test_wrapped_prose_reads_as_if_it_was_not_wrapped(seed: int) -> None:
    """At any width from which on lines count as wrapped."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    text = prose(rng)
    lines = textwrap.wrap(text, rng.randint(60, 110), break_on_hyphens=False)
    assert not are_authors(lines)
    assert plain_blocks("\n".join(lines)) == [text]


TO_DO = (
    "call insurance about the van (policy HM-20)",
    "book hotel Rotterdam - done, Hotel Maas, 2 rooms",
    "ask the university for the pool, 5 + 6 December",
    "contract of Tomasz until 31 January, talk about it!",
    "buy cake for Lena's birthday (27th)",
)


PLOT = (
    "rent 48 pounds a year, due on the 1st of February",
    "shed key hangs under the water butt",
    "potatoes: Charlotte in bed 1, Nicola in bed 3",
    "slug pellets are empty, buy the organic ones",
    "manure from Mrs Peake, 4 bags, paid",
)


def test_lines_in_small_letters_are_notes_though_most_are_about_as_long() -> None:
    assert plain_blocks("\n".join(PLOT)) == list(PLOT)


def test_lines_in_small_letters_are_notes_if_no_sentence_continues_beyond_one() -> None:
    assert plain_blocks("\n".join(TO_DO)) == list(TO_DO)
    assert not are_authors([*TO_DO[:4], "and buy cake for Lena's birthday"])
    assert not are_authors([*TO_DO[:3], "contract of Tomasz until the", TO_DO[4]])
    assert not are_authors([*TO_DO[:3], "contract of Tomasz, 31 January,", TO_DO[4]])


@pytest.mark.parametrize("seed", range(40))
def test_wrapped_prose_in_small_letters_is_no_list_of_notes(seed: int) -> None:
    print(f"seed {seed}")
    rng = random.Random(seed)
    text = " ".join(rng.choices(WORDS, k=rng.randint(40, 120))).lower()
    assert not are_authors(textwrap.wrap(text, rng.randint(46, 110), break_on_hyphens=False))


def test_one_line_and_none_are_no_list_of_lines() -> None:
    assert not are_authors([]) and not are_authors(["One line."])


def test_reading_headings_above_one_another_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """No heading is read with all lines below it: a file of 300,000 of them took minutes."""
    read = 0
    decide = plain._is_heading

    def counting(lines: Sequence[plain._Line], underlined: bool) -> int:
        nonlocal read
        read += len(lines)
        return decide(lines, underlined)

    monkeypatch.setattr(plain, "_is_heading", counting)
    count = 500
    assert len(plain_blocks("A\n" * count)) == count - 1
    assert read <= 2 * (count + 1)
