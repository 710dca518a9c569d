"""Invented notes as contexts of questions, and the answers that a generator without a model gives from them."""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.graph.text.place import PassageKind, Place
from graphtide.infra.models.local.answers.choosing.selection import answer_by_relevance, answer_by_rules
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import Relevance
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.generator import ExtractiveGenerator
from graphtide.streams.model_ports import ContextPassage


def note(
    doc_id: str,
    *blocks: str,
    title: str = "",
    headings: Sequence[str] = (),
    date: str = "",
    kind: PassageKind = PassageKind.TEXT,
    lead_in: str = "",
) -> ContextPassage:
    """Return a passage of the blocks, as the chunker makes it of a structured document."""
    place = Place(tuple(headings), kind=kind, lead_in=lead_in)
    text = "\n\n".join(blocks)
    return ContextPassage(text, title or doc_id, doc_id, f"{doc_id}/{hash_of(text)}", (), (), place, date)


def hash_of(text: str) -> int:
    return sum(map(ord, text))


def table(doc_id: str, *rows: str, title: str = "", headings: Sequence[str] = (), date: str = "") -> ContextPassage:
    return note(doc_id, *rows, title=title, headings=headings, date=date, kind=PassageKind.TABLE)


async def answer(question: str, *notes: ContextPassage) -> str:
    """Return the answer without citations."""
    text = (await ExtractiveGenerator().answer(question, notes)).text
    return " ".join(word for word in text.split() if not (word.startswith("[") and word.endswith("]")))


def chosen_of(question: str, notes: Sequence[ContextPassage], shares: Sequence[float], none: float) -> list[str]:
    """Return the texts that answer, given the probability of each unit, which also is that of a part."""
    units = units_of(notes)
    evidence = score_units(plan_of(question), units, [0.0] * len(units))
    relevance = Relevance(dict(enumerate(shares)), none, dict(enumerate(shares)))
    return [one.unit.text for one in answer_by_relevance(evidence, relevance, answer_by_rules(evidence))]


BAKERY = (
    note(
        "ovens.md",
        "The stone oven was built by Radek Molnar in 1998. It reaches 310 °C after two hours.",
        "The small oven needs 45 minutes to heat up.",
        "The key to the flour store hangs behind the till.",
        title="Ovens",
        date="2024-01-10",
    ),
    note(
        "staff.md",
        "Ilse Kamp is the head baker. She works from 02:00 to 10:00.",
        "Tomasz Wrona drives the van and keeps the order book.",
        "Petra Lang is on leave until 9 June; Tomasz replaces her.",
        title="Staff",
        date="2024-02-01",
    ),
    table(
        "prices.csv",
        "product: rye loaf; price_eur: 4.20; weight: 1 kg; baked on: Monday, Thursday",
        "product: spelt roll; price_eur: 0.90; weight: 70 g; baked on: daily",
        "product: walnut loaf; price_eur: 5.10; weight: 750 g; baked on: Saturday",
    ),
    note(
        "hygiene.md",
        "wash your hands for 30 seconds",
        "wear a cap",
        "no rings or watches",
        title="Hygiene",
        headings=("What every visitor must do",),
    ),
    note("2024-03-04.md", "The flour delivery moves to Wednesday.", title="Monday 4 March 2024", date="2024-03-04"),
)
