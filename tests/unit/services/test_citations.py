"""Citations of an answer: the number, the quoted sentence or row, and its place in the passage."""

from __future__ import annotations

from dataclasses import replace

from graphtide.graph.text.place import PassageKind, Place
from graphtide.services.query.citations import citations
from graphtide.streams.model_ports import ContextPassage

PROSE = ContextPassage(
    "The weir was built in 1911. It broke in 1954.\n\nIt was never repaired.", "Weir", "weir.md", "c1"
)
ROWS = ContextPassage(
    "name: Ada Bell; desk: north\n\nname: Bo Crane; desk: south",
    "Desks",
    "desks.csv",
    "c2",
    place=Place(kind=PassageKind.TABLE),
)


def test_citation_locates_the_quoted_sentence() -> None:
    """The quote is the sentence of the passage, and its span gives it."""
    (found,) = citations("It broke in 1954. [1]", [PROSE])
    assert (found.number, found.quote, found.title) == (1, "It broke in 1954.", "Weir")
    assert PROSE.text[found.start : found.end] == found.quote


def test_citation_locates_the_row() -> None:
    found = citations("name: Bo Crane; desk: south [2]", [PROSE, ROWS])
    assert [(each.number, each.quote) for each in found] == [(2, "name: Bo Crane; desk: south")]


def test_citation_of_a_model_has_the_sentence_nearest_to_its_words() -> None:
    """A language model rephrases; the sentence that shares most words is cited."""
    (found,) = citations("In 1911 the town built that weir [1].", [PROSE])
    assert found.quote == "The weir was built in 1911."


def test_each_cited_sentence_has_its_citation_once() -> None:
    text = "The weir was built in 1911. [1] It was never repaired. [1][2] It was never repaired. [1] Nothing. [9]"
    found = [(each.number, each.quote) for each in citations(text, [PROSE, ROWS])]
    assert found[:2] == [(1, "The weir was built in 1911."), (1, "It was never repaired.")]
    assert [number for number, _ in found] == [1, 1, 2]


def test_citation_of_a_row_has_its_own_row() -> None:
    """A passage holds several rows, of which its place names the first."""
    place = Place(("Desks",), kind=PassageKind.TABLE, row=4)
    first, second = citations("name: Bo Crane; desk: south [1] name: Ada Bell; desk: north [1]", [_placed(ROWS, place)])
    assert (first.place.row, second.place.row) == (5, 4)
    assert first.place.headings == ("Desks",)


def test_citation_of_a_text_has_the_place_of_its_passage() -> None:
    place = Place(("History",), page=3)
    (found,) = citations("It was never repaired. [1]", [_placed(PROSE, place)])
    assert found.place == place


def _placed(passage: ContextPassage, place: Place) -> ContextPassage:
    return replace(passage, place=place)
