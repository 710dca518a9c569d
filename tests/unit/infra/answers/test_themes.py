"""Answers about a whole corpus: the beginnings of its texts under their titles."""

from __future__ import annotations

from tests.unit.infra.answers.notes import answer, note, table

WEIR = note("weir.md", "Hello all,", "The weir was built by the millers in 1911.", title="History of the weir")
EELS = note("eels.md", "Eels pass the ladder in spring.", title="Fish")
RAIN = table("rain.csv", "month: May; rain_mm: 44")


async def test_overview_quotes_a_full_sentence_of_each_text_under_its_title() -> None:
    """A greeting is no theme, and prose comes before rows."""
    given = await answer("What are the main themes of these notes?", RAIN, WEIR, EELS)
    assert "The weir was built by the millers" in given
    assert "Fish: Eels pass the ladder in spring." in given
    assert "Hello all" not in given
    assert given.index("Eels") < given.index("month: May")


async def test_other_words_for_the_whole_are_answered_alike() -> None:
    one = await answer("Summarise everything", WEIR, EELS)
    assert one == await answer("What are the main themes of these notes?", WEIR, EELS)


async def test_first_sentence_that_is_too_long_is_not_replaced_by_a_later_one() -> None:
    """The overview leaves a document out rather than quoting a sentence from its middle."""
    long = note("long.md", f"{'Many words about the mill and its owners ' * 5}end here.", "Bring boots.", title="Mill")
    others = [
        note(f"{n}.md", f"The {n} eels of pond {n} were counted and measured by the wardens {n} times.")
        for n in range(5)
    ]
    assert "Bring boots" not in await answer("Summarise everything", *others, long)


async def test_last_passage_of_a_document_begins_it() -> None:
    """The first passages of all documents follow those of the result."""
    found, first = note("eels.md", "Eels were counted at night."), note("eels.md", "Eels pass the ladder in spring.")
    assert (await answer("Summarise everything", found, WEIR, first)).startswith("History of the weir")
    assert "counted at night" not in await answer("Summarise everything", found, WEIR, first)


async def test_line_of_the_head_of_a_text_is_no_theme() -> None:
    """It is quoted all the same where the text has nothing else."""
    dated = note(
        "trip.txt", "Date: 3 May 2026\n\nPresent: Bea, Jonas, Ida\n\nWe leave for Lofoten on 12 June.", title="Trip"
    )
    given = await answer("Summarise everything", dated, EELS)
    assert "Trip: We leave for Lofoten on 12 June." in given
    assert "2026" not in given and "Bea" not in given
    assert "Date: 3 May 2026" in await answer("Summarise everything", note("trip.txt", "Date: 3 May 2026"))


async def test_items_of_minutes_precede_the_line_of_those_who_attended() -> None:
    """Minutes often have no sentence but lines of their head and items."""
    items = "- The open day moves to Sunday 14 June.\n- Cameras are bought in May."
    minutes = note("minutes.md", "Present: Bea, Jonas, Ida", items, title="Minutes of May")
    given = await answer("Summarise everything", minutes)
    assert "The open day moves" in given and "Present" not in given
