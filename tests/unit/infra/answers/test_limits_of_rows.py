"""Rows that a bound, a negation or a superlative selects, in the answers of the rules alone."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.questions.bounds import bound_of
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.questions.terms import MAX_TERMS
from graphtide.infra.models.local.answers.questions.types import Bound, Kind
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.answers.thesaurus import synonyms_of
from graphtide.infra.models.local.answers.values.amounts import StatedAmount, amount_of, comparable
from graphtide.infra.models.local.answers.words import key_of
from graphtide.infra.models.local.english.lexical.text import sentences_of
from graphtide.infra.models.local.english.lexical.words import ABBREVIATIONS, BEFORE_NUMBERS, HONORIFICS, word_set
from tests.unit.infra.answers.notes import answer, chosen_of, note, table

GUESTS = table(
    "b.csv",
    "guest: Ann; city: Leeds; paid: yes",
    "guest: Bob; city: York; paid: no",
    "guest: Cid; city: Leeds; paid: no",
    title="Guests",
)
TOOLS = table(
    "c.csv",
    "tool: drill; price: £1,200; weight: 3.5 kg; bought: 2021-05-03",
    "tool: saw; price: £950; weight: 12 kg; bought: 2019-11-30",
    "tool: vice; price: £80; weight: 9 kg; bought: 2020-02-01",
    title="Tools",
)
ROOMS = table(
    "r.csv",
    "room: cellar; temperature: 4 °C",
    "room: attic; temperature: 31 °C",
    "room: kitchen; temperature: 19 °C",
    title="Rooms",
)
MEMBERS = table("m.csv", "member: Ann; age: 34", "member: Bob; age: 29", "member: Cid; age: 41", title="Members")
STAFF = table("p.csv", "name: Ann; salary: 31,000", "name: Bob; salary: 42,500", "name: Cid; salary: 28,750")


MONTHS = word_set("jan feb mar apr jun jul aug sep sept oct nov dec")


def firsts(text: str) -> list[str]:
    """Return the first values of the rows in an answer."""
    return [word.rstrip(";") for before, word in zip(text.split(), text.split()[1:], strict=False) if before in NAMES]


NAMES = ("guest:", "tool:", "room:", "member:", "name:", "loan:")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which guests do not live in Leeds?", ["Bob"]),
        ("Which guests have not paid?", ["Bob", "Cid"]),
        ("How many guests have not paid?", ["Bob", "Cid"]),
        ("How many guests have paid?", ["Ann"]),
        ("Which guests in Leeds have not paid?", ["Cid"]),
    ],
)
async def test_a_negation_is_of_the_column_that_the_question_names(question: str, expected: list[str]) -> None:
    """A "no" in another column denies nothing."""
    assert firsts(await answer(question, GUESTS)) == expected


def test_a_row_with_the_denied_value_is_no_answer_however_probable() -> None:
    """The models see no difference between the rows; the others of the table answer."""
    chosen = chosen_of("Which guests do not live in Leeds?", [GUESTS], [0.1, 0.1, 0.8], 0.0)
    assert chosen == ["guest: Bob; city: York; paid: no"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which tools cost no more than £950?", ["saw", "vice"]),
        ("Which tools do not cost more than £950?", ["saw", "vice"]),
        ("Which tools cost at least £950?", ["drill", "saw"]),
        ("Which tools cost at most £950?", ["saw", "vice"]),
        ("Which tools cost up to £950?", ["saw", "vice"]),
        ("Which tools cost £950 or less?", ["saw", "vice"]),
        ("Which tools cost £950 or more?", ["drill", "saw"]),
        ("Which tools cost less than £950?", ["vice"]),
        ("Which tools cost more than £100 but less than £1,000?", ["saw"]),
        ("Which tools cost under £1k?", ["saw", "vice"]),
        ("Which tools are heavier than 5 kg?", ["saw", "vice"]),
        ("Which tools are heavier than 5000 g?", ["saw", "vice"]),
        ("Which tools were bought before 2020?", ["saw"]),
        ("Which tools were bought after 2020?", ["drill"]),
        ("Which tools were bought since 2020?", ["drill", "vice"]),
        ("Which tools were bought before March 2020?", ["saw", "vice"]),
        ("Which tools were bought after 1 February 2020?", ["drill"]),
        ("Which tools were not bought before 2020?", ["drill", "vice"]),
    ],
)
async def test_a_bound_selects_the_rows_within_it(question: str, expected: list[str]) -> None:
    """Limits may be included, denied, two, or moments."""
    assert firsts(await answer(question, TOOLS)) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who earns less than 30,000?", ["Cid"]),
        ("Who earns more than 30,000?", ["Ann", "Bob"]),
        ("Who earns more than 50,000?", []),
    ],
)
async def test_no_row_beyond_the_bound_answers(question: str, expected: list[str]) -> None:
    """Without a row within the bound, nothing answers."""
    assert firsts(await answer(question, STAFF)) == expected
    assert [text[6:9] for text in chosen_of(question, [STAFF], [0.9, 0.0, 0.1], 0.0)] == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which members are older than 30?", ["Ann", "Cid"]),
        ("Which members are younger than 35?", ["Ann", "Bob"]),
        ("Which member is the youngest?", ["Bob"]),
        ("Who is the oldest member?", ["Cid"]),
        ("Which room is the coldest?", ["cellar"]),
        ("Which room is the warmest?", ["attic"]),
        ("Which rooms are colder than 20 °C?", ["cellar", "kitchen"]),
        ("Which tool is the lightest?", ["drill"]),
        ("Which tool is the heaviest?", ["saw"]),
    ],
)
async def test_an_adjective_of_either_pole_finds_its_measure(question: str, expected: list[str]) -> None:
    """Both "coldest" and "hottest" are about a temperature."""
    assert firsts(await answer(question, MEMBERS, ROOMS, TOOLS)) == expected


async def test_numbers_with_units_of_one_measure_are_converted() -> None:
    """0.8 t is more than 12 kg, and 3,5% less than 4.1%."""
    tools = table("u.csv", "tool: saw; weight: 12 kg", "tool: lathe; weight: 0.8 t", title="Tools")
    loans = table("l.csv", "loan: L1; rate: 3,5%", "loan: L2; rate: 4.1%", "loan: L3; rate: 10%", title="Loans")
    assert firsts(await answer("Which tool is the heaviest?", tools)) == ["lathe"]
    assert firsts(await answer("Which loan has the highest rate?", loans)) == ["L3"]
    assert firsts(await answer("Which loan has the lowest rate?", loans)) == ["L1"]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("12 kg", StatedAmount(12, "kg")),
        ("12kg (dry)", StatedAmount(12, "kg")),
        ("£1,200", StatedAmount(1200, "£")),
        ("£1.2m", StatedAmount(1_200_000, "£")),
        ("3,5%", StatedAmount(3.5, "%")),
        ("1'234'567", StatedAmount(1_234_567)),
        ("\u22124 °C", StatedAmount(-4, "°c")),
        ("3rd", None),
        ("10:30", None),
        ("12-15", None),
        ("3.1.2", None),
        ("3,50000", None),
        ("about 3", None),
    ],
)
def test_the_amount_of_a_cell_has_its_unit(text: str, amount: StatedAmount | None) -> None:
    """A comma is deleted before three digits only; times and ranges are no amounts."""
    assert amount_of(text) == amount


def test_amounts_without_a_common_measure_are_not_compared() -> None:
    """Words that are no known units count as none."""
    assert comparable([StatedAmount(1, "kg"), StatedAmount(500, "g"), None]) == [1.0, 0.5, None]
    assert comparable([StatedAmount(1, "kg")], "g") == [1000.0]
    assert comparable([StatedAmount(1, "£"), StatedAmount(2, "€")]) == [None, None]
    assert comparable([StatedAmount(1, "kg"), StatedAmount(2, "stone")]) == [None, None]
    assert comparable([StatedAmount(1, "box"), StatedAmount(2, "bags")]) == [1, 2]
    assert comparable([StatedAmount(1), StatedAmount(2, "kg")]) == [1, 2]


@pytest.mark.parametrize(
    ("question", "bound"),
    [
        ("which cost more than 7", Bound(low=7)),
        ("which cost no fewer than 7", Bound(low=7, with_low=True)),
        ("which took over 7 but at most 9 hours", Bound(low=7, high=9, with_high=True, unit="hours")),
        ("which opened no later than 2020", Bound(high=20209999, with_high=True, dated=True)),
        ("which opened after 2020-03-01", Bound(low=20200301, dated=True)),
        ("who has been a member since 2015", None),
        ("which opened before 9", None),
    ],
)
def test_the_bound_of_a_question(question: str, bound: Bound | None) -> None:
    """A denied bound includes the value, in the other direction."""
    assert bound_of(question.split()) == bound


def test_a_question_of_many_words_has_a_plan_of_few_terms() -> None:
    """Names and codes are kept; "how far" a thousand times is one loop."""
    plan = plan_of(f"Which {' '.join(f'word{chr(97 + n % 26)}{chr(97 + n // 26)}' for n in range(200))} did Ole paint?")
    assert len(plan.terms) == MAX_TERMS
    assert key_of("Ole") in plan.keys
    assert plan_of("how far " * 1024).kind is Kind.QUANTITY


@pytest.mark.parametrize(
    "text",
    [
        "We meet in Rm. 4B at 9.",
        "The valve takes max. 6 bar.",
        "Bring tools, e.g. Allen keys.",
        "Ask the boss, i.e. Tom.",
        "Leave min. 2 metres.",
        "Send it to Apt. 12 in Leeds.",
        "Ask Sgt. Miller.",
        "Open 9 a.m. Monday to 5 p.m. Friday.",
        "See fig. B for details.",
        "Call ext. Three for help.",
        "See fig. A, B and C for details.",
        "Ask for Mr. B. Okonjo.",
        "The letter is by A. Ruiz.",
    ],
)
def test_an_abbreviation_ends_no_sentence(text: str) -> None:
    """Its full stop is part of the word."""
    assert len(list(sentences_of(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "It takes 5 min. Then stop.",
        "We start at 9 a.m. Bring keys.",
        "It has 6 bar at max. Then stop.",
        "The answer is no. Ana asked twice.",
        "We sell nuts, figs. I like them.",
        "Bring nails, screws, etc. Ana brings glue.",
        "See fig. A. Next comes the pump.",
        "Parts are in fig. B. The pump is red.",
        "We meet in Room A. Ana has the key.",
    ],
)
def test_an_abbreviation_before_a_new_sentence_ends_one(text: str) -> None:
    """A capitalised word that is no day follows."""
    assert len(list(sentences_of(text))) == 2


@pytest.mark.parametrize("place", ["fig. A", "Rm. C", "plan B", "Appendix I"])
def test_a_letter_that_numbers_something_ends_a_sentence(place: str) -> None:
    """A unit ends there, too; an initial before a name ends none."""
    texts = [f"The pump is in {place}.", "Next comes the valve.", "We asked T. Okonjo."]
    assert [unit.text for unit in units_of([note("pump.md", " ".join(texts))])] == texts


@pytest.mark.parametrize("word", sorted(ABBREVIATIONS - HONORIFICS - MONTHS))
def test_no_sentence_ends_after_a_word_that_something_follows(word: str) -> None:
    """Neither before a name nor before a number or a word in small letters."""
    for following in ("Leeds", "VAT", "40 euros", "coffee"):
        assert len(list(sentences_of(f"The price was stated {word}. {following} in the letter."))) == 1


@pytest.mark.parametrize("word", sorted(BEFORE_NUMBERS))
def test_a_sentence_ends_after_a_word_that_only_numbers_follow(word: str) -> None:
    """Numbers in figures and in words, and single letters; any other capitalised word begins a sentence."""
    for following, sentences in (("4B", 1), ("Six", 1), ("B", 1), ("12", 1), ("Leeds", 2), ("I", 2), ("A", 2)):
        assert len(list(sentences_of(f"We read of the {word}. {following} is known."))) == sentences


def test_one_who_does_something_is_named_by_a_verb_only() -> None:
    """A suffix alone makes no word for a person."""
    assert key_of("driver") in synonyms_of("drives")
    assert key_of("corn") not in synonyms_of("corner")
    assert key_of("flow") not in synonyms_of("flower")
    assert key_of("leeder") not in synonyms_of("Leeds")
    assert key_of("lessor") not in synonyms_of("less")


@pytest.mark.parametrize(
    ("text", "question", "is_answered"),
    [
        ("The lift isn't repaired yet. The heating was repaired on Friday.", "When was the lift repaired?", False),
        ("The lift isn't repaired yet. The heating was repaired on Friday.", "When was the heating repaired?", True),
        ("The lift isn't repaired yet. It will be repaired on Friday.", "When will the lift be repaired?", True),
        ("The heating was repaired on Friday.", "When was the pump repaired?", False),
        ("5 March: Fell in the bathroom.", "When did mum fall?", True),
    ],
)
async def test_the_deed_of_another_subject_does_not_answer(text: str, question: str, is_answered: bool) -> None:
    """Neither a verb alone nor the subject of a denying sentence supports an answer."""
    assert ("Nothing in" not in await answer(question, note("a.md", text, title="House"))) == is_answered


def test_the_sentence_after_a_denying_one_is_not_about_its_subject_however_probable() -> None:
    """The models read both sentences together."""
    notes = [note("a.md", "The lift isn't repaired yet. The heating was repaired on Friday.", title="House")]
    assert chosen_of("When was the lift repaired?", notes, [0.1, 0.8], 0.1) == []
