"""Rules of the generator without a model, over notes of a workshop: permissions, causes, negations, corrections."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.generator import NOTHING_FITS
from tests.unit.infra.answers.notes import answer, note, table

MAIL = "Mail from Nora Quist"
WORKSHOP = (
    table("machines.csv", "machine: M1; state: running; status: leased; year: 2015; price_eur: 400"),
    table("machines.csv", "machine: M2; state: idle; status: sold; year: 2019; price_eur: 90"),
    table("machines.csv", "machine: M3; state: running; status: owned; year: 2021; price_eur: 1200"),
    table("rules.csv", "zone: yard; helmet: no; escort: no", headings=["Visitors"]),
    table("rules.csv", "zone: foundry; helmet: yes; escort: not allowed for visitors", headings=["Visitors"]),
    note("safety.md", "Never grind alone. Grinding is forbidden in the yard.", title="Safety"),
    note(
        "lease.txt",
        "Between Oak Tools and Brannock Steel",
        "Lease number: L-7",
        "Valid from: 1 May 2023",
        "Valid until: 30 April 2026",
        "Notice period: three months",
    ),
    note("hinge.md", "The bolt of hinge C was rusty, so the gate fell off.", headings=["Cause"]),
    note(
        "quarter.md",
        "Sales were below the plan. The main reasons are the strike and the fire.",
        "The press run was good.",
    ),
    note("offer.md", "The used lathe costs 8,000 euros.", date="2025-01-10"),
    note("letter.md", "The price rises to 8,500 euros.", title="The used lathe", date="2025-02-10"),
    note("claim.txt", "The claim for the broken hoist is handled by me.", headings=[MAIL]),
    note("gate.md", "The code of the gate is with Ivar. Lorries over 30 tonnes may only use the north road."),
    note("minutes.txt", "3. Roof. Two quotes were compared. The work was given to Kestrel Roofers.", date="2025-03-01"),
    note("care.md", "Empty the dust box after every eighth hour."),
    note("pay.md", "Payment for the hoist is due 45 days after delivery."),
    note("trial.md", "The trial with glued boxes failed."),
    note("founders.md", "Oak Tools was founded by Rowan Birk. Write to rowan@oak.example."),
    note("flight.md", "The survey was made with a drone on 19 and 20 March 2025."),
    note("loader.md", "The warranty of the loader is 24 months."),
    note("audit.md", "The permit is valid until 30 June."),
)


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("What is the status of M2?", "status: sold"),
        ("Which machines are under 500 euros?", "machine: M2"),
        ("May visitors enter the foundry?", "not allowed for visitors"),
        ("Is a helmet required in the foundry?", "helmet: yes"),
        ("Is it allowed to grind alone?", "Never grind alone."),
        ("When does the lease with Brannock Steel end?", "Valid until: 30 April 2026"),
        ("What is the notice period of the lease with Brannock Steel?", "Notice period: three months"),
        ("What caused the damage to hinge C?", "rusty"),
        ("Why were the sales below the plan?", "the strike and the fire"),
        ("How much does the used lathe cost?", "8,500 euros"),
        ("Who handles the claim for the hoist?", f"{MAIL}: The claim"),
        ("Who works on the roof?", "Kestrel Roofers"),
        ("How often must the dust box be emptied?", "every eighth hour"),
        ("When is the payment for the hoist due?", "45 days after delivery"),
        ("Did the trial with glued boxes succeed?", "failed"),
        ("Who founded Oak Tools?", "Rowan Birk"),
        ("How long is the permit valid?", "until 30 June"),
    ],
)
async def test_answer_follows_the_form_of_the_question(question: str, part: str) -> None:
    """A column, a heading, a sender, the next sentence, or an opposite answers as a sentence of the same words does."""
    assert part in await answer(question, *WORKSHOP)


@pytest.mark.parametrize(
    ("question", "absent"),
    [
        ("Which machines are not running?", "machine: M1"),
        ("Which machines are under 500 euros?", "machine: M3"),
        ("How much does the used lathe cost?", "8,000"),
    ],
)
async def test_answer_leaves_out_what_the_question_excludes(question: str, absent: str) -> None:
    found = await answer(question, *WORKSHOP)
    assert found != NOTHING_FITS
    assert absent not in found


@pytest.mark.parametrize(
    "question",
    ["What is the code of the gate?", "How many drones were used?", "What is the warranty of the crane?"],
)
async def test_answer_is_refused_when_a_number_is_of_something_else(question: str) -> None:
    """A weight is no code, a date is no count, and the warranty of a loader is not that of a crane."""
    assert await answer(question, *WORKSHOP) == NOTHING_FITS
