"""Questions from the other side of what the notes state, over notes of a boatyard: another column, the deed of a role,
the end of an absence, a month of a date in figures.
"""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import answer, note, table

PARTS = "parts.csv"
YARD = (
    table(PARTS, "part: rudder; stock: 4; shelf: C1", title=PARTS),
    table(PARTS, "part: anchor; stock: 0; shelf: C2", title=PARTS),
    table(PARTS, "part: winch; stock: 10; shelf: C3", title=PARTS),
    table("faults.jsonl#F-1", "id: F-1; opened: 2026-01-04; fault: leak; status: closed", title="Faults"),
    table("faults.jsonl#F-2", "id: F-2; opened: 2026-02-09; fault: rust; status: open", title="Faults"),
    table("piers.csv", "pier: 1; depth_m: 3", title="piers.csv"),
    table("piers.csv", "pier: 2; depth_m: 5", title="piers.csv"),
    table("boats.csv", "boat: Elsa; owner: Ulla Brandt; length_m: 7", title="boats.csv"),
    table("boats.csv", "boat: Nixe; owner: Ole Krog; length_m: 9", title="boats.csv"),
    table("crew.csv", "name: Jette Holm; role: rigger; based in: Aarhus", title="crew.csv"),
    note("crew.md", "Jette is on parental leave until 4 August.", "Ole reports to Karla Voss.", title="Crew"),
    note("log.txt", "2026-01-12 09:30 the big crane stopped, a fuse had blown.", title="Log"),
    note("crane.md", "Hull work at pier 2 starts at six because of the tide.", title="Crane"),
    note("contract.md", "The mooring contract runs out on 3 May 2027.", title="Contract"),
    note("gate.md", "Releases of the gate software are built by the Jenkins job.", title="Gate"),
)


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("Which part is out of stock?", "anchor"),
        ("Which faults are still open?", "F-2"),
        ("Which boats belong to Ulla Brandt?", "Elsa"),
        ("Where does Jette work?", "Aarhus"),
        ("When will Jette be back?", "4 August"),
        ("Who is Ole's boss?", "Karla Voss"),
        ("When does the mooring contract end?", "3 May 2027"),
        ("Why did the big crane stop in January?", "fuse"),
        ("Why does hull work at pier 2 start early?", "tide"),
    ],
)
async def test_question_from_the_other_side_is_answered(question: str, part: str) -> None:
    assert part in await answer(question, *YARD)


async def test_rows_in_another_state_are_left_out() -> None:
    """The column `opened` has the word of the question, and every row has it."""
    assert "F-1" not in await answer("Which faults are still open?", *YARD)


async def test_rows_that_are_left_in_stock_are_left_out() -> None:
    """A stock of 10 ends with a nought, and is none."""
    given = await answer("Which part is out of stock?", *YARD)
    assert "winch" not in given
    assert "rudder" not in given


async def test_numbers_of_rows_are_not_their_count() -> None:
    """The column `pier` numbers the rows: all of them are counted, and none states how many there are."""
    given = await answer("How many piers are there?", *YARD)
    assert "pier: 1" in given
    assert "pier: 2" in given


async def test_maker_of_another_thing_is_no_answer() -> None:
    """ "By" and a name express a deed, but not that it was done to what the question asks for."""
    assert await answer("Who painted the piers?", YARD[-1], *YARD[5:7]) == NOTHING_FITS


async def test_what_happened_on_a_day_is_told_by_entries_of_that_day() -> None:
    log = note("log.txt", "2026-03-22 lightning struck the crane.", "2026-03-25 the crane was repaired.", title="Log")
    given = await answer("What happened on 22 March?", log)
    assert "lightning" in given
    assert "repaired" not in given


HARBOUR = (
    table("boats.csv", "boat: Elsa; kind: cutter; built: 1998-05-02; note: no fish on board", title="boats.csv"),
    table("boats.csv", "boat: Nixe; kind: cutter; built: 1987-03-30; note: new mast", title="boats.csv"),
    table("boats.csv", "boat: Tern; kind: ketch; built: 1931-09-14; note: new deck", title="boats.csv"),
    table("prices.csv", "service: wash; cutter: 40; ketch: 55", title="prices.csv"),
    table("prices.csv", "service: winter berth; cutter: 900; ketch: 1200", title="prices.csv"),
    table("crew.csv", "sailor: Aske; note: allergic to penicillin", title="crew.csv"),
    table("crew.csv", "sailor: Birte; note: left-handed", title="crew.csv"),
    note("plan.md", "The dredging of the harbour will take six days.", title="Plan"),
    note("report.md", "The dredging took nine days.", title="Report"),
    note(
        "ferry.md", "The old ferry leaks at the bow.", "In May the old one goes to a museum in Ribe.", title="The ferry"
    ),
)


@pytest.mark.parametrize(
    ("question", "part", "other"),
    [
        ("What is our oldest cutter?", "Nixe", "Elsa"),
        ("Which sailor must not get penicillin?", "Aske", "Birte"),
        ("How many days did the dredging take?", "nine days", "six days"),
        ("What happens to the old ferry?", "museum in Ribe", "leaks"),
    ],
)
async def test_form_of_the_question_decides_between_units(question: str, part: str, other: str) -> None:
    """The oldest has the first date, not the greatest price; what is forbidden is stated, not absent; what happened
    was not planned.
    """
    given = await answer(question, *HARBOUR)
    assert part in given
    assert other not in given


async def test_number_of_another_person_is_no_second_hop() -> None:
    """The extension of the manager of what she bought is not hers."""
    crew = table("crew.csv", "name: Sunniva Roth; role: product manager S8; extension: 415", title="crew.csv")
    text = "Customer: Hedvig Lund. Product: S8, firmware 4.1.2."
    mail = note("mail.txt", text, title="Hedvig Lund", headings=["Customer"])
    assert await answer("What is the telephone number of the customer Hedvig Lund?", crew, mail) == NOTHING_FITS
