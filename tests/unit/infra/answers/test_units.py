"""Units of quotation: their neighbours, and the memory of a question when it has been answered."""

from __future__ import annotations

import gc

from graphtide.infra.models.local.answers.units import Unit, units_of
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
