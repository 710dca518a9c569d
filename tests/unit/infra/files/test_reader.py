"""Files of every format as documents: readable text with places, or a reason and a remedy."""

from __future__ import annotations

import html
import sys

import pytest

from graphtide.infra.files.encoding import decode_text
from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.streams.model_ports import CSV, MARKDOWN, PLAIN
from tests.support.documents import pdf_file, word_file
from tests.unit.infra.files.reading import document, passages

PAGE = """<!DOCTYPE html><html><head><title>KB-7 Pumps | Support</title><meta name="author" content="Ana Ruiz">
<meta name="date" content="2025-03-04"><style>p {color: red}</style></head>
<body><nav><a href="/">Home</a></nav><h1>Pumps</h1><p>A pump needs <b>24&nbsp;V</b> &amp; a fuse.</p>
<table><tr><th>type</th><th>bar</th></tr><tr><td>P1</td><td>3</td></tr></table>
<script>alert(1)</script><footer>&copy; Support</footer></body></html>"""


def test_html_page_is_its_content_with_title_and_date() -> None:
    """Navigation, scripts, styles and footers are left out; the title loses the name of the site."""
    one = document(PAGE.encode(), "kb7.html")
    described = SemanticChunker().describe(one.text, one.media_type)
    assert (one.media_type, described.title, described.occurred_at) == (MARKDOWN, "KB-7 Pumps", "2025-03-04")
    found = passages(PAGE.encode(), "kb7.html")
    assert [(passage.text, passage.place.headings) for passage in found] == [
        ("title: KB-7 Pumps; author: Ana Ruiz; date: 2025-03-04", ()),
        ("A pump needs 24 V & a fuse.", ("Pumps",)),
        ("type: P1; bar: 3", ("Pumps",)),
    ]


@pytest.mark.parametrize(
    "text",
    ["Send <name> to <ana@a.org>", "# no heading", "1. no item", "- no item", "a * b_c ` d | [e](f) [[g]] &lt;x ~h~"],
)
def test_text_of_a_page_or_a_word_file_is_never_markup(text: str) -> None:
    """Placeholders such as `<name>` would vanish as tags."""
    escaped = html.escape(text)
    assert [passage.text for passage in passages(f"<p>{escaped}</p>".encode(), "a.html")] == [text]
    table = [["a", "b"], [escaped, "2"]]
    assert [passage.text for passage in passages(word_file([("Normal", escaped)], table), "a.docx")] == [
        text,
        f"a: {text}; b: 2",
    ]


def test_date_in_escaped_text_dates_the_page() -> None:
    assert document(b"<p>Date: 2026-05-12</p><p>Text</p>", "a.html").occurred_at == "2026-05-12"


def test_definitions_have_their_terms() -> None:
    """Further paragraphs of one are text, not code."""
    first = "<dt>-n</dt><dt>--dry</dt><dd><p>Show only.</p><p>Then end.</p><ul><li>One</li></ul></dd>"
    page = f"<dl>{first}<dt>By:</dt><dd>Bo</dd></dl>"
    [passage] = passages(page.encode(), "a.html")
    assert passage.text == "-n, --dry: Show only.\n\nThen end.\n\nOne\n\nBy: Bo"


def test_link_of_a_heading_to_itself_is_no_text() -> None:
    """As Sphinx and MkDocs write it."""
    own = '<a class="headerlink" href="#reset">\u00b6</a>'
    page = f'<h1>Pumps</h1><h2>Reset{own}</h2><p>By hand, see <a href="#x">x</a>.</p>'
    [passage] = passages(page.encode(), "a.html")
    assert (passage.text, passage.place.headings) == ("By hand, see x.", ("Reset",))


def test_table_with_widths_of_columns_is_a_table() -> None:
    page = "<table><colgroup><col></colgroup><tr><td>type</td><td>bar</td></tr><tr><td>P1</td><td>3</td></tr></table>"
    assert [passage.text for passage in passages(page.encode(), "a.html")] == ["type: P1; bar: 3"]


@pytest.mark.parametrize(
    ("on", "off"),
    [
        ('<input type="checkbox" checked>', '<input type="checkbox">'),
        ('<div class="checkbox checkbox-on"></div>', '<div class="checkbox checkbox-off"></div>'),
    ],
)
def test_boxes_of_checklists_keep_their_state(on: str, off: str) -> None:
    page = f"<ul><li>{on} Buy <b>milk</b></li><li>{off} Call Ann</li><li>Plain</li></ul><p>{off}Text</p>"
    [passage] = passages(page.encode(), "a.html")
    assert passage.text == "Done: Buy milk\n\nTo do: Call Ann\n\nPlain\n\nText"


def test_word_file_keeps_headings_and_table_rows() -> None:
    """Styles are headings, and the first row of a table names its columns."""
    raw = word_file([("Heading1", "Levels"), ("Normal", "Level 2 is led by Ana.")], [["who", "phone"], ["Bo", "311"]])
    assert [(passage.text, passage.place.row) for passage in passages(raw, "policy.docx")] == [
        ("Level 2 is led by Ana.", 0),
        ("who: Bo; phone: 311", 1),
    ]


def test_pdf_has_pages_headings_and_whole_paragraphs() -> None:
    """Larger lines are headings, wrapped lines a paragraph, page numbers are left out."""
    first = [(20, "Annual report"), (10, "The pump station was"), (10, "rebuilt in 2024."), (10, "Page 1")]
    second = [(14, "Costs"), (10, "It cost 310 euros [net]."), (10, "Page 2")]
    found = passages(pdf_file([first, second]), "report.pdf")
    assert [(passage.text, passage.place.page, passage.place.headings) for passage in found] == [
        ("The pump station was rebuilt in 2024.", 1, ()),
        ("It cost 310 euros [net].", 2, ("Costs",)),
    ]


@pytest.mark.parametrize(
    ("caption", "text"),
    [
        ("<caption>CO<sub>2</sub> limit</caption>", "CO2 limit:"),
        ("<caption>Persons.</caption>", "Persons."),
        ("<caption>Persons", "Persons:"),
        ("<caption></caption>", ""),
    ],
)
def test_text_of_a_caption_is_kept(caption: str, text: str) -> None:
    """A caption that was not closed has the rows in it."""
    page = f"<table>{caption}<tr><th>who</th><th>pager</th></tr><tr><td>Bo</td><td>712</td></tr></table>"
    found = [passage.text for passage in passages(page.encode(), "a.html")]
    assert found == [*([text] if text else []), "who: Bo; pager: 712"]


def test_caption_introduces_an_html_table() -> None:
    """Inside the table it once took the place of the header, and all rows became one paragraph."""
    rows = "<tr><th>who</th><th>pager</th></tr><tr><td>Bo</td><td>712</td></tr>"
    page = f"<table><caption>Persons <b>in charge</b></caption>{rows}</table>"
    [row] = [passage for passage in passages(page.encode(), "a.html") if passage.place.row]
    assert row.text == "who: Bo; pager: 712"


def test_rows_of_csv_have_the_names_of_their_columns() -> None:
    """Quoted cells, semicolons and empty cells; the title is the name of the file."""
    raw = b'name;town;note\n"Lind; Bo";Oslo;\nAna;Lima;"two\nlines"\n'
    one = document(raw, "our_contacts-2024.csv")
    assert (one.media_type, one.title) == (CSV, "our contacts 2024")
    [found] = passages(raw, "x.csv")
    assert found.text == "name: Lind, Bo; town: Oslo\n\nname: Ana; town: Lima; note: two lines"


def test_numbered_line_above_a_sentence_is_a_heading_and_an_item_is_not() -> None:
    """A contract's "1. Rates" is context of what is below it; the items of a list stay items."""
    text = b"1. Rates\nThe crane costs 900 euros.\n\nSteps\n1. Lift\n2. Turn\n"
    found = [(passage.text, passage.place.headings) for passage in passages(text, "lease.txt")]
    assert found == [("The crane costs 900 euros.", ("1. Rates",)), ("1. Lift\n\n2. Turn", ("Steps",))]


@pytest.mark.parametrize(
    "lines",
    [
        ("2026-01-08 07:40 Ana: the pump of the north hall tripped twice", "2026-01-09 Bo: filter swapped"),
        ("11.01.2026 Pump 1 - seal replaced by the maker, took four hours", "02.03.2026 Pump 2 - too hot at the back"),
        ("[19/07, 08:12] Petra: the shower block is flooded again today", "[19/07, 08:40] Bo: plumber comes Monday"),
        ("Tue 3 Feb first reading of the whole piece with eleven people", "Thu 12 Feb the smoke machine is banned"),
        ("07:40 the first truck arrives at the northern gate of the yard", "09:15 the second truck"),
        ("Hallet & Sons: 18,400 euros, slates from Wales, ten years of guarantee", "T. Okonjo: 16,700 euros"),
        ("retention of the measurements in days = 540, counted from the upload", "flush_interval = 30"),
        ("The dogs bite swans and must be on the lead at the canal", "No mushrooms for Bea", "She brings a telescope"),
    ],
    ids=["iso", "points", "chat", "weekday", "clock", "labels", "settings", "items"],
)
def test_lines_of_a_log_or_a_list_are_apart(lines: tuple[str, ...]) -> None:
    """Lines of plain text that each begin with a date, a label or a capital are blocks of their own."""
    assert [one.text for one in passages("\n".join(lines).encode(), "log.txt")] == ["\n\n".join(lines)]


@pytest.mark.parametrize(
    "text",
    [
        "The bridge was closed for repairs in the spring of\n2026-03-08 and stayed so; no driver had been told.",
        "We first met the owner of the Amber House on a Monday, and\n"
        "He sold it to the town, which paid the price in full to\nMrs Lind.",
    ],
    ids=["date", "capitals"],
)
def test_wrapped_prose_is_one_paragraph(text: str) -> None:
    """A date or a capital at the beginning of a wrapped line separates nothing."""
    assert [one.text for one in passages(text.encode(), "note.txt")] == [" ".join(text.split())]


def test_wrapped_entry_of_a_log_is_one_block() -> None:
    """A line without a stamp below a long one continues the entry."""
    text = (
        "14 Jan: replaced the fan of the old transmitter, which had\nrun for nine years.\n2 Feb: mast light out again."
    )
    [found] = passages(text.encode(), "log.txt")
    assert found.text.split("\n\n") == [
        "14 Jan: replaced the fan of the old transmitter, which had run for nine years.",
        "2 Feb: mast light out again.",
    ]


def test_records_are_identified_by_id_or_content_never_by_line() -> None:
    """A record keeps its key when lines are added above it; broken lines and repeated ids are named."""
    lines = ['{"id": 7, "text": "A."}', '{"customer": "Bo", "body": "Leak.", "date": "2025-01-02"}', "no json"]
    first = list(read_bytes("\n".join(lines).encode(), "t.jsonl"))
    later = list(read_bytes("\n".join(['{"text": "New."}', *lines]).encode(), "t.jsonl"))
    keys = [one.key for one in first if isinstance(one, FileDocument)]
    assert keys[0] == "7" and keys == [one.key for one in later if isinstance(one, FileDocument)][1:]
    assert [one.reason for one in first if isinstance(one, RecordProblem)] == [
        "is not a JSON object; write one object per line"
    ]
    ticket = first[1]
    assert isinstance(ticket, FileDocument) and ticket.occurred_at == "2025-01-02"
    assert ticket.text == "Leak.\n\ncustomer: Bo\ndate: 2025-01-02"
    twice = list(read_bytes(b'{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}', "t.jsonl"))
    assert [type(one) for one in twice] == [RecordProblem, FileDocument]


SAMPLES = {
    "cp1252 French": "Le café de Besançon est fermé à partir du 3 août. Réunion prévue à l'hôtel.",
    "cp1252 Portuguese": "O João não vem à reunião; a decisão foi adiada para março.",
    "cp1252 Swedish": "Mötet hålls på måndag. Nyckeln ligger på kontoret, fråga Åsa.",
    "cp1252 Danish": "Mødet er på tirsdag. Søren køber brød.",
    "cp1252 English": "The hall costs £300 a day.\nDeposit: £50.",
    "cp1250 Polish": "Spotkanie odbędzie się w środę. Józef kupi części do łodzi. Proszę wziąć klucz.",
    "iso8859_2 Polish": "Spotkanie odbędzie się w środę. Józef kupi części do łodzi. Proszę wziąć klucz.",
    "cp1250 Czech": "Schůzka bude v pondělí. Příští týden přijede Jiří Dvořák.",
    "cp1250 Hungarian": "A gyűlés hétfőn lesz. Kérem, hozza el a kulcsot, és ne felejtse el a főnököt.",
    "cp1254 Turkish": "Toplantı pazartesi günü yapılacak. Anahtar Şule'de, ışığı söndürün.",  # noqa: RUF001
    "cp1251 Russian": "Собрание состоится в понедельник. Ключ у Ивана.",  # noqa: RUF001
    "koi8_r Russian": "Собрание состоится в понедельник. Ключ у Ивана.",  # noqa: RUF001
    "iso8859_7 Greek": "Η συνάντηση θα γίνει τη Δευτέρα. Το κλειδί το έχει ο Γιάννης.",  # noqa: RUF001
    "euc_jp Japanese": "会議は月曜日に行われます。鍵は田中さんが持っています。",
    "gb18030 Chinese": "会议将于星期一举行。钥匙在王先生那里。",
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_short_text_in_an_undeclared_code_page_is_read(sample: str) -> None:
    """A few words of a language tell its code page."""
    text = SAMPLES[sample]
    assert decode_text(text.encode(sample.split(maxsplit=1)[0])) == text


def test_text_in_utf_8_with_a_damaged_place_keeps_the_rest() -> None:
    """A log that was cut within a character, or a lone wrong byte, does not make it another encoding."""
    text = "Grüße an alle, schöne Straße".encode()
    assert decode_text(text + "ü".encode()[:1]) == "Grüße an alle, schöne Straße\ufffd"
    assert decode_text(text[:12] + b"\xff" + text[12:]).replace("\ufffd", "") == "Grüße an alle, schöne Straße"
    assert decode_text(b"caf\xe9 latte") == "café latte"


def test_letter_far_behind_plain_text_does_not_make_a_file_unreadable() -> None:
    """The sample has the lines that are not ASCII, wherever they are."""
    raw = b"a plain line\n" * 40_000 + "Café de la Gare".encode("cp1252")
    assert decode_text(raw).endswith("\nCafé de la Gare")


@pytest.mark.parametrize(
    ("encoding", "name"), [("koi8_r", "koi8-r"), ("iso8859_2", "ISO-8859-2"), ("utf-8", "nonsense")]
)
def test_encoding_that_a_page_names_is_used(encoding: str, name: str) -> None:
    """Unless it is unknown, or the page is in UTF-8 all the same."""
    text = "Дом" if encoding == "koi8_r" else "żółw"
    page = f'<html><head><meta charset="{name}"></head><body><p>{text}</p></body></html>'
    assert text in document(page.encode(encoding), "a.html").text


@pytest.mark.parametrize("name", ["punycode", "idna", "unicode_escape", "utf-7", "base64", "no such encoding"])
def test_encoding_that_no_document_has_is_not_used(name: str) -> None:
    """Some take time that grows with the square of the length, and others are for bytes alone."""
    assert decode_text(b"caf\xe9 \\u0041", name) == "café \\u0041"


def test_text_for_pandoc_is_decoded_first() -> None:
    """pandoc reads UTF-8 without a byte order mark."""
    for encoding in ("utf-16", "utf-8-sig", "cp1252"):
        text = document("Überschrift\n===========\n\nDer Tee kostet drei Euro".encode(encoding), "a.rst").text
        assert "# Überschrift" in text and "Der Tee kostet drei Euro" in text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encoding_is_detected(encoding: str) -> None:
    """The same text whatever its encoding."""
    text = "Die Küche in Raum 2 wurde für Frau Müller geändert. Die Tür schließt jetzt.\n" * 4
    assert document(text.encode(encoding), "a.txt").text.strip() == text.strip()


@pytest.mark.parametrize(
    ("name", "raw", "reason"),
    [
        ("scan.pdf", pdf_file([[]]), "no text layer.*ocrmypdf"),
        ("broken.pdf", b"%PDF-1.4 nonsense", "not a readable PDF.*save it again"),
        ("broken.docx", b"PK nonsense", "not a readable .docx.*save it again"),
        ("empty.docx", word_file([]), "contains no text"),
        ("image.txt", b"\x89PNG\0\0\0\0", "binary data"),
        ("empty.md", b" \n", "is empty"),
        ("song.mp3", b"x", "convert it"),
        ("x.eml", b"no headers", "no From header"),
    ],
)
def test_unreadable_file_is_named_with_reason_and_remedy(name: str, raw: bytes, reason: str) -> None:
    """Nothing is skipped silently."""
    with pytest.raises(UnreadableFileError, match=reason):
        list(read_bytes(raw, name))


def test_long_text_is_published_in_parts_that_an_edit_changes_locally() -> None:
    """The parts are the text; an inserted paragraph changes the part that it is in, and no other."""
    paragraphs = [f"Paragraph {n} tells that box {n} is in room {n % 17}." * 4 for n in range(8_000)]
    before = list(read_bytes("\n\n".join(paragraphs).encode(), "log.txt"))
    paragraphs.insert(3_000, "A new paragraph.")
    after = list(read_bytes("\n\n".join(paragraphs).encode(), "log.txt"))
    found = [one for one in (*before, *after) if isinstance(one, FileDocument)]
    assert "".join(one.text for one in found[len(before) :]) == "\n\n".join(paragraphs)
    assert len(before) > 4 and found[0].key == "" and len({one.key for one in found[: len(before)]}) == len(before)
    assert {one.title for one in found} == {"log"}
    published = {(one.key, one.text) for one in found[: len(before)]}
    assert sum((one.key, one.text) not in published for one in found[len(before) :]) <= 2


def test_parts_keep_columns_and_pages() -> None:
    """A part of a table has its header, and a page has its number in the whole."""
    rows = "name,town\n" + "".join(f"Person {n},Town {n}\n" for n in range(30_000))
    parts = [one for one in read_bytes(rows.encode(), "t.csv") if isinstance(one, FileDocument)]
    assert len(parts) > 1 and all(one.text.startswith("name,town\n") for one in parts)
    text = "\f".join(f"On page {n} we read about box {n}. " * 400 for n in range(1, 61))
    last = [one for one in read_bytes(text.encode(), "t.txt") if isinstance(one, FileDocument)][-1]
    assert SemanticChunker().split(last.text, last.media_type)[-1].place.page == 60


def test_missing_library_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the message says what to install."""
    monkeypatch.delitem(sys.modules, "graphtide.infra.files.formats.pdf", raising=False)
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(UnreadableFileError, match=r"pypdf is missing; install graphtide\[files\]"):
        list(read_bytes(pdf_file([[(10, "text")]]), "a.pdf"))


def test_name_of_a_file_gives_title_and_date_only_if_its_text_has_none() -> None:
    """A date in the text is more exact than one in the name."""
    plain = document(b"We met.", "2025-03-04-weekly_minutes.txt")
    assert (plain.title, plain.occurred_at, plain.media_type) == ("2025 03 04 weekly minutes", "2025-03-04", PLAIN)
    titled = document(b"---\ntitle: Weekly\ndate: 2025-03-05\n---\nWe met.", "2025-03-04-x.md")
    assert (titled.title, titled.occurred_at) == ("", "2025-03-05")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("notice-2025-03.txt", "2025-03"),
        ("2025_03 notice.txt", "2025-03"),
        ("2025-03-04 of 2024-01.txt", "2025-03-04"),
        ("notice-2025-13.txt", ""),
        ("notice-202503.txt", ""),
        ("part-0815-10-77.txt", ""),
        ("offer-2025-034.txt", ""),
    ],
)
def test_a_month_in_the_name_of_a_file_is_its_date(name: str, expected: str) -> None:
    assert document(b"We met.", name).occurred_at == expected


def test_code_is_not_cut_between_parts() -> None:
    """A comment in it looks like a heading, and an empty line like the end of a paragraph."""
    code = "```sh\n# comment\nmake\n\n# another\nmake install\n```"
    text = "\n\n".join(f"Step {n} of the manual.\n\n{code}" for n in range(4_000))
    parts = [part.text for part in read_bytes(text.encode(), "manual.md") if isinstance(part, FileDocument)]
    assert len(parts) > 2 and "".join(parts) == text
    assert all(part.count("```") % 2 == 0 for part in parts)
