"""Questions worded as people talk, over notes of a rowing club: contractions, phrasal verbs, comparisons, open tasks,
values put right, and short sentences that need the one beside them.
"""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.questions.limits import options_of
from graphtide.infra.models.local.answers.values.quantities import has_quantity
from graphtide.infra.models.local.answers.words import keys_of
from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import answer, note, table

CLUB = (
    note("rules.md", "Never row under the weir: the current runs too fast there.", title="Rules"),
    note("order.md", "We chose Halvard Boats even though the price is higher, as Sundby wanted cash.", title="Order"),
    note("crew.txt", "Oars: Lene Aas", "Trailer: Odd Vik", "Kitchen: Siri Moe", title="Crew"),
    note("season.md", "The opening regatta moves to 9 May.", title="Season", date="2026-02-01"),
    note("mail.md", "The balance is due four weeks before you open.", title="Mail", date="2026-03-01"),
    note("hours.md", "Building work is allowed on weekdays from 8:00 to 18:00.", title="House rules"),
    note("loans.md", "Oars are lent to other clubs for a fortnight at most.", title="Loans"),
    note("shell.md", "The Arrow 8 is no longer made. The yard offers the Swift 8 instead.", title="New boat"),
    note("talk.md", "Talk about the jetty. Odd prefers oak, Lene prefers larch.", title="Site talk"),
    note("fee.md", "The mooring fee is £96 a night.", title="Harbour", date="2026-01-01"),
    note("fee-2.md", "Please note that the fee per night is £104 rather than £96.", title="Harbour", date="2026-02-01"),
    note("races.jsonl#1", "Silver Mile, won by Odd Vik. Two days, loss of 310 pounds.", title="Race 1"),
    note("races.jsonl#2", "Fjord Cup, won by Siri Moe. Three days, surplus of 500 pounds.", title="Race 2"),
    note(
        "meeting.md", "To do: paint the shed", "Done: sell the old boat", headings=["Meeting in March"], lead_in="Tasks"
    ),
    note("shed.md", "The opening of the shed in March drew a crowd at the meeting.", title="Shed"),
)
ITEMS = (
    table("trophies.csv", "id: T1; name: silver trophy cup; where: hall; worth_eur: 80", title="trophies.csv"),
    table("trophies.csv", "id: T2; name: bronze oar; where: hall; worth_eur: 300", title="trophies.csv"),
    table("trophies.csv", "id: T3; name: glass trophy bowl; where: bar; worth_eur: 45", title="trophies.csv"),
)


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("Why shouldn't we row under the weir?", "too fast"),
        ("Why couldn\u2019t we go with Sundby?", "wanted cash"),
        ("Who looks after the trailer?", "Odd Vik"),
        ("When do we open?", "9 May"),
        ("How long can another club borrow oars?", "fortnight"),
        ("What about the Arrow 8, is it still made?", "Swift 8"),
        ("What was said in the talk about the jetty?", "larch"),
        ("How much is the mooring fee a night?", "104"),
        ("Which of our races lost money?", "Silver Mile"),
        ("What is still open from the meeting in March?", "paint the shed"),
    ],
)
async def test_natural_question_is_answered(question: str, part: str) -> None:
    assert part in await answer(question, *CLUB)


async def test_time_that_recurs_does_not_date_what_happened_once() -> None:
    """A word of another form ("building") does not make opening hours the answer to "when was it built"."""
    assert await answer("When was the house built?", *CLUB) == NOTHING_FITS
    assert "weekdays" in await answer("When is building work allowed?", *CLUB)


async def test_greatest_value_is_looked_for_in_all_rows_of_a_table_named_after_them() -> None:
    """The row with the greatest value need not repeat the name of the table."""
    given = await answer("What is the most valuable trophy?", *ITEMS)
    assert "T2" in given
    assert "T1" not in given


async def test_two_names_that_a_question_compares_are_both_quoted() -> None:
    given = await answer("Did the Fjord Cup make more pounds than the Silver Mile?", *CLUB)
    assert "500" in given
    assert "310" in given


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Did the Salt Cup sell more tickets than Moth and Star?", ({"salt", "cup"}, {"moth", "star"})),
        ("Is it more than enough?", ()),
        ("Which boat is longer than Arrow?", ()),
    ],
)
def test_sides_of_a_comparison(question: str, sides: tuple[set[str], ...]) -> None:
    assert options_of(question)[0] == sides


def test_phrasal_verb_counts_as_the_plain_verb() -> None:
    assert keys_of("postpone") <= keys_of("The race was put off until May.")
    assert not keys_of("postpone") & keys_of("The lid was put on top.")


def test_contracted_auxiliaries_and_reflexives_are_no_content() -> None:
    assert keys_of("Why couldn't she hurt herself?") == keys_of("hurt")


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("Could you tell me who looks after the trailer?", "Odd Vik"),
        ("Hi, does anyone know why we shouldn't row under the weir?", "too fast"),
        ("How come we didn't go with Sundby?", "wanted cash"),
        ("What is wrong with the gate?", "sticks"),
        ("May I get a refund for a permit?", "money back"),
    ],
)
async def test_indirect_question_is_answered_as_the_direct_one(question: str, part: str) -> None:
    gate = note("gate.md", "The gate sticks in the frame.", title="Gate")
    permits = note("permits.md", "You cannot get your money back for a permit.", title="Permits")
    assert part in await answer(question, *CLUB, gate, permits)


def test_duration_may_have_a_word_before_its_unit() -> None:
    duration = frozenset({"duration"})
    for text in ("up to three consecutive days", "5 business days", "12 paid weeks"):
        assert has_quantity(text, duration)
    for text in ("four small boats", "in room 5, next days", "at 8 on days", "7 things"):
        assert not has_quantity(text, duration)


def test_rate_is_no_duration() -> None:
    duration = frozenset({"duration"})
    assert has_quantity("It lasts a night.", duration)
    assert not has_quantity("It costs 96 pounds a night, or £35 a week.", duration)


FIELDS = (
    table("fields.csv", "field: 7; area_m2: 80; kind: meadow", title="fields.csv"),
    table("fields.csv", "field: 9; area_m2: 120; kind: meadow", title="fields.csv"),
    table("fields.csv", "field: 40; area_m2: 70; kind: marsh", title="fields.csv"),
)


async def test_superlative_is_read_in_the_column_of_its_measure() -> None:
    """The largest field has the greatest area, not the greatest number as its name."""
    given = await answer("What is the largest field?", note("log.md", "The field 7 and field 40 are flooded."), *FIELDS)
    assert "field: 9" in given
    assert "field: 40" not in given


async def test_highest_goes_with_the_column_that_is_named_and_not_with_heights() -> None:
    """ "Highest" is no measure of its own: a column of heights has nothing to do with the highest yield."""
    mills = (
        table("mills.csv", "mill: A; hub_height_m: 120; yield: 70", title="mills.csv"),
        table("mills.csv", "mill: B; hub_height_m: 90; yield: 95", title="mills.csv"),
    )
    assert "mill: B" in await answer("Which mill had the highest yield?", *mills)


async def test_what_is_not_done_is_what_is_open() -> None:
    jobs = note("jobs.md", "To do: test the gas tank", "Done: mow the lawn", headings=["Jobs of March"])
    given = await answer("Which jobs of March are not done yet?", jobs, *CLUB)
    assert "gas tank" in given
    assert "lawn" not in given


async def test_cause_of_something_else_in_the_passage_is_no_reason() -> None:
    """The verb of the question is three sentences away."""
    notes = note(
        "desk.md", "Guests pay before they leave.", "Ring twice.", "Then Petra opens the shop, because it is hers."
    )
    assert await answer("Why did Petra leave the shop?", notes) == NOTHING_FITS
