"""Answers from technical documentation: instructions with their code, definitions, changes of a version."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphtide.graph.text.place import PassageKind, Place
from graphtide.infra.models.local.answers.choosing.asked_section import asked_section
from graphtide.infra.models.local.answers.choosing.selection import RuleAnswer, answer_by_relevance
from graphtide.infra.models.local.answers.documentation import (
    CHANGES,
    DATE_FIELD,
    DEFINITION,
    EXAMPLE,
    FLAG,
    INSTRUCTION,
    POINTER,
    SECTION,
    changes_of_version,
    describes_flag,
    flags_of,
    is_instruction,
    prior,
    states_flag,
)
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.relevance import relevance_of
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.answers.units import Unit
from graphtide.infra.models.local.generator import ExtractiveGenerator
from graphtide.infra.models.local.listwise.network import ListLogits
from graphtide.infra.models.local.unit_reader import probabilities
from graphtide.streams.model_ports import ContextPassage
from tests.unit.infra.answers.notes import answer, note

ABBREVIATE = "stand"
HTTP2 = ("Enabling HTTP/2",)
CLIENT = tuple(
    replace(passage, ordinal=number)
    for number, passage in enumerate(
        (
            note("h.md", "HTTP/2 is off.", "First install the optional packages:", title="Client", headings=HTTP2),
            note(
                "h.md",
                "pip install client[http2]",
                title="Client",
                headings=HTTP2,
                kind=PassageKind.CODE,
                lead_in="First install the optional packages:",
            ),
            note("h.md", "And then create a client with HTTP/2 enabled:", title="Client", headings=HTTP2),
            note(
                "h.md",
                'client = Client(http2=True)\nclient.get("https://a.org")',
                title="Client",
                headings=HTTP2,
                kind=PassageKind.CODE,
                lead_in="And then create a client with HTTP/2 enabled:",
            ),
        )
    )
)
CHANGELOG = (
    note(
        "CHANGELOG.md", "Added sockets.", "Removed the pool.", title="Changelog", headings=("2.1.0 (May 2025)", "New")
    ),
    note("CHANGELOG.md", "Fixed sockets.", title="Changelog", headings=("2.1.1 (June 2025)",)),
    note("CHANGELOG.md", "Enabled HTTP/2 with sockets by default.", title="Changelog", headings=("2.0 (May 2024)",)),
)


def evidence_of(question: str, *notes: ContextPassage) -> AnswerEvidence:
    units = units_of(notes)
    return score_units(plan_of(question), units, [0.0] * len(units))


def unit_of(text: str, **place: str | tuple[str, ...]) -> Unit:
    [unit] = units_of([note(str(place.pop("doc_id", "a.md")), text, **place)])  # type: ignore[arg-type]
    return unit


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("How do I enable HTTP/2?", True),
        ("How can we enable HTTP/2?", True),
        ("How to enable HTTP/2?", True),
        ("How much does it cost?", False),
        ("How do birds fly?", False),
        ("What enables HTTP/2?", False),
    ],
)
def test_question_asks_how_to_do_something(question: str, asks: bool) -> None:
    assert plan_of(question).how is asks


def test_code_belongs_to_the_sentence_before_it() -> None:
    """It is no unit of its own then. Code below no sentence is one."""
    units = units_of(CLIENT)
    assert [(unit.text.split()[0], unit.code.text.split()[0] if unit.code else "") for unit in units] == [
        ("HTTP/2", ""),
        ("First", "pip"),
        ("And", "client"),
    ]
    alone = note("h.md", "make", headings=HTTP2, kind=PassageKind.CODE)
    assert units_of([alone, CLIENT[0]])[0].text == "make"


def test_first_part_of_long_code_follows_the_sentence() -> None:
    """Whatever the order in which the parts were found."""
    lead = "Run it like this:"
    place = Place(kind=PassageKind.CODE, lead_in=lead)
    parts = [ContextPassage(text, "A", "a", text, place=place, ordinal=n) for n, text in enumerate(("one", "two"), 1)]
    units = units_of([parts[1], ContextPassage(lead, "A", "a", "0"), parts[0]])
    assert [(unit.text, unit.code.text if unit.code else "") for unit in units] == [("two", ""), (lead, "one")]


async def test_instruction_is_quoted_with_its_code_and_the_next_step() -> None:
    """Each has its own citation. Links are broken in code, too."""
    evidence = evidence_of("How do I enable HTTP/2?", *reversed(CLIENT))
    shares = {2: 0.6, 1: 0.3, 0: 0.1}
    chosen = answer_by_relevance(evidence, Relevance(shares, 0.0, dict.fromkeys(shares, 0.0)), RuleAnswer(()))
    assert [scored.unit.text.split()[0] for scored in chosen] == ["First", "And"]
    given = await ExtractiveGenerator().answer("How do I create a client with HTTP/2 enabled?", CLIENT)
    assert given.text == (
        "And then create a client with HTTP/2 enabled: [3]\n"
        '\n    client = Client(http2=True)\n    client.get("https:/ /a.org")\n\n[4]'
    )
    assert given.cited == (2, 3)


@pytest.mark.parametrize("code", ["first = names[0]", "x = [unsupported]"])
async def test_code_that_quotation_would_change_is_left_out(code: str) -> None:
    """An index in square brackets would be read as a citation."""
    lead = "Take the first name of the table like this:"
    notes = (note("a.md", lead), note("a.md", code, kind=PassageKind.CODE, lead_in=lead))
    assert await answer("How do I take the first name of the table?", *notes) == lead


async def test_long_code_is_cut_at_a_line() -> None:
    lead = "Configure the large server like this:"
    lines = [f"option_{n} = {n}" for n in range(60)]
    notes = (note("a.md", lead), note("a.md", "\n".join(lines), kind=PassageKind.CODE, lead_in=lead))
    given = await ExtractiveGenerator().answer("How do I configure the large server?", notes)
    quoted = [line.strip() for line in given.text.split("\n") if line.startswith("    ")]
    assert 1 < len(quoted) < len(lines) and quoted == lines[: len(quoted)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use the flag --force.", True),
        ("You can pass a path.", True),
        ("To copy files, run the tool.", True),
        ("Form encoded data is simple.", False),
        ("Is it safe to use the flag?", False),
        ("The flag was added by Bo.", False),
    ],
)
def test_instructions_are_imperatives_and_offers(text: str, expected: bool) -> None:
    assert is_instruction(unit_of(text)) is expected


@pytest.mark.parametrize(
    ("question", "unit", "expected"),
    [
        ("How do I enable HTTP/2?", unit_of("Use http2.", headings=("Enabling HTTP/2",)), INSTRUCTION + SECTION),
        ("How do I enable HTTP/2?", unit_of("Use http2.", headings=("Other",)), INSTRUCTION),
        ("How do I enable HTTP/2?", unit_of("See the guide.", headings=("Other",)), POINTER),
        ("How do I enable HTTP/2?", unit_of("For example, HTTP/2 is on."), EXAMPLE),
        ("What is a hook?", unit_of("A hook is a function."), DEFINITION),
        ("What is a hook?", unit_of("The Hook class runs code."), DEFINITION),
        ("What is ETA?", unit_of("The estimated time of arrival (ETA) is shown."), DEFINITION),
        (f"What does ETA {ABBREVIATE} for?", unit_of("It shows the estimated time (ETA)."), DEFINITION),
        ("What are event hooks?", unit_of("They run code.", headings=("Event hooks",)), DEFINITION),
        ("What are event hooks?", unit_of("They run code.", headings=("Other hooks",)), 0.0),
        ("What does the scribe do?", unit_of("The scribe writes the log."), DEFINITION),
        ("What does hub check do?", unit_of("The `check` command reads all."), DEFINITION),
        ("What does the setting jobs do?", unit_of("At once.", headings=("jobs",)), DEFINITION),
        ("What does the scribe do?", unit_of("The scribe's notes are kept."), 0.0),
        ("What does the scribe do?", unit_of("The scribe was asleep."), 0.0),
        ("What does the scribe do?", unit_of("A new scribe writes the log."), 0.0),
        ("What does the scribe do at night?", unit_of("The scribe writes the log."), 0.0),
        ("What did the scribe do?", unit_of("The scribe writes the log."), 0.0),
        ("Who owns the pump?", unit_of("See the guide: Bo owns the pump."), 0.0),
        ("Which ports are used?", unit_of("Used port 80.", doc_id="docs/CHANGELOG.md"), CHANGES),
        ("Which ports are used?", unit_of("Used port 80.", title="Release notes"), CHANGES),
        ("When was port 80 used?", unit_of("Used port 80.", doc_id="docs/CHANGELOG.md"), 0.0),
        ("Which port was added?", unit_of("Used port 80.", doc_id="docs/CHANGELOG.md"), 0.0),
    ],
)
def test_prior_of_a_unit_is_by_its_form_and_that_of_the_question(question: str, unit: Unit, expected: float) -> None:
    assert prior(plan_of(question), unit) == pytest.approx(expected)


def test_section_is_opened_by_its_first_passage_in_the_document() -> None:
    """Whatever the order in which the passages were found."""
    second = ContextPassage("They are lists.", "Hooks", "h.md", "2", ordinal=1)
    first = ContextPassage("Hooks run code. They are fast.", "Hooks", "h.md", "1", ordinal=0)
    assert [unit.text for unit in units_of([second, first]) if unit.opens_section] == ["Hooks run code."]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What changed in version 2.1.0?", ["Added sockets.", "Removed the pool."]),
        ("What is new in 2.1.1?", ["Fixed sockets."]),
        ("What was added in release 2.1?", ["Added sockets.", "Removed the pool."]),
        ("What changed in version 3.0.0?", []),
        ("Which bug of the pool was fixed in 2.1.1 by Bo?", []),
        ("What was the problem with version 2.1.0?", []),
    ],
)
def test_changes_of_a_version_are_those_below_its_heading(question: str, expected: list[str]) -> None:
    assert [scored.unit.text for scored in changes_of_version(evidence_of(question, *CHANGELOG))] == expected


async def test_a_list_of_changes_gives_way_to_what_is_so_now() -> None:
    now = note("guide.md", "Enable HTTP/2 with sockets in the settings.", title="Guide")
    assert await answer("How do I enable HTTP/2 with sockets?", *CHANGELOG, now) == now.text
    asked = "In which release was HTTP/2 with sockets enabled by default?"
    assert "by default" in await answer(asked, *CHANGELOG, now)


def test_short_remark_in_parentheses_stays_with_its_sentence() -> None:
    """So "(Default 5)" is not quoted alone. A longer one is a sentence."""
    units = units_of(
        [
            note(
                "a.md",
                "The limit of connections. (Default 100)",
                "One. (It is long, as all know, and says more than that.)",
            )
        ]
    )
    assert [unit.text for unit in units][:1] == ["The limit of connections. (Default 100)"]
    for text in (
        "Close it after this time. Default: 5.",
        "The folder. Default is dist.",
        "A pause. Defaults to 0.5 s.",
    ):
        [first, last] = units_of([note("a.md", f"{text} Then open it.")])
        assert (first.text, last.text) == (text, "Then open it.")
    assert len(units_of([note("a.md", "It is so. Default settings are kept in a file.")])) == 2
    assert len(units) == 3


@pytest.mark.parametrize(("question", "same"), [("How do I enable HTTP/2?", True), ("What is HTTP/2?", False)])
def test_form_of_a_unit_changes_only_for_definitions_whether_something_answers(question: str, same: bool) -> None:
    """So a question how to do something is refused as often as others."""
    notes = (note("a.md", "Use HTTP/2 like this.", "HTTP/2 is a protocol."), note("CHANGES.md", "HTTP/2 was enabled."))
    evidence, units = evidence_of(question, *notes), np.array([0.5, 1.0, 2.0], np.float32)
    found = probabilities(evidence, range(3), ListLogits(units, 1.5, units))
    plain = relevance_of(range(3), units.tolist(), 1.5, units.tolist())
    assert (found.none == pytest.approx(plain.none)) is same
    assert found.units[0 if same else 1] > plain.units[0 if same else 1]
    assert sum(found.units.values()) + found.none == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("question", "text", "describes"),
    [
        ("What does --prune do?", "-p, --prune: Remove what is gone.", True),
        ("What does the -p option do?", "-p, --prune: Remove what is gone.", True),
        ("What is `--lease` for?", "--[no-]lease, --lease=<name>:<value>: Protect it.", True),
        ("What does --no-lease do?", "--lease: Protect it.", False),
        ("What does --prune do?", "--prune-tags: Remove tags.", False),
        ("What does --prune do?", "The option --prune: see above.", False),
        ("What does prune do?", "--prune: Remove what is gone.", False),
        ("Which files does --prune delete?", "--prune: Remove what is gone.", True),
        ("Is it well-known?", "-known: no", False),
    ],
)
def test_unit_describes_an_option_that_the_question_names(question: str, text: str, describes: bool) -> None:
    unit = unit_of(text)
    assert describes_flag(plan_of(question), unit) is describes
    assert states_flag(f"Before.\n\n{text}", flags_of(question)) is describes
    assert (prior(plan_of(question), unit) >= FLAG) is describes


def test_question_which_option_it_is_is_no_question_for_the_one_it_names() -> None:
    unit = unit_of("--prune: Remove what is gone.")
    assert not describes_flag(plan_of("Which option replaces --prune?"), unit)
    assert not describes_flag(plan_of("Which flags imply --prune?"), unit)


async def test_option_is_quoted_with_what_it_does() -> None:
    """Whatever sentences name it, too; "how do I" prefers what options do."""
    options = note("git.html", "-p, --prune: Remove branches that are gone.", "--dry-run: Show only what would happen.")
    other = note("git.html", "With --prune the command is slow, and --prune needs the network.")
    assert await answer("What does --prune do?", other, options) == "-p, --prune: Remove branches that are gone."
    assert is_instruction(unit_of("--all: Fetch all branches.")) and not is_instruction(unit_of("all: the branches"))


async def test_section_whose_heading_is_the_question_answers_it() -> None:
    """As a whole, in its order; other sections share more words with the question."""
    faq = (
        note("faq.md", "Resets of the pump are frequent.", "A pump is reset by hand.", headings=("Pump resets",)),
        note("faq.md", "Press the red button.", "Wait for the green light.", headings=("How can I reset the pump?",)),
    )
    answered = "Press the red button. Wait for the green light."
    assert await answer("How do I reset the pump?", *faq) == answered
    assert await answer("Why do I reset the pump?", *faq) != answered
    evidence = evidence_of("How do I reset the pump?", *faq)
    chosen = answer_by_relevance(evidence, Relevance({0: 0.9}, 0.1, {0: 0.9}), RuleAnswer(()))
    assert " ".join(scored.unit.text for scored in chosen) == answered


async def test_title_that_is_the_question_answers_it_where_no_heading_divides_the_text() -> None:
    """Else what is below the title may be the introduction alone. "When should I" asks for a condition."""
    question = "When should I use the queue?"
    short = note("q.md", "Use it for long jobs.", title="When should I use the queue")
    [found] = asked_section(evidence_of(question, short))
    assert found.unit.text == "Use it for long jobs."
    part = note("q.md", "The queue is fast.", title="When should I use the queue", headings=("Speed",))
    assert not asked_section(evidence_of(question, short, part))
    assert not asked_section(
        evidence_of("When did I use the queue?", note("q.md", "Today.", title="When did I use the queue"))
    )


async def test_heading_that_asks_for_a_person_leaves_the_sentence_to_be_found() -> None:
    """Its section may tell first what was believed."""
    story = note(
        "clock.md",
        "The inventory says Josiah Fenn made the clock.",
        "In fact Abel Rusk made the clock, as the brass says.",
        headings=("Who made the clock?",),
    )
    assert not asked_section(evidence_of("Who made the clock?", story))


def test_later_section_answers_a_question_that_two_headings_ask() -> None:
    old, new = (
        note(f"{year}.md", f"Use the form of {year}.", date=f"{year}-01-01", headings=("How do I order?",))
        for year in (2024, 2025)
    )
    chosen = asked_section(evidence_of("How do I order?", new, old))
    assert [scored.unit.text for scored in chosen] == ["Use the form of 2025."]


def test_row_with_the_name_of_a_thing_says_what_it_is() -> None:
    [row] = units_of([note("a.md", "Severity: SEV-5; Meaning: cosmetic", kind=PassageKind.TABLE)])
    assert prior(plan_of("What is a SEV-5?"), row) == DEFINITION
    assert prior(plan_of("What is a SEV-4?"), row) == prior(plan_of("Who ordered SEV-5?"), row) == 0


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("Glazier done. £95. Bill to the club?", ["Glazier done. £95.", "Bill to the club?"]),
        ("New fan. Only 12.50 euro!", ["New fan. Only 12.50 euro!"]),
        ("It took long. 3 hours.", ["It took long. 3 hours."]),
        ("He was born in Kent. 1980 was hot.", ["He was born in Kent.", "1980 was hot."]),
        ("See page 4. 12 apples were red.", ["See page 4.", "12 apples were red."]),
        ("Boxes are 24 pounds. 300 boxes.", ["Boxes are 24 pounds.", "300 boxes."]),
    ],
)
def test_an_amount_alone_belongs_to_the_sentence_before_it(text: str, units: list[str]) -> None:
    assert [unit.text for unit in units_of([note("log.txt", text)])] == units


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ("When is the farm trip?", True),
        ("When are the trips?", True),
        ("When does the farm trip end?", False),
        ("When is the museum trip?", False),
        ("Who is on the farm trip?", False),
    ],
)
def test_a_date_below_what_is_asked_for_says_when_that_is(question: str, field: bool) -> None:
    [unit] = units_of([note("trips.md", "Date: 21 May 2026", title="School trips", headings=["Marwick Farm"])])
    assert prior(plan_of(question), unit) == (DATE_FIELD if field else 0)
