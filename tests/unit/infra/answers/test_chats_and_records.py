"""Answers beside the unit that has the words of the question: the reply in a chat, the fields below a name, the line
above a role, what a day's heading dates.
"""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.answers.choosing.rendering import rendered
from graphtide.infra.models.local.answers.choosing.selection import answer_by_rules
from graphtide.infra.models.local.answers.matching.contradiction import without_contradicted
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.questions.types import Kind
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.streams.model_ports import ContextPassage
from tests.unit.infra.answers.notes import answer, chosen_of, note, table

CHAT = note(
    "chat.txt",
    "[2026-06-11 17:22] sunniva: one eel had a tag, number 7731. Who do we tell?",
    "[2026-06-11 17:40] bettina: Colin Adie at Glasgow, he runs it",
    "[2026-06-12 09:15] jonas: net B has a hole. Otter.",
)
PROBE = note(
    "calibration.txt", "Probe Cyclops, serial T-1190", "owner: us\n\ncalibration: 9 April, by Aoife Lynn\n\nerror: 5 %"
)
SIGNED = note(
    "mail.txt", "Please bring the list.", "Kind regards", "Mina Petrova", "Secretary to Dr Sethi", "0117 496 0513"
)


def evidence_of(question: str, *notes: ContextPassage) -> AnswerEvidence:
    units = units_of(notes)
    return score_units(plan_of(question), units, [0.0] * len(units))


def quoted(question: str, passage: ContextPassage, text: str) -> str:
    """Return what is quoted if the unit with this text is chosen."""
    evidence = evidence_of(question, passage)
    chosen = [one for one in evidence.scored if text in one.unit.text]
    return " ".join(one.text for one in rendered(evidence, chosen[:1]))


def test_a_question_at_the_end_of_a_message_brings_the_reply() -> None:
    assert "Colin Adie" in quoted("Who has to know of the tagged eel?", CHAT, "number 7731")
    assert "Colin Adie" not in quoted("What is the number of the tag?", CHAT, "number 7731")
    assert "Colin Adie" not in quoted("When was the eel tagged?", CHAT, "number 7731")


def test_the_reply_is_to_a_question_before_the_chosen_sentence_too() -> None:
    chat = note(
        "chat.txt",
        "14/04/2026, 18:30 - Ruta: Who takes over the firing? I am in Riga. Sorry.",
        "14/04/2026, 18:41 - Odo: I do it",
    )
    for text in ("takes over", "Riga", "Sorry"):
        assert quoted("Who takes over the firing?", chat, text).endswith("Odo: I do it") is (text != "Sorry")


def test_a_day_at_the_beginning_of_paragraphs_dates_them() -> None:
    diary = note("kiln.md", "28 March. Thermocouple in. Good.", "11 April. Elements came.", date="2026-05-01")
    assert [one.date for one in units_of([diary])][-1] == (2026, 4, 11)
    assert quoted("When did the elements come?", diary, "came") == "11 April: Elements came."


def test_a_word_alone_after_what_happened_may_be_its_reason() -> None:
    assert quoted("What made the hole in net B?", CHAT, "has a hole").endswith("Otter.")
    assert not quoted("Which net has a hole?", CHAT, "has a hole").endswith("Otter.")


def test_a_line_that_names_a_record_brings_the_fields_below_it() -> None:
    assert "Aoife Lynn" in quoted("Who calibrated the probe Cyclops?", PROBE, "serial")
    assert "Aoife Lynn" not in quoted("Which serial has the probe Cyclops?", PROBE, "serial")


def test_a_role_in_a_signature_is_of_the_name_above_it() -> None:
    shares = (0.0, 0.0, 0.0, 0.08, 0.0)
    assert chosen_of("Who is Dr Sethi's secretary?", [SIGNED], shares, 0.9) == ["Secretary to Dr Sethi"]
    assert quoted("Who is Dr Sethi's secretary?", SIGNED, "Secretary").startswith("Mina Petrova")
    assert not chosen_of("Who is Dr Hallam's secretary?", [SIGNED], shares, 0.9)


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("When does Bettina return from her sabbatical?", [1]),
        ("When does Bettina's sabbatical begin?", [0, 1]),
        ("When is Bettina's sabbatical?", [0, 1]),
    ],
)
def test_a_beginning_dates_no_end(question: str, left: list[int]) -> None:
    notes = note(
        "m.md", "Bettina takes her sabbatical from September. Sunniva will chair until she is back in March 2027."
    )
    found = without_contradicted(evidence_of(question, notes), Relevance({0: 0.5, 1: 0.4}, 0.1, {0: 0.5, 1: 0.4}))
    assert sorted(found.units) == left


def test_a_sentence_about_another_code_is_left_out() -> None:
    notes = [note("a.md", "H3: stage 0.62 m, discharge 4.8."), note("b.md", "H1: ice on the river.")]
    relevance = Relevance({0: 0.6, 1: 0.2}, 0.2, {0: 0.6, 1: 0.2})
    assert sorted(without_contradicted(evidence_of("What was the discharge at H1?", *notes), relevance).units) == [1]
    assert sorted(without_contradicted(evidence_of("What was the discharge at H3?", *notes), relevance).units) == [0]


def test_a_correction_of_a_day_replaces_what_was_stated_of_it() -> None:
    first = note("log.md", "H3: discharge 17.1 m.", headings=["11 February 2026"], date="2026-02-11")
    later = note(
        "log.md", "Correction to 11 February: the discharge was 16.4 m.", headings=["22 April 2026"], date="2026-04-22"
    )
    question = "What was the discharge on 11 February?"
    assert "16.4" in chosen_of(question, [first, later], (0.8, 0.1), 0.1)[0]
    other = note(
        "log.md", "Correction to 12 February: the discharge was 16.4 m.", headings=["22 April 2026"], date="2026-04-22"
    )
    assert "17.1" in chosen_of(question, [first, other], (0.8, 0.1), 0.1)[0]


def test_the_day_above_an_entry_with_a_time_dates_it() -> None:
    entry = note("diary.txt", "Fire alarm 14:20, burnt toast.", headings=["Thursday 3 September"])
    assert quoted("When was the fire alarm?", entry, "Fire").startswith("Thursday 3 September: ")
    assert quoted("At what time was the fire alarm?", entry, "Fire").startswith("Fire")


async def test_how_long_has_is_answered_by_since_when() -> None:
    rows = table("list.md", "place: 2; name: Henrik Aas; since: January 2023", "place: 3; name: Bo Ek; since: May 2023")
    assert "January 2023" in await answer("How long has Henrik Aas been on the list?", rows)


async def test_absent_are_those_who_send_apologies() -> None:
    minutes = note(
        "m.md", "Present: Ana Lund, Bo Ek", "Apologies: Hugh Penhale", headings=["3 March 2026"], date="2026-03-03"
    )
    assert "Hugh Penhale" in await answer("Who was absent on 3 March?", minutes)


@pytest.mark.parametrize(
    ("question", "measures"),
    [
        ("How much did H5 drift?", frozenset[str]()),
        ("How much did the roof cost?", frozenset({"money"})),
        ("How much did the society raise?", frozenset({"money"})),
    ],
)
def test_how_much_something_changes_is_no_sum(question: str, measures: frozenset[str]) -> None:
    plan = plan_of(question)
    assert (plan.kind, plan.measures) == (Kind.QUANTITY, measures)


@pytest.mark.parametrize(
    ("question", "text", "has"),
    [
        ("How much is the pension?", "Pension 912 a month.", True),
        ("How much is the invoice of Lenz?", "The invoice of Lenz is 513.", True),
        ("How much did Lenz want?", "Two offers: Lenz 780 with fitting.", True),
        ("How much is the invoice of Lenz?", "The invoice of Lenz has 513 lines.", False),
        ("How much is the invoice of Lenz?", "The invoice of Lenz came on 12 May.", False),
        ("How much is the invoice of Lenz?", "The invoice of Lenz is of 2025.", False),
        ("How much is the invoice of Lenz?", "The invoice came. Lenz is 51.", False),
    ],
)
def test_a_sum_may_lack_the_currency(question: str, text: str, has: bool) -> None:
    [found, *_] = evidence_of(question, note("money.md", text)).scored
    assert found.fits is has


def test_a_request_answers_what_is_wanted() -> None:
    mail = note(
        "m.txt", "I was in Bath by the 24th. Can you send the trailer by the 24th?", headings=["Mail from Jo Tarr"]
    )
    request, other = evidence_of("What does Jo want by the 24th?", mail).scored[::-1]
    assert request.unit.requests and request.score > other.score
    request, other = evidence_of("What does Jo do on the 24th?", mail).scored[::-1]
    assert request.score < other.score


def test_a_denial_in_a_chat_replaces_what_is_still_asked_for() -> None:
    chat = note(
        "chat.txt",
        "20/05/2026, 19:05 - Carmen: the bus leaves from the gym",
        "20/05/2026, 21:17 - Jamal: from the gym still?",
        "20/05/2026, 21:18 - Carmen: no, from the church",
    )
    found = chosen_of("Where does the bus leave from?", [chat], (0.8, 0.05, 0.1), 0.05)
    assert "from the church" in found[-1] and not any("leaves from the gym" in text for text in found)
    other = note(
        "chat.txt",
        "08/09/2026, 19:05 - Carmen: the catalogue goes live on 28 Sept",
        "08/09/2026, 21:17 - Jamal: is Friday still fine for the test?",
        "08/09/2026, 21:18 - Carmen: no, the 25th",
    )
    assert "28 Sept" in chosen_of("When does the catalogue go live?", [other], (0.8, 0.05, 0.1), 0.05)[0]
    shorter = note("chat.txt", *chat.text.split("\n\n")[:2], "20/05/2026, 21:18 - Carmen: yes, from the gym")
    assert "leaves from the gym" in chosen_of("Where does the bus leave from?", [shorter], (0.8, 0.05, 0.1), 0.05)[0]


def test_a_correction_in_a_chat_replaces_an_earlier_message() -> None:
    chat = note(
        "chat.txt",
        "08/09/2026, 09:12 - Birgit: the catalogue goes live on 21 Sept",
        "08/09/2026, 11:40 - Birgit: correction: the catalogue goes live on 28 Sept",
    )
    assert "28 Sept" in chosen_of("When does the catalogue go live?", [chat], (0.8, 0.15), 0.05)[0]


def test_a_long_row_is_quoted_without_its_longest_cells() -> None:
    text = "Steps: enter the name with umlauts, press login and wait until the error is shown on the screen " * 3
    rows = table("jira.csv", f"Summary: Login fails; Key: PAY-88; Assignee: Ada Obi; Description: {text}")
    shown = quoted("Who works on PAY-88?", rows, "PAY-88")
    assert "Ada Obi" in shown and "umlauts" not in shown
    assert "umlauts" in quoted("What is the description of PAY-88?", rows, "PAY-88")


BUS = note(
    "chat.txt",
    "[03/05/2026, 18:12] Dawn: Does anyone know when the coach to Crag House leaves?",
    "[03/05/2026, 18:20] Ben: 8:15 from the church car park, not from school!",
    "[04/05/2026, 07:55] Samir: hoodies are £18 each",
)


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        ("When does the coach to Crag House leave?", True),
        ("Where does the coach to Crag House leave?", True),
        ("Where does the coach to Marwick Farm leave?", False),
        ("Who drives the coach to Crag House?", False),
        ("How much is the coach to Crag House?", False),
    ],
)
def test_a_message_that_asks_all_of_it_is_answered_by_its_reply_whatever_the_probabilities(
    question: str, answered: bool
) -> None:
    found = chosen_of(question, [BUS], (0.03, 0.1, 0.0), 0.7)
    assert bool(found) is answered


@pytest.mark.parametrize("reply", ["no idea", "ask at the office", "When does it leave for Marwick?"])
def test_a_reply_without_a_date_does_not_say_when(reply: str) -> None:
    chat = note("chat.txt", "[18:12] Dawn: When does the coach to Crag House leave?", f"[18:20] Ben: {reply}")
    assert not chosen_of("When does the coach to Crag House leave?", [chat], (0.03, 0.1), 0.7)


def test_where_is_not_answered_by_a_reply_that_names_no_place() -> None:
    chat = note("chat.txt", "[18:12] Dawn: When does the coach to Crag House leave?", "[18:20] Ben: 8:15 sharp")
    assert not chosen_of("Where does the coach to Crag House leave?", [chat], (0.03, 0.1), 0.7)


@pytest.mark.parametrize(
    ("later", "holds"),
    [
        ("[05/05/2026, 09:00] Ben: the coach to Crag House leaves at 8:45 now, sorry", False),
        ("[05/05/2026, 09:00] Ben: the coach to Marwick leaves at 8:45 now", True),
        ("[05/05/2026, 09:00] Ben: who is on the coach to Crag House that leaves?", True),
    ],
)
def test_a_reply_that_a_later_message_corrects_is_not_taken_without_the_models(later: str, holds: bool) -> None:
    chat = note("chat.txt", *BUS.text.split("\n\n")[:2], later)
    stated = answer_by_rules(evidence_of("When does the coach to Crag House leave?", chat)).is_stated
    assert stated is holds


def test_an_earlier_question_with_a_reply_answers_where_the_last_one_has_none() -> None:
    again = "[06/05/2026, 10:00] Lucy: When does the coach to Crag House leave?"
    chat = note("chat.txt", *BUS.text.split("\n\n")[:2], again, "[06/05/2026, 10:05] Ben: see above")
    found = chosen_of("When does the coach to Crag House leave?", [chat], (0.03, 0.1), 0.7)
    assert found == ["[03/05/2026, 18:12] Dawn: Does anyone know when the coach to Crag House leaves?"]


MINUTES = (
    note(
        "pta.txt",
        "The climbing frame failed its inspection. A new one costs £6,400.",
        "Decided: repair now, and save for a new one.",
        headings=["2. Playground"],
    ),
    note("pta.txt", "The fair is on 4 July.", "Agreed: no tombola.", headings=["3. Summer fair"]),
)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What was decided about the climbing frame?", ["Decided: repair now, and save for a new one."]),
        ("What was agreed about the summer fair?", ["Agreed: no tombola."]),
        ("What does a new climbing frame cost?", ["A new one costs £6,400."]),
    ],
)
def test_what_was_decided_is_in_the_line_that_says_so_below_what_names_the_matter(
    question: str, found: list[str]
) -> None:
    assert chosen_of(question, MINUTES, (0.6, 0.1, 0.2), 0.05) == found


def test_a_decision_that_later_minutes_correct_is_not_taken_without_the_models() -> None:
    first = note("april.md", "The climbing frame rusts.", "Decided: repair now.", headings=["Frame"], date="2026-04-23")
    later = note("may.md", "The climbing frame is no longer repaired, we buy a new one.", date="2026-05-23")
    question = "What was decided about the climbing frame?"
    assert answer_by_rules(evidence_of(question, first)).is_stated
    assert not answer_by_rules(evidence_of(question, first, later)).is_stated


@pytest.mark.parametrize("question", ["When does Femke come back?", "When is Femke back?", "When will Femke return?"])
def test_who_is_away_until_a_day_comes_back_then(question: str) -> None:
    evidence = evidence_of(question, note("news.md", "Femke is on parental leave until 1 September."))
    assert evidence.scored[0].coverage > 0.8
