"""CSV: the delimiter by the records that it gives."""

from __future__ import annotations

import pytest

from graphtide.infra.documents.tables import delimiter_of, read_csv, rows_start


def rows(text: str) -> list[str]:
    return [block.text for block in read_csv(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'id;note\n1;"red, green,\nblue, grey"\n2;"a, b"\n',
            ["id: 1; note: red, green, blue, grey", "id: 2; note: a, b"],
        ),
        ("Messwert, mm;Preis, EUR\n1,5;2,5\n", ["Messwert, mm: 1,5; Preis, EUR: 2,5"]),
        ("code\tnote, place\nP1\tred, north\nP2\tblue, south\n", ["code: P1; note, place: red, north"]),
        ("code\tnote\nP1\tred, north, hall\nP2\n", ["code: P1; note: red, north, hall", "code: P2"]),
        ("name,town\nLind; Bo,Oslo\nRuiz; Ana,Lima\n", ["name: Lind, Bo; town: Oslo", "name: Ruiz, Ana; town: Lima"]),
        ('name,"a; b"\nBo,1\nAna,2\n', ["name: Bo; a; b: 1", "name: Ana; a; b: 2"]),
        ("name|town\nBo, Jr|Oslo\nAna|Lima\n", ["name: Bo, Jr; town: Oslo", "name: Ana; town: Lima"]),
        ("name,town,note\nBo,Oslo\nAna,Lima\nCy,Rome,late\n", ["name: Bo; town: Oslo", "name: Ana; town: Lima"]),
    ],
    ids=["quoted", "decimals", "tabs", "ragged tabs", "semicolons", "quoted header", "bars", "ragged"],
)
def test_delimiter_gives_the_records_as_many_cells_as_the_header(text: str, expected: list[str]) -> None:
    assert rows(text)[: len(expected)] == expected


@pytest.mark.parametrize("line", ["sep=;\n", "sep=;\r\n", '"sep=;"\n', "SEP=;\n"])
def test_line_that_names_the_delimiter_is_no_header(line: str) -> None:
    """The places of the rows are those in the whole text."""
    text = f"{line}name,first;town\nBo;Oslo\n"
    [block] = read_csv(text)
    assert (block.text, text[block.start : block.end]) == ("name,first: Bo; town: Oslo", "Bo;Oslo\n")
    assert rows_start(text) == len(line) and delimiter_of("sep=\t\nname\ttown\n") == "\t"


@pytest.mark.parametrize("text", ["", "\n", "name\nBo\n", "sep=\n1\n", "sep=;"])
def test_text_without_a_delimiter_is_one_column(text: str) -> None:
    assert delimiter_of(text) == ("," if text != "sep=;" else ";")
    assert rows("name\nBo\n") == ["name: Bo"] and isinstance(rows(text), list)


def test_title_above_the_table_does_not_change_the_delimiter() -> None:
    assert delimiter_of("Our stock in May\n\nname;town\nBo, Jr;Oslo\nAna;Lima\n") == ";"


def test_record_that_the_sample_cuts_is_not_counted() -> None:
    long = "x, " * 40_000
    assert delimiter_of(f'name, first;note\n1;"{long}"\n') == ";"
