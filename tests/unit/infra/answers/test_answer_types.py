"""Answers of the generator without a model, for each type of question, over invented notes."""

from __future__ import annotations

import pytest

from graphtide.graph.text.place import PassageKind
from graphtide.infra.models.local.answers.matching.expressed import labels_person
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.questions.types import Kind
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.answers.values.quantities import has_count, numbers_before
from graphtide.infra.models.local.answers.words import key_of
from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.support.growth import grows_linearly
from tests.unit.infra.answers.notes import BAKERY, answer, note, table


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("Who is the head baker?", "Ilse Kamp is the head baker."),
        ("Who built the stone oven?", "built by Radek Molnar"),
        ("Where does the key to the flour store hang?", "hangs behind the till"),
        ("How long does the small oven need to heat up?", "45 minutes"),
        ("How much does a walnut loaf cost?", "price_eur: 5.10"),
        ("How heavy is a spelt roll?", "weight: 70 g"),
        ("When is the walnut loaf baked?", "baked on: Saturday"),
        ("Which is heavier, the rye loaf or the walnut loaf?", "weight: 1 kg"),
        ("Who replaces Petra Lang until 9 June?", "Tomasz replaces her"),
        ("When was the stone oven built?", "1998"),
        ("What every visitor must do?", "wear a cap"),
    ],
)
async def test_answer_holds_the_value_when_one_passage_states_it(question: str, part: str) -> None:
    """The type of the question selects the sentence or the row with a value of that type."""
    assert part in await answer(question, *BAKERY)


@pytest.mark.parametrize(
    ("question", "absent"),
    [
        ("How much does a walnut loaf cost?", "4.20"),
        ("How heavy is a spelt roll?", "1 kg"),
        ("How long does the small oven need to heat up?", "310"),
    ],
)
async def test_answer_leaves_out_the_neighbouring_row(question: str, absent: str) -> None:
    assert absent not in await answer(question, *BAKERY)


@pytest.mark.parametrize(
    "question",
    [
        "What is the telephone number of Ilse Kamp?",
        "How much does Tomasz Wrona earn?",
        "Why did Radek Molnar leave the bakery?",
        "Who is the captain of the ferry?",
        "Can the stone oven be controlled by an app?",
        "How many visitors fell ill in 2022?",
        "How much does a poppy seed cake cost?",
    ],
)
async def test_question_is_refused_when_nothing_supports_an_answer(question: str) -> None:
    """Shared words are no support: the names, the relation and a value of the type must be there."""
    assert await answer(question, *BAKERY) == NOTHING_FITS


async def test_pronoun_brings_the_previous_sentence_along() -> None:
    """A sentence that opens with a pronoun has no meaning alone."""
    given = await answer("What temperature does the stone oven reach?", *BAKERY)
    assert given.startswith("The stone oven was built by Radek Molnar in 1998. It reaches 310")


async def test_list_has_all_items_below_the_heading_that_is_asked() -> None:
    given = await answer("What every visitor must do?", *BAKERY)
    assert all(item in given for item in ("wash your hands", "wear a cap", "no rings"))


async def test_all_rows_are_quoted_when_they_answer_alike() -> None:
    """Rows of one table that have the same words of the question answer together."""
    shifts = table(
        "shifts.csv", "name: Ada Bell; desk: north", "name: Bo Crane; desk: south", "name: Cy Dorn; desk: north"
    )
    given = await answer("Who sits at the north desk?", shifts)
    assert "Ada Bell" in given
    assert "Cy Dorn" in given
    assert "Bo Crane" not in given


async def test_two_steps_are_joined_by_a_name() -> None:
    """One passage names who is described, the other states what is asked of that person."""
    mail = note("mail.txt", "We have recalled the batch of 3 May.", title="Recall", headings=("Mail from Nora Quist",))
    people = table(
        "people.csv", "name: Olaf Berg; role: buyer; extension: 210", "name: Nora Quist; role: chemist; extension: 245"
    )
    given = await answer("What is the extension of the chemist who recalled the batch of 3 May?", mail, people)
    assert "245" in given
    assert "210" not in given


async def test_heading_comes_along_when_it_holds_the_date() -> None:
    notes = note("log.md", "The new pump was installed.", title="Log", headings=("14 August 2023",))
    other = note("log.md", "The filter was cleaned.", title="Log", headings=("2 July 2023",))
    assert (await answer("When was the new pump installed?", notes, other)).startswith("14 August 2023: The new pump")


async def test_other_day_is_no_answer() -> None:
    """A value of another day than the question names is not quoted."""
    first = note("a.md", "Water at the weir: 9.1 °C.", title="Field day", date="2024-04-04")
    assert await answer("What was the water temperature at the weir on 9 May 2024?", first) == NOTHING_FITS


async def test_extreme_value_selects_one_row() -> None:
    """The greatest or least number of the column that the question names, or of years for an age."""
    trees = table("trees.csv", "tree: Topaz; planted: 2009; yield: 52 kg", "tree: Boskoop; planted: 1987; yield: 74 kg")
    assert await answer("Which tree had the highest yield?", trees) == "tree: Boskoop; planted: 1987; yield: 74 kg"
    assert await answer("Which tree had the lowest yield?", trees) == "tree: Topaz; planted: 2009; yield: 52 kg"


async def test_open_items_are_told_from_finished_ones() -> None:
    items = note("fair.md", "Done: rent the hall", "To do: print the posters", headings=("Action items",))
    assert await answer("What are the open action items?", items) == "To do: print the posters"
    assert await answer("Which action items are done?", items) == "Done: rent the hall"


async def test_record_of_labels_answers_as_a_row() -> None:
    """Lines of a record belong together: the state selects it, and its other fields come along."""
    fields = ("id: T-{}", "title: {}", "status: {}", "opened: 2025-03-20", "assignee: {}")
    open_one = note(
        "t.jsonl#1",
        *(field.format(value) for field, value in zip(fields, ("1", "Leak", "open", "", "Bo Lind"), strict=True)),
        title="Leak",
    )
    closed = note(
        "t.jsonl#2",
        *(field.format(value) for field, value in zip(fields, ("2", "Noise", "closed", "", "Ada Bell"), strict=True)),
        title="Noise",
    )
    assert "Ada Bell" not in (given := await answer("Which tickets are open?", open_one, closed))
    assert "title: Leak" in given


async def test_first_name_stands_for_the_full_name() -> None:
    """Unless another surname follows it."""
    own = note("a.md", "Ingrid leaves at the end of May. Her successor is Yusuf Demir.")
    other = note("b.md", "Ingrid Falk leaves at the end of May. Her successor is Nora Quist.")
    assert "Yusuf Demir" in await answer("Who succeeds Ingrid Solheim?", own)
    assert await answer("Who succeeds Ingrid Solheim?", other) == NOTHING_FITS


@pytest.mark.parametrize(
    "question",
    [
        "How many prizes did Ilse Kamp win?",
        "What is the password of the head baker?",
        "Who trained Tomasz Wrona?",
        "How old is Ilse Kamp?",
    ],
)
async def test_question_is_refused_when_its_main_word_is_missing(question: str) -> None:
    """Require what is counted, the attribute and the verb; a name alone is not enough."""
    assert await answer(question, *BAKERY) == NOTHING_FITS


async def test_person_of_the_sentence_before_comes_along() -> None:
    team = note("teams.md", "Milo Brandt leads the payments team. The team owns the settlement job.")
    assert (await answer("Who leads the team that owns the settlement job?", team)).startswith("Milo Brandt")


async def test_sum_without_a_currency_is_an_amount_of_money() -> None:
    """But not a number that counts something."""
    budget = note("b.md", "We have spent 118,000 so far. We printed 2,300 posters.")
    assert "118,000" in await answer("How much have we spent?", budget)
    assert "2,300" not in await answer("How much have we spent?", budget)


async def test_extreme_value_may_be_negative() -> None:
    books = table(
        "books.csv", "account: Topaz; balance: -€4", "account: Onyx; balance: €2", "account: Opal; balance: €7"
    )
    assert await answer("Which account had the lowest balance?", books) == "account: Topaz; balance: -€4"
    assert await answer("Which account had the highest balance?", books) == "account: Opal; balance: €7"


def test_names_beside_words_of_the_question_are_found_in_linear_time() -> None:
    """A code block, which is one unit whatever its length, alternates both, a comma between."""
    plan = plan_of("Who leads the pump team?")

    def score(text: str) -> AnswerEvidence:
        units = units_of([note("a.md", text, kind=PassageKind.CODE)])
        return score_units(plan, units, [0.0] * len(units))

    grows_linearly(score, "Ana, and, pump, ")


def test_title_with_a_full_stop_ends_no_sentence() -> None:
    """The question after "Dr." would ask for a thing, and its first word would be no name."""
    plan = plan_of("How much does Dr. Lang earn?")
    assert (plan.kind, plan.measures) == (Kind.QUANTITY, frozenset({"money"}))
    assert [term.text for term in plan.terms if term.hard] == ["Lang"]


@pytest.mark.parametrize("part", ["a/b@c ", "more than ", "20,000 euros, not 25,000 ", "either or "])
def test_plan_of_a_question_is_made_in_linear_time(part: str) -> None:
    """Words of a limit without a number, and numbers without such a word, are read once."""
    grows_linearly(plan_of, part)


async def test_name_beside_the_role_is_preferred_to_a_name_further_away() -> None:
    """A name counts for a role only where no punctuation is between them, before it or after it."""
    far = note("a.md", "Kira Voss greeted us, and later, over tea, we spoke of the pump team leader.")
    for own in ("Milo Brandt now leads the pump team.", "The pump team leader is now Milo Brandt."):
        assert "Milo Brandt" in await answer("Who leads the pump team?", far, note("b.md", own))


async def test_a_count_beside_a_date_is_a_count() -> None:
    text = "The app stays until the end of January: the 64 kiosks get new screens in April."
    assert "64 kiosks" in await answer("How many kiosks are there?", note("mail.txt", text))


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("What is Bo Lind's email address?", "name: Bo Lind; email: bo@example.org"),
        ("What is the ferry booking number?", "item: ferry; booking: PL7X2Q"),
    ],
)
async def test_an_attribute_needs_no_word_that_its_name_implies(question: str, row: str) -> None:
    other = "name: Ana Ruiz; address: 4 Mill Lane"
    assert row in await answer(question, table("list.csv", row, other))


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("A driver must be 21 or older.", True),
        ("A walker of 67 had slipped.", True),
        ("Correction: he was 76, I mistyped.", True),
        ("Drivers aged 65 have a medical.", True),
        ("A rope of 60 m is on board.", False),
        ("The driver has badge 21.", False),
        ("He was 76 km from home.", False),
    ],
)
def test_age_is_a_number_with_the_form_of_one(text: str, fits: bool) -> None:
    units = units_of([note("a.md", text)])
    evidence = score_units(plan_of("How old is the driver?"), units, [0.0])
    assert evidence.scored[0].fits is fits


@pytest.mark.parametrize(
    ("text", "labels"), [("Handler: Tess.", True), ("Handler: at the gate.", False), ("Kennel: Tess.", False)]
)
def test_name_behind_a_label_of_the_question_is_that_of_a_person(text: str, labels: bool) -> None:
    """Also if nothing else says that it is a name."""
    [unit] = units_of([note("a.md", text)])
    assert labels_person(plan_of("Who is Fenn's handler?"), unit) is labels


def test_number_of_the_thing_itself_is_no_sum() -> None:
    units = units_of([table("cars.csv", "car: 15; built: by Brush", "car: 15; price: 900")])
    evidence = score_units(plan_of("How much did car 15 cost?"), units, [0.0] * len(units))
    assert [one.fits for one in evidence.scored] == [False, True]


async def test_person_who_handled_a_case_is_in_the_column_for_agents() -> None:
    rows = ("id: 7715; customer: Greta Lind; subject: no app; agent: Paula Brandt", "id: 7716; customer: Rolf Ams")
    text = await answer("Who handled the ticket of Greta Lind?", table("tickets.jsonl", *rows, title="tickets"))
    assert "agent: Paula Brandt" in text


async def test_question_of_the_notes_gives_way_to_its_answer() -> None:
    notes = (
        note("week41.md", "To do: May we send the V600 manual before the launch? (Paula asks)"),
        note("week44.md", "We may send the V600 manual to installers only."),
    )
    assert (
        await answer("To whom may we send the V600 manual?", *notes)
        == "We may send the V600 manual to installers only."
    )


@pytest.mark.parametrize(("word", "on_day"), [("by", True), ("before", True), ("on", False)])
def test_day_that_is_a_limit_does_not_exclude_other_days(word: str, on_day: bool) -> None:
    units = units_of([note("report.txt", "Of 412 heaters 298 were replaced.", date="2025-10-21")])
    evidence = score_units(plan_of(f"How many heaters were replaced {word} 20 October 2025?"), units, [0.0])
    assert evidence.scored[0].on_day is on_day


async def test_short_sentence_with_a_pronoun_comes_with_the_one_before() -> None:
    text = await answer(
        "Which probes should we not buy again?", note("drill.txt", "Probes: the blue ones bend. Don't buy them again.")
    )
    assert text == "Probes: the blue ones bend. Don't buy them again."


@pytest.mark.parametrize(
    ("question", "text", "fits"),
    [
        ("Who pays for the subtitles?", "The subtitles are paid by the Film Institute.", True),
        ("Who pays for the subtitles?", "The subtitles are written by the Film Institute.", False),
        ("Why did Simone cancel?", "Simone has cancelled (a shoot in Malta).", True),
        ("Why did Simone cancel?", "Simone has cancelled (12 March).", False),
        ("Why did Simone cancel?", "Simone has cancelled.", False),
    ],
)
def test_doer_and_reason_are_behind_the_verb(question: str, text: str, fits: bool) -> None:
    units = units_of([note("a.md", text), note("b.md", "the film institute")])
    assert score_units(plan_of(question), units, [0.0] * len(units)).scored[0].fits is fits


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("Who replaces Simone Weir in the jury?", "takes her place"),
        ("Which film won the Golden Herring?", "went to"),
        ("How long will the mayor speak?", "five minutes"),
        ("How long did the mayor speak in 2024?", "24 minutes"),
        ("Who submitted Wind Blues?", "applicant: Ole Dahl"),
    ],
)
async def test_other_words_of_the_same_deed_are_quoted(question: str, part: str) -> None:
    notes = (
        note("jury.md", "Jury: Anders Holt, Simone Weir.", date="2026-02-11"),
        note("change.md", "Simone Weir has cancelled. Tomas Geary takes her place in the jury.", date="2026-03-18"),
        note("prizes.md", "The Golden Herring went to The Last Ferry. The film was sold out."),
        note("mayor.md", "Mayor: will speak for five minutes."),
        note("report.md", "The mayor spoke for 24 minutes in 2024."),
        table("submissions.jsonl", "title: Wind Blues; applicant: Ole Dahl", "title: Bread; applicant: Nino Kav"),
    )
    assert part in await answer(question, *notes)


@pytest.mark.parametrize(
    ("text", "covers"),
    [("The cup went to Hanne Moe.", True), ("Hanne Moe went to London.", False), ("The cup went to pieces.", False)],
)
def test_prize_that_goes_to_a_name_is_won(text: str, covers: bool) -> None:
    units = units_of([note("a.md", text)])
    evidence = score_units(plan_of("Who won the cup?"), units, [0.0])
    at = [term.text for term in evidence.plan.terms].index("won")
    assert (evidence.scored[0].covers[at] > 0.0) is covers


@pytest.mark.parametrize(
    ("question", "fits"),
    [
        ("When will the pine be felled?", False),
        ("When did the pine arrive?", True),
        ("When was the pine received?", True),
    ],
)
def test_column_of_what_was_done_dates_nothing_to_come(question: str, fits: bool) -> None:
    units = units_of([table("trees.csv", "tree: pine; received: 2011-05-14; bed: A4")])
    assert score_units(plan_of(question), units, [0.0]).scored[0].fits is fits


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("On 3 May 64 kiosks opened.", {"64"}), ("1,130 kiosks", {"1130"}), ("Two kiosks", set()), ("B14 kiosks", set())],
)
def test_numbers_before_a_word_are_those_in_figures(text: str, numbers: set[str]) -> None:
    assert numbers_before(key_of("kiosks"), text) == numbers


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("They were set by Nell in 1936.", False),
        ("Since 1936 they mark the way.", False),
        ("There are 88 of them.", True),
        ("It has 1936 seats.", True),
        ("In 1936 she set 88 of them.", True),
    ],
)
def test_a_year_counts_nothing(text: str, counts: bool) -> None:
    assert has_count(text) is counts
