"""Short forms of notes: abbreviations, weekdays, contracted questions, pence, periods in columns, denials."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.choosing.rendering import rendered
from graphtide.infra.models.local.answers.documentation import ABOUT, prior
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.questions.types import Kind
from graphtide.infra.models.local.answers.relevance import unit_text
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.answers.values.dates import days_in, has_date
from graphtide.infra.models.local.answers.values.quantities import has_quantity
from graphtide.infra.models.local.answers.words import ABBREVIATIONS, key_of
from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import answer, note, table

LIBRARY = (
    table("desk.csv", "day: Tue; at the desk: Maren Holt", "day: Thu; at the desk: Ingo Reuss", title="Desk"),
    table(
        "courses.csv",
        "course: binding; mins: 90; room: cellar",
        "course: gilding; mins: 150; room: attic",
        title="Courses",
    ),
    table(
        "guests.csv",
        "guest: Alma Reyes; from: 2025-05-05; to: 2025-05-23; desk: 4",
        "guest: Jonas Weil; from: 2025-06-02; to: 2025-06-13; desk: 7",
        title="Visiting readers",
    ),
    note("prices.md", "A scan in colour is 35p a page.", "Late books are free for a week.", title="Prices"),
    note(
        "storm.md",
        "A shelf fell over in the map room during the storm. No injuries.",
        "Maren Holt swept up the glass.",
        title="Storm",
        date="2025-02-11",
    ),
    note("stores.md", "Solvents are in the chem. cupboard, left of the press.", title="Stores"),
    note("talk.md", "The talk about watermarks is on Tues. 18 March in the attic.", title="Talk"),
)


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("Who is at the desk on a Thursday?", "Ingo Reuss"),
        ("How long does the binding course last?", "mins: 90"),
        ("When did Alma Reyes arrive?", "2025-05-05"),
        ("When does Jonas Weil leave?", "2025-06-13"),
        ("How much is a scan in colour?", "35p"),
        ("Who was injured when the shelf fell over?", "No injuries."),
        ("Where is the chemicals cupboard?", "left of the press"),
        ("When is the talk about watermarks?", "18 March"),
    ],
)
async def test_short_form_answers_the_question_with_the_whole_word(question: str, part: str) -> None:
    assert part in await answer(question, *LIBRARY)


@pytest.mark.parametrize(
    "question",
    [
        "What's the phone number of Maren Holt?",
        "Who is at the desk on a Friday?",
        "When did Ingo Reuss arrive?",
        "Who was bitten when the shelf fell over?",
    ],
)
async def test_question_is_refused_when_only_its_form_fits(question: str) -> None:
    assert await answer(question, *LIBRARY) == NOTHING_FITS


async def test_unit_that_lacks_a_verb_alone_is_quoted_without_a_second_step() -> None:
    """ "Used" says as much as "burned": a pair of others that has the verb is about something else."""
    notes = (
        note("year.md", "In 2025 the kilns used 940 kg of wood.", "Most of it was beech.", title="Report of 2025"),
        note("kilns.md", "Wood: Vesta burns 40 kg a day, Juno 25 kg.", title="Kilns"),
        note("log.md", "In 2025 Vesta was fired 61 times and Juno 12 times.", title="Firings", date="2025-12-30"),
    )
    assert await answer("How much wood did the kilns burn in 2025?", *notes) == "In 2025 the kilns used 940 kg of wood."


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What's the last day of the fair?", Kind.DATE),
        ("What\u2019s the phone number of the inn?", Kind.QUANTITY),
        ("Who's the treasurer?", Kind.PERSON),
        ("Where's the ladder?", Kind.PLACE),
    ],
)
def test_contracted_question_has_the_kind_of_the_whole_one(question: str, kind: Kind) -> None:
    assert plan_of(question).kind is kind
    assert plan_of(question).present


def test_abbreviation_has_the_key_of_its_word() -> None:
    """Each is short for one word, which is no abbreviation itself."""
    assert key_of("Thurs") == key_of("Thursday")
    assert key_of("appts") == key_of("appointment")
    assert not ABBREVIATIONS.keys() & set(ABBREVIATIONS.values())


def test_short_weekday_is_a_date_only_as_one() -> None:
    assert has_date("day: Tue; at the desk: Maren")
    assert has_date("on Thurs 17th")
    assert not has_date("Free: Wed P1")
    assert not has_date("They wed in the hall")
    assert days_in("2 Sept. 2025") == [(2025, 9, 2)]


def test_month_in_lower_case_is_a_date_beside_a_number() -> None:
    assert has_date("feature freeze on 30 april")
    assert days_in("9 september 2026") == [(2026, 9, 9)]
    assert not has_date("there are 12 may queens")
    assert not has_date("an april shower")


def test_pence_are_money_and_no_other_number_is() -> None:
    money = frozenset({"money"})
    assert has_quantity("1.2p for each page", money)
    assert not has_quantity("page 12 of 30", money)


def test_sentence_is_not_cut_within_a_date() -> None:
    units = units_of(
        [note("talk.md", "It is put off to Tues. 10 March. We meet on Wed. The key is here.", title="Talk")]
    )
    assert [unit.text for unit in units][:2] == ["It is put off to Tues. 10 March.", "We meet on Wed."]


@pytest.mark.parametrize(
    ("text", "is_dated"),
    [
        ("buy cake for Lena's birthday (27th)", True),
        ("the glands come on the 24th.", True),
        ("from the 3rd to the 9th", True),
        ("the office is on the 3rd floor", False),
        ("the 5th tank costs less", False),
        ("the 45th.", False),
    ],
)
def test_ordinal_without_a_noun_is_a_day(text: str, is_dated: bool) -> None:
    assert has_date(text) is is_dated


@pytest.mark.parametrize("name", ["Sabine Lorch", "Greta"])
async def test_line_below_a_name_is_a_role(name: str) -> None:
    letter = note("mail.eml", "The board has not approved it.", "Kind regards", name, "Head of Water Supply, Ulm")
    assert "Head of Water Supply" in await answer(f"What is the role of {name}?", letter, *LIBRARY)


@pytest.mark.parametrize("line", ["The board has met.", "sent from my phone", "+49 731 1234", "Tel: 1234"])
async def test_other_line_below_a_name_is_no_role(line: str) -> None:
    letter = note("mail.eml", "It was not approved.", "Kind regards", "Sabine Lorch", line)
    assert await answer("What is the role of Sabine Lorch?", letter, *LIBRARY) == NOTHING_FITS


def test_headers_of_a_mail_are_less_probable_unless_one_of_them_is_asked_for() -> None:
    [header] = units_of([table("m.eml", "Mail: Release 3.4; From: Aylin; To: dev; Date: Thu, 26 Nov 2026")])
    assert prior(plan_of("What is in release 3.4?"), header) == ABOUT
    assert prior(plan_of("What is the date of the mail about release 3.4?"), header) == 0


async def test_phone_number_is_told_from_its_form() -> None:
    site = note("site.md", "Contact at the gate is Mr van Dalen, +31 10 555 0199.", "Passports have to be shown.")
    assert "555 0199" in await answer("What is Mr van Dalen's phone number?", site, *LIBRARY)


STAFF = note(
    "staff.md",
    "Amira Haddad \u2013 partner, since 2012. Small animals, dentistry. Speaks Arabic and French.",
    "L\u00facia Costa - vet. Exotic animals; works 60 %.",
    "The kiln is hot - wait. It has cooled by noon.",
)


def test_name_before_a_dash_is_what_the_rest_of_its_paragraph_is_about() -> None:
    found = {unit.text: unit for unit in units_of([STAFF])}
    languages, exotic = found["Speaks Arabic and French."], found["Exotic animals; works 60 %."]
    assert languages.label == "Amira Haddad" and exotic.label == "L\u00facia Costa"
    assert "Amira Haddad" in unit_text(languages).context
    assert languages.labelling is not None and languages.labelling.text.endswith("since 2012.")
    assert not found["It has cooled by noon."].label
    days = units_of([note("days.md", "Monday \u2013 closed. No one answers. Tuesday \u2013 open. Ring twice.")])
    assert [unit.label for unit in days] == ["", "Monday", "", "Tuesday"]
    assert [unit.labelling for unit in days[1::2]] == days[::2]


def test_sentence_without_its_subject_brings_the_one_with_the_name() -> None:
    units = units_of([STAFF])
    evidence = score_units(plan_of("Who is responsible for exotic animals?"), units, [0.0] * len(units))
    [exotic] = (scored for scored in evidence.scored if scored.unit.text.startswith("Exotic"))
    assert [quotation.text for quotation in rendered(evidence, [exotic])] == [
        "L\u00facia Costa - vet.",
        "Exotic animals; works 60 %.",
    ]


@pytest.mark.parametrize("column", ["born", "date of birth", "built"])
async def test_date_of_birth_or_making_tells_how_old_something_is(column: str) -> None:
    rows = table(
        "list.csv", *(f"name: {name}; {column}: {day}" for name, day in (("Duchess", "2017-09"), ("Elm", "2019-01")))
    )
    assert "2017-09" in await answer("How old is Duchess?", rows, *LIBRARY)


async def test_how_high_asks_for_a_sum_too() -> None:
    insured = note("insurance.md", "It pays for the vaccines, minus an excess of \u00a3150.")
    assert "150" in await answer("How high is the excess?", insured, *LIBRARY)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It was reported on 4 Nov. Meloxicam is for cats.", 2),
        ("It was reported on 4 Nov. 2026 to the office.", 1),
        ("It opens on 4 Nov. Tuesday at nine.", 1),
        ("It opens on 4 Nov. at nine.", 1),
        ("It was signed by Dr. Jan. Smith.", 1),
    ],
)
def test_short_month_after_a_day_ends_a_sentence_before_a_capital(text: str, count: int) -> None:
    assert len(units_of([note("log.md", text)])) == count
