"""Parts of long texts: each reads as in the whole, and an edit changes the part that it is in."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pytest

from graphtide.infra.documents.tables import read_csv
from graphtide.infra.files.parts import MAX_PART_CHARS, parts_of
from graphtide.infra.files.types import FileDocument
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.streams.model_ports import CSV, MARKDOWN, SplitPassage

ROWS = "".join(f"| N{n} | Town {n} | a long description of the place number {n} |\n" for n in range(8_000))
HEAD = "| name | town | about |\n| --- | --- | --- |\n"


def parts(text: str, media_type: str = MARKDOWN, title: str = "") -> list[FileDocument]:
    """Return the parts of a text, of which there are several."""
    found = list(parts_of(FileDocument(text, media_type, title=title)))
    assert len(found) > 2
    return found


def passages(found: Sequence[FileDocument]) -> list[SplitPassage]:
    return [passage for part in found for passage in SemanticChunker().split(part.text, part.media_type)]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_rows_of_every_part_have_their_columns_and_headings(line_end: str) -> None:
    """The parts after the first were one paragraph each."""
    text = f"# Places\n\n## Sheet 1\n\n{HEAD}{ROWS}\n## Sheet 2\n\nEnd.\n".replace("\n", line_end)
    found = passages(parts(text))
    rows = [passage for passage in found if passage.place.row]
    texts = [text.split("; ")[:2] for passage in rows for text in passage.text.split("\n\n")]
    assert texts == [[f"name: N{n}", f"town: Town {n}"] for n in range(8_000)]
    assert {passage.place.headings for passage in rows} == {("Sheet 1",)}
    assert (found[-1].text, found[-1].place.headings) == ("End.", ("Sheet 2",))


def test_paragraphs_of_every_part_have_the_path_of_their_headings() -> None:
    """The first heading is the title and in no path; a heading of the same level ends the one before."""
    body = "\n\n".join(f"Paragraph {n} tells that box {n} is in the room." * 3 for n in range(1_500))
    first = f"# The title\n\nIntro.\n\nPart one\n========\n\n## Boxes\n\n{body}\n\n### Old\n\n{body}"
    text = f"{first}\n\n# Part two\n\n{body}\n"
    paths = list(dict.fromkeys(passage.place.headings for passage in passages(parts(text))))
    assert paths == [(), ("Part one", "Boxes"), ("Part one", "Boxes", "Old"), ("Part two",)]
    front = f"---\ntitle: A *note*\n---\n\n# One\n\n{body}\n\n{body}\n"
    assert {passage.place.headings for passage in passages(parts(front))} == {("One",)}


def test_items_of_every_part_have_their_parents() -> None:
    inner = "".join(f"  - item {n} of a list that is far too long for a part\n" for n in range(5_000))
    found = passages(parts(f"# T\n\n- Pumps\n{inner}"))
    texts = [text for passage in found for text in passage.text.split("\n\n") if text != "Pumps"]
    assert texts == [f"Pumps: item {n} of a list that is far too long for a part" for n in range(5_000)]


def test_text_without_headings_and_tables_is_its_parts() -> None:
    """Also with tables that end before a part does, and code that looks like a heading."""
    text = "".join(f"Text {n}.\n\n| a |\n| - |\n| {n} |\n\n```\n# no heading\n```\n\n" for n in range(6_000))
    assert "".join(part.text for part in parts(text)) == text


def test_edit_of_a_row_changes_one_part() -> None:
    before = {part.text for part in parts(f"## S\n\n{HEAD}{ROWS}")}
    after = [part.text for part in parts(f"## S\n\n{HEAD}{ROWS}".replace("| N4000 ", "| Changed "))]
    assert sum(text not in before for text in after) == 1


def test_record_of_a_csv_is_not_cut_and_the_whole_header_is_repeated() -> None:
    """A quoted cell may have several lines, also in the header."""
    rows = [[f"N{n}", f"line one of {n}\nline two, of {n}\n\nline three"] for n in range(6_000)]
    out = io.StringIO()
    csv.writer(out).writerows([["name", "all\nnotes"], *rows])
    found = parts(out.getvalue(), CSV)
    assert all(len(part.text) < MAX_PART_CHARS + 100 for part in found)
    texts = [block.text for part in found for block in read_csv(part.text)]
    assert texts == [f"name: {name}; all notes: {' '.join(note.split())}" for name, note in rows]


def test_csv_whose_quotation_does_not_end_is_cut_at_lines() -> None:
    text = 'name,note\n"open,' + "".join(f"{n},text of the row\n" for n in range(12_000))
    found = parts(text, CSV)
    assert "".join(part.text.removeprefix("name,note\n") for part in found) == text.removeprefix("name,note\n")
    assert all(part.text.endswith("\n") and len(part.text) <= MAX_PART_CHARS + 20 for part in found)


def test_parts_have_the_header_below_a_line_that_names_the_delimiter() -> None:
    """Excel writes `sep=;` above it."""
    rows = "".join(f"Ana {n};Rome is the town of number {n}\n" for n in range(8_000))
    for part in parts(f"sep=;\nname;town\n{rows}", CSV):
        assert read_csv(part.text)[0].text.startswith("name: Ana ")
