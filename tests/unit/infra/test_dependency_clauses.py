"""The dependency parser: statements that the rules skip, references, odd text, bounded cost, and a missing model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphtide.infra.models.local import dependency_clauses
from graphtide.infra.models.local.extractor import ParsingExtractor, extract


def statements(text: str, title: str = "") -> set[tuple[str, str, str]]:
    """Return the relations without their evidence."""
    return {(one.subject, one.predicate, one.object) for one in extract(text, title, parse=True).relations}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Female butterflies lay their eggs on specific host plants.", ("female butterflies", "lay", "eggs")),
        ("Alice founded Acme Corp in 1999.", ("Alice", "founded", "Acme Corp")),
        ("Halden Station was founded by Ida Moreau.", ("Halden Station", "was founded by", "Ida Moreau")),
        ("The vessel Aurora carried Tor Ruud to Skarv Island.", ("Aurora", "carried", "Tor Ruud")),
        ("Aurora is a ship built in Bergen.", ("Aurora", "built in", "Bergen")),
        ("Caterpillars have spines. They eat leaves.", ("caterpillars", "eat", "leaves")),
    ],
)
def test_parser_states_subject_predicate_and_object(text: str, expected: tuple[str, str, str]) -> None:
    """Common nouns may be subjects, a preposition ends the predicate, and a plural pronoun has its referent."""
    assert expected in statements(text)


def test_rows_and_labels_are_read_as_by_the_rules() -> None:
    """The parser reads prose alone."""
    row = "Name: Joachim Pell; Day: Saturday"
    assert statements(row, "Volunteers") == {("Joachim Pell", "day", "Saturday")}


PARTS = ("Halden \ud800 was founded. ", "(", "capital ", "was ", "\0", "x" * 3_000)


@pytest.mark.parametrize("length", [1_200, pytest.param(6_000, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("part", PARTS)
def test_parser_accepts_any_text_and_names_what_it_holds(part: str, length: int) -> None:
    """Names and evidence are slices of the text; a piece that is too long is left out."""
    text = part * max(length // len(part), 2)
    found = extract(text, "", parse=True)
    assert all(entity.name in text for entity in found.entities)
    assert all(relation.evidence in text for relation in found.relations)


@pytest.fixture
def _fresh() -> Iterator[None]:
    dependency_clauses.load_parser.cache_clear()
    yield
    dependency_clauses.load_parser.cache_clear()


@pytest.mark.usefixtures("_fresh")
def test_missing_model_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extractor fails when it is made, not at the first document."""
    monkeypatch.setattr(dependency_clauses, "_MODELS", ("no_such_model",))
    with pytest.raises(ImportError, match=r"install graphtide\[nlp\]"):
        ParsingExtractor()
