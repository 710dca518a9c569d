"""Units of quotation: their neighbours, and the memory of a question when it has been answered."""

from __future__ import annotations

import gc

from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.answers.units import Unit
from tests.support.stages import eventually
from tests.unit.infra.answers.notes import answer, note

TEXT = "The oven was built in 1998. Radek built it. It needs an hour to heat up."


def test_neighbours_are_those_of_the_text() -> None:
    """The first unit has none before it, the last none after it."""
    units = units_of([note("oven.md", TEXT)])
    assert len(units) == 3
    assert [unit.before for unit in units] == [None, *units[:-1]]
    assert [unit.after for unit in units] == [*units[1:], None]


async def test_units_of_a_question_are_freed_without_a_collection() -> None:
    """Full collections are rare in the service, so many wide questions would fill the memory. The last answer's
    quotation may remain.
    """

    def units() -> int:
        return sum(isinstance(one, Unit) for one in gc.get_objects())

    async def are_freed() -> bool:  # the thread that worked may still be ending its job
        return units() - before <= len(units_of([note("oven.md", TEXT)]))

    await answer("Why was the oven built?", note("oven.md", TEXT))
    gc.collect()
    gc.disable()
    try:
        before = units()
        assert "1998" in await answer("When was the oven built?", *(note(f"{n}.md", TEXT) for n in range(10)))
        await eventually(are_freed)
    finally:
        gc.enable()


def test_sentences_of_a_log_entry_have_its_day() -> None:
    """The stamp of an entry is context of its later sentences; numeric dates are read alike in all entries."""
    log = note(
        "log.txt", "03/08 Bo: storm. The roof is damaged.", "16/08, 18:20 - Ana: tarpaulin here. Thanks.", date="2025"
    )
    units = units_of([log])
    assert [unit.date for unit in units] == [(2025, 8, 3)] * 2 + [(2025, 8, 16)] * 2
    assert [unit.headings for unit in units] == [(), ("03/08",), (), ("16/08, 18:20",)]
    american = units_of([note("log.txt", "03/08 storm", "08/16 tarpaulin", date="2025")])
    assert [unit.date for unit in american] == [(2025, 3, 8), (2025, 8, 16)]


def test_single_dated_paragraph_is_no_log() -> None:
    """One paragraph that begins with a date keeps the document's day."""
    [first, *_] = units_of([note("a.txt", "2025-03-08 is the day of the fair. Come early.", date="2025-01-02")])
    assert first.date == (2025, 1, 2)


async def test_date_of_a_later_sentence_is_that_of_its_entry() -> None:
    """A question for a date finds it in the stamp of the entry."""
    log = note("log.txt", "14.01.2026 Fan noisy. The fan was replaced.", "02.02.2026 Mast light out. Socket cleaned.")
    assert await answer("When was the fan replaced?", log) == "14.01.2026: The fan was replaced."
