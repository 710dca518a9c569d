"""The choice between what rules find and what the probabilities of the models say."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from graphtide.infra.models.local.answers.choosing.by_score import select
from graphtide.infra.models.local.answers.choosing.selection import (
    RuleAnswer,
    answer_by_relevance,
    answer_by_rules,
)
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.relevance import (
    ALIKE,
    MAX_PARTS,
    NO_PART,
    PART,
    PART_OF_SEVERAL,
    UNANSWERED,
    UNANSWERED_AGREED,
    UNANSWERED_PARTLY,
    UNANSWERED_STATED,
)
from graphtide.infra.models.local.answers.segmentation import units_of
from tests.unit.infra.answers.notes import chosen_of, note, table

NAMES = ("Ana", "Bo", "Cai", "Dee")
SEVERAL, ONE = "Which people crossed the strait?", "When was the strait crossed?"


def evidence_of(question: str) -> AnswerEvidence:
    units = units_of([note(f"{name}.md", f"{name} sailed over.") for name in NAMES])
    return score_units(plan_of(question), units, [0.0] * len(units))


def names_chosen(
    question: str,
    units: Mapping[int, float],
    parts: Mapping[int, float] | None = None,
    none: float = 0.0,
    rules: tuple[int, ...] = (),
    covers_most: bool = False,
) -> list[str]:
    """Return whom the answer quotes, given probabilities by place, and the places that the rules choose."""
    evidence = evidence_of(question)
    relevance = Relevance(dict(units), none, dict.fromkeys(units, 0.0) | dict(parts or {}))
    by_rules = RuleAnswer([evidence.scored[place] for place in rules], covers_most)
    chosen = answer_by_relevance(evidence, relevance, by_rules)
    return [scored.unit.text.split()[0] for scored in chosen]


def test_the_rules_find_nothing_here() -> None:
    """So what the tests below choose is chosen by probabilities."""
    assert not answer_by_rules(evidence_of(SEVERAL)).chosen
    assert not answer_by_rules(evidence_of(ONE)).chosen


def test_units_that_are_parts_are_quoted_with_the_best_one() -> None:
    units = {0: 0.2, 1: 0.5, 2: 0.1, 3: 0.2}
    parts = {0: PART, 1: 0.0, 2: PART_OF_SEVERAL, 3: PART_OF_SEVERAL - 0.01}
    assert names_chosen(ONE, units, parts) == ["Bo", "Ana"]
    assert names_chosen(SEVERAL, units, parts) == ["Bo", "Ana", "Cai"]


def test_a_list_has_each_unit_that_answers_alike() -> None:
    units = {0: 0.3, 1: 0.3 * ALIKE, 2: 0.3 * ALIKE - 0.01, 3: 0.01}
    assert names_chosen(SEVERAL, units) == ["Ana", "Bo"]
    assert names_chosen(ONE, units) == ["Ana"]


@pytest.mark.parametrize(("covers_most", "own"), [(False, 0.3), (True, 0.1)])
def test_the_rules_answer_where_their_units_are_about_as_probable(covers_most: bool, own: float) -> None:
    parts = {2: 1.0}
    assert names_chosen(ONE, {0: 0.55, 2: own}, parts, rules=(2,), covers_most=covers_most) == ["Cai"]
    assert names_chosen(ONE, {0: 0.55, 2: own / 2}, rules=(2,), covers_most=covers_most) == ["Ana"]


def test_several_sentences_of_the_rules_answer_only_where_one_of_them_is_about_as_probable() -> None:
    """Together they would be, by their number."""
    units = {0: 0.19, 1: 0.19, 2: 0.19, 3: 0.43}
    assert names_chosen(ONE, units, dict.fromkeys(units, 1.0), rules=(0, 1, 2))[0] == "Dee"
    assert names_chosen(ONE, units | {0: 0.22}, dict.fromkeys(units, 1.0), rules=(0, 1, 2)) == ["Ana", "Bo", "Cai"]
    assert names_chosen(ONE, units, dict.fromkeys(units, 1.0), rules=(0, 1)) == ["Ana", "Bo"]


def test_sentences_of_the_rules_that_are_no_part_are_left_out() -> None:
    """So an answer of many units does not agree by their number alone. A unit that was not read stays."""
    units = {0: 0.5, 1: 0.2, 2: 0.2}
    parts = {0: 0.9, 1: NO_PART, 2: NO_PART - 0.01}
    assert names_chosen(SEVERAL, units, parts, rules=(0, 1, 2, 3)) == ["Ana", "Bo", "Dee"]
    assert names_chosen(SEVERAL, units, rules=(0, 2)) == ["Ana", "Cai"]
    assert names_chosen("Did Ana or Cai sail first?", units, parts, rules=(0, 2)) == ["Ana", "Cai"]


def test_rows_of_the_rules_stay_together() -> None:
    rows = units_of([table("crew.csv", *(f"name: {name}; role: sailor" for name in NAMES))])
    evidence = score_units(plan_of(SEVERAL), rows, [0.0] * len(rows))
    relevance = Relevance({0: 0.5, 1: 0.2}, 0.0, {0: 0.9, 1: 0.0})
    assert len(answer_by_relevance(evidence, relevance, RuleAnswer(evidence.scored))) == len(NAMES)


def test_nothing_is_quoted_where_nothing_answers() -> None:
    assert names_chosen(ONE, {0: 0.3}, none=UNANSWERED, rules=(0,)) == []
    assert names_chosen(ONE, {0: 0.3}, none=UNANSWERED - 0.01, rules=(0,)) == ["Ana"]
    assert names_chosen(ONE, {0: 0.3}, none=UNANSWERED - 0.01) == []


def test_a_plain_look_up_is_refused_only_where_it_is_much_less_probable_than_no_answer() -> None:
    """A cell of the row that is named, of the type asked for. Where another unit is more probable, it is none."""
    rows = units_of([table("crew.csv", *(f"name: {name}; cabin number: 554{at}" for at, name in enumerate(NAMES)))])
    evidence = score_units(plan_of("What is Bo's cabin number?"), rows, [0.0, 1.0, 0.0, 0.0])
    by_rules = answer_by_rules(evidence)
    assert [each.unit.text for each in by_rules.chosen] == [rows[1].text]

    def answer(none: float, other: float = 0.0) -> list[str]:
        relevance = Relevance({0: other, 1: 0.15}, none, {0: 0.0, 1: 0.0})
        return [each.unit.text for each in answer_by_relevance(evidence, relevance, by_rules)]

    assert answer(UNANSWERED_AGREED - 0.01) == [rows[1].text]
    assert answer(UNANSWERED_AGREED) == []
    assert answer(UNANSWERED, other=0.2) == []


DAY = "What happened on 12 May 2026?"


def test_a_summary_of_a_day_is_of_that_day() -> None:
    """Another note may have more of the question's words."""
    notes = [
        note("weir.md", "It happened what happened. On 3 June. May be.", date="2026-06-03"),
        note("storm.md", "The weir broke. Two sheep drowned.", date="2026-05-12"),
    ]
    units = units_of(notes)
    evidence = score_units(plan_of(DAY), units, [0.0] * len(units))
    assert {each.unit.doc_id for each in select(evidence)} == {"storm.md"}


def test_a_summary_that_says_nothing_probable_is_not_taken() -> None:
    units = units_of([note("a.md", "Use this when the mode is safe."), note("b.md", "The weir broke.")])
    evidence = score_units(plan_of(DAY), units, [0.0] * len(units))
    evidence.scored[0].score = 4.0
    relevance = Relevance({0: 0.001, 1: 0.9}, 0.0, {0: 0.0, 1: 1.0})
    assert [each.unit.doc_id for each in answer_by_relevance(evidence, relevance, RuleAnswer(()))] == ["b.md"]


def test_an_answer_has_a_bounded_number_of_units() -> None:
    units = units_of([note(f"{number}.md", f"Crew {number} sailed over.") for number in range(2 * MAX_PARTS)])
    evidence = score_units(plan_of(SEVERAL), units, [0.0] * len(units))
    places = range(len(units))
    relevance = Relevance(dict.fromkeys(places, 0.01), 0.0, dict.fromkeys(places, 1.0))
    assert len(answer_by_relevance(evidence, relevance, RuleAnswer(()))) == MAX_PARTS


def test_rules_cover_no_superlative_that_they_cannot_measure() -> None:
    """Two sentences with a price each: the rules compare columns alone, so that the more probable one answers."""
    units = units_of([note("quotes.md", "Roof quote of Ana: 7 400 euros.", "Bo does the roof for 5 200 euros.")])
    evidence = score_units(plan_of("Which roof quote was the cheapest?"), units, [0.0] * len(units))
    by_rules = RuleAnswer([evidence.scored[0]], covers_most=True)
    relevance = Relevance({0: 0.2, 1: 0.7}, 0.0, {0: 0.2, 1: 0.7})
    chosen = answer_by_relevance(evidence, relevance, by_rules)
    assert chosen[0].unit is units[1]


@pytest.mark.parametrize(
    ("question", "is_answered"),
    [("Who fumigated bin 3?", True), ("Who fumigated bin 4?", False), ("Why was bin 3 fumigated?", False)],
)
def test_sentence_with_all_of_a_question_for_a_person_is_refused_last(question: str, is_answered: bool) -> None:
    units = units_of([note("minutes.txt", "Bin 3 was fumigated on 6 October by Pestaway.", "Bin 2 is full.")])
    evidence = score_units(plan_of(question), units, [0.0] * len(units))
    for none, answers in ((UNANSWERED_AGREED, is_answered), (UNANSWERED_STATED, False)):
        relevance = Relevance({0: 1 - none, 1: 0.0}, none, {0: 0.0, 1: 0.0})
        assert bool(answer_by_relevance(evidence, relevance, answer_by_rules(evidence))) is answers


@pytest.mark.parametrize(("share", "is_answered"), [(PART, True), (PART - 0.01, False)])
def test_less_certainty_refuses_where_the_rules_find_nothing_and_the_best_unit_is_no_part(
    share: float, is_answered: bool
) -> None:
    units = {0: 0.3, 1: 0.2}
    parts = {0: share, 1: 0.0}
    assert names_chosen(ONE, units, parts, none=UNANSWERED_PARTLY) == (["Ana"] if is_answered else [])
    assert names_chosen(ONE, units, parts, none=UNANSWERED_PARTLY - 0.01) == ["Ana"]
    assert names_chosen(SEVERAL, units, parts, none=UNANSWERED_PARTLY)[:1] == ["Ana"]


GAUGE = note("line.txt", "The gauge is 3 ft 6 in. The steepest gradient is 1 in 11.")


@pytest.mark.parametrize(
    ("question", "is_answered"), [("What is the gauge?", True), ("What is the loading gauge?", False)]
)
def test_sentence_that_begins_with_what_is_asked_for_is_refused_late(question: str, is_answered: bool) -> None:
    found = chosen_of(question, [GAUGE], (0.2, 0.1), UNANSWERED)
    assert found == (["The gauge is 3 ft 6 in."] if is_answered else [])


CALL = note("radio.html", "If it fails, ring the farmer, Mrs Ettrick, 01632 960 447; she presses the button.")


@pytest.mark.parametrize(
    ("question", "is_answered"),
    [("What is Mrs Ettrick's phone number?", True), ("What is Mr Dewhurst's phone number?", False)],
)
def test_number_beside_the_name_is_refused_last(question: str, is_answered: bool) -> None:
    assert bool(chosen_of(question, [CALL], (0.15,), UNANSWERED_AGREED)) is is_answered


BALLAST = "The ballast under points 5 is only 12 cm thick. It should be 20. The blade is new."


@pytest.mark.parametrize(
    ("part", "sentences"), [(PART, 2), (PART - 0.01, 1)], ids=["a probable part", "less than a part"]
)
def test_next_sentence_comes_along_if_it_depends_on_the_chosen_one(part: float, sentences: int) -> None:
    units = units_of([note("points.md", BALLAST)])
    evidence = score_units(plan_of("How thick should the ballast under points 5 be?"), units, [0.0] * len(units))
    relevance = Relevance({0: 0.5, 1: 0.45, 2: 0.0}, 0.0, {0: 0.9, 1: part, 2: 0.9})
    by_rules = RuleAnswer([evidence.scored[0]], covers_most=True)
    chosen = answer_by_relevance(evidence, relevance, by_rules)
    assert [one.unit for one in chosen] == units[:sentences]


def test_most_probable_sentence_comes_along_if_it_is_beside_the_chosen_one() -> None:
    units = units_of([note("drill.txt", "Next drill: ropes, 1 March, at the quarry. Led by Greg P.", "Bring a rope.")])
    evidence = score_units(plan_of("Who leads the drill on ropes?"), units, [0.0] * len(units))
    relevance = Relevance({0: 0.2, 1: 0.7, 2: 0.1}, 0.0, {0: 0.4, 1: 0.9, 2: 0.9})
    chosen = answer_by_relevance(evidence, relevance, RuleAnswer([evidence.scored[0]], covers_most=True))
    assert [one.unit for one in chosen] == units[:2]


def test_reason_below_a_heading_has_each_sentence_that_is_a_part() -> None:
    cause = note("car7.md", "The sand boxes were empty.", "At first we thought of the brake.", headings=("Cause",))
    question = "What was the cause of the incident with the brake?"
    assert len(chosen_of(question, [cause, note("b.md", "It rained.")], (0.7, 0.7, 0.0), 0.0)) == 2


SIGNED = note(
    "anchor.txt", "Kind regards", "Moira Teal", "Reception", "Tel. 01632 960 811", title="Mail from reservations"
)


@pytest.mark.parametrize(
    ("question", "is_answered"),
    [("What is Moira Teal's phone number?", True), ("What is Gerald Pike's phone number?", False)],
)
def test_number_in_a_signature_is_that_of_the_name_above_it(question: str, is_answered: bool) -> None:
    """Whatever the models say, which read each line alone."""
    units = units_of([SIGNED])
    evidence = score_units(plan_of(question), units, [0.0] * len(units))
    relevance = Relevance(dict.fromkeys(range(len(units)), 0.001), 0.99, dict.fromkeys(range(len(units)), 0.0))
    chosen = answer_by_relevance(evidence, relevance, answer_by_rules(evidence))
    assert bool(chosen) is is_answered
    assert [one.unit.text for one in chosen] == (["Moira Teal", "Tel. 01632 960 811"] if is_answered else [])


BEFORE = note(
    "11.md", "Opening film will be The Salt Road. A printer was found: Ashgrove, 5,000 copies.", date="2026-02-11"
)
AFTER = "{} {} Ashgrove wants more. Accepted, but only 4,500 copies."


@pytest.mark.parametrize(
    ("ended", "instead", "count"),
    [
        ("Opening film: The Salt Road is lost.", "We open with Paper Boats now.", 2),
        ("Opening film: The Salt Road is lost.", "It rained.", 1),
        ("Opening film: The Salt Road is good.", "We open with Paper Boats now.", 0),
    ],
)
def test_what_has_ended_gives_way_to_what_there_is_instead(ended: str, instead: str, count: int) -> None:
    notes = [BEFORE, note("18.md", AFTER.format(ended, instead), date="2026-03-18")]
    found = chosen_of("Which film opens the festival?", notes, (0.6, 0.0, 0.2, 0.1, 0.0, 0.0), 0.0)
    assert found == ([ended, instead][:count] or ["Opening film will be The Salt Road."])
    past = chosen_of("Which film was the opening film at first?", notes, (0.6, 0.0, 0.2, 0.1, 0.0, 0.0), 0.0)
    assert past == ["Opening film will be The Salt Road."]


def test_later_number_of_what_is_counted_replaces_the_one_before() -> None:
    """If it is said in correction, and about the same name."""
    later = AFTER.format("It rained.", "It is windy.")
    question, shares = "How many copies are printed?", (0.0, 0.9, 0.0, 0.0, 0.0, 0.1)
    for text, expected in (
        (later, "4,500"),
        (later.replace("Ashgrove", "Moss"), "5,000"),
        (later.replace("but only ", ""), "5,000"),
    ):
        [found] = chosen_of(question, [BEFORE, note("18.md", text, date="2026-03-18")], shares, 0.0)
        assert expected in found


def test_number_below_the_next_name_is_no_other_one() -> None:
    """Two names in two lines: only the one right above the number is surely that of it."""
    lines = ("Moira Teal", "Gerald Pike", "Sales Manager", "Tel. 01632 960 811")
    units = units_of([note("contacts.txt", *lines)])
    for name, answers in (("Moira Teal", False), ("Gerald Pike", True)):
        evidence = score_units(plan_of(f"What is {name}'s phone number?"), units, [0.0] * len(units))
        assert answer_by_rules(evidence).is_stated is answers


@pytest.mark.parametrize(
    ("question", "later", "is_moved"),
    [
        ("When does Quillon double its volume?", "Quillon postpones to September.", True),
        ("When does Quillon double its volume?", "Quillon moves to Leeds on 3 September.", False),
        ("When does Quillon double its volume?", "Brightmile postpones to September.", False),
    ],
)
def test_what_a_later_note_postpones_is_replaced_by_the_name_alone(question: str, later: str, is_moved: bool) -> None:
    notes = [note("a.md", "Quillon doubles its volume from July.", date="2026-06-01")]
    notes.append(note("b.md", later, date="2026-06-09"))
    assert chosen_of(question, notes, (0.8, 0.1), 0.0) == [later if is_moved else notes[0].text]


@pytest.mark.parametrize(
    ("later", "is_moved"),
    [
        ("I have to move the production upgrade to 21 June.", True),
        ("I have to move the staging upgrade to 21 June.", False),
        ("The production upgrade needs 21 minutes.", False),
    ],
)
def test_date_that_a_later_note_moves_is_replaced(later: str, is_moved: bool) -> None:
    notes = [note("a.md", "The production upgrade is planned for 14 June.", date="2026-05-28")]
    notes.append(note("b.md", later, date="2026-06-02"))
    found = chosen_of("When is the production upgrade?", notes, (0.8, 0.1), 0.0)
    assert found == [later if is_moved else "The production upgrade is planned for 14 June."]


def test_sentences_below_a_label_cover_what_the_first_one_says_of_it() -> None:
    staff = note("staff.md", "Ana Lund -- curator since 2014. Trees. Ext. 21", "Bo Ek -- office. Ext. 11")
    evidence = score_units(plan_of("What is the extension of the curator?"), units_of([staff]), [0.0] * 5)
    ranked = sorted(evidence.scored, key=lambda one: -one.score)
    assert ranked[0].unit.text == "Ext. 21"


def test_sentence_below_a_label_agrees_with_the_one_that_has_it() -> None:
    """It is quoted together with that one, which the models prefer as it has the words of the question."""
    staff = note("staff.md", "Ana Lund -- curator since 2014. Trees. Ext. 21", "Bo Ek -- office. Ext. 11")
    found = chosen_of("What is the extension of the curator?", [staff], (0.5, 0.0, 0.02, 0.0, 0.0), 0.3)
    assert found == ["Ext. 21"]


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("When is Reinbox 2.6 going to be released?", "Reinbox 2.6 goes out on 4 May.", True),
        ("When is Reinbox going to be released?", "Reinbox goes out on 4 May.", False),
        ("When does Colin Adie visit?", "Colin Adie ran the marathon on 4 May.", False),
        ("When is Reinbox 2.6 going to be released?", "Reinbox 2.6 goes out soon.", False),
        ("How many people visited Leith in 2024?", "In 2024 Leith bought 40 chairs.", False),
        ("When does the crew of Hut 7 leave?", "Hut 7 was painted on 4 May.", False),
        ("What is Reinbox 2.6 made of?", "Reinbox 2.6 goes out on 4 May.", False),
    ],
)
def test_a_unit_with_name_and_code_and_a_value_of_the_type_is_refused_late(
    question: str, text: str, found: bool
) -> None:
    """The verb may be another one. The two words of one name are not enough."""
    assert bool(chosen_of(question, [note("a.md", text)], [0.4], UNANSWERED - 0.01)) is found
    assert not chosen_of(question, [note("a.md", text)], [0.4], UNANSWERED)


PRESS = note("press.md", "The old press stays.", "A new one would cost too much.", "The belt is blue.")


def test_the_sentence_beside_the_best_one_comes_along_if_it_is_the_next_probable() -> None:
    """Two sentences of a paragraph may tell together what neither tells alone."""
    notes = [note("press.md", "The old press stays. A new one would cost too much. The belt is blue.")]
    question = "Why do we not buy another machine?"
    assert chosen_of(question, notes, [0.8, 0.1, 0.05], 0.0) == [
        "The old press stays.",
        "A new one would cost too much.",
    ]
    assert chosen_of(question, notes, [0.8, 0.05, 0.1], 0.0) == ["The old press stays."]
    assert chosen_of(question, notes, [0.8, 0.03, 0.02], 0.0) == ["The old press stays."]
    assert chosen_of(question, [PRESS], [0.8, 0.1, 0.05], 0.0) == ["The old press stays."]


SPONSORS = (
    "sponsor: Marlow; fee: 120; until: 2024-12-31; poster_paid: no",
    "sponsor: Vale; fee: 95; until: 2025-01-31; poster_paid: yes",
    "sponsor: Greenacre; fee: 40; until: 2024-12-31; poster_paid: cancelled",
    "sponsor: Hollis; fee: 60; until: 2025-06-30; poster_paid: yes",
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which sponsorships run until 31 December 2024?", ["Marlow", "Greenacre"]),
        ("Which sponsorships run until 30 June 2025?", ["Hollis"]),
        ("Which sponsors have paid the poster?", ["Vale", "Hollis"]),
        ("Which sponsors have not paid the poster?", ["Marlow"]),
        ("Which sponsors have a fee 95?", ["Vale"]),
        ("Which sponsors live in Leith?", ["Vale"]),
        ("Which sponsorships do not run until 31 December 2024?", ["Vale"]),
        ("Which sponsors from Greenacre run until 31 December 2024?", ["Greenacre"]),
        ("Which sponsors have a fee 95 or 40?", ["Vale", "Greenacre"]),
        ("Which sponsors have a fee 9?", ["Vale"]),
        ("Which sponsorships run until before 31 December 2024?", []),
    ],
)
def test_a_value_in_the_question_selects_the_rows_of_the_most_probable_table(
    question: str, expected: list[str]
) -> None:
    """A date in a column that it names, what follows the name of a column, or yes and no; else the best row answers."""
    chosen = chosen_of(question, [table("sponsors.csv", *SPONSORS)], [0.1, 0.7, 0.1, 0.1], 0.0)
    assert [text.split(";")[0].removeprefix("sponsor: ") for text in chosen] == expected


def test_how_often_is_answered_by_a_unit_that_says_it() -> None:
    notes = [note("a.md", "A rebuild takes 3 hours."), note("b.md", "Dampers: every 200 hours or once a year.")]
    question = "How often should the damper be rebuilt?"
    assert chosen_of(question, notes, [0.6, 0.3], 0.0) == ["Dampers: every 200 hours or once a year."]
    assert chosen_of(question, notes, [0.7, 0.1], 0.0) == ["A rebuild takes 3 hours."]
    assert chosen_of("How long does a rebuild take?", notes, [0.6, 0.3], 0.0) == ["A rebuild takes 3 hours."]
