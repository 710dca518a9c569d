"""Mails as documents: whose words they are, quoted mails of every depth, and texts without a declared encoding."""

from __future__ import annotations

import json

import pytest

from graphtide.infra.files.types import UnreadableFileError
from graphtide.infra.models.local.chunker import SemanticChunker
from tests.unit.infra.files.reading import document, passages

MAIL = """\
From: Ana Ruiz <ana@example.org>
To: Bo Lind <bo@example.org>
Date: Tue, 4 Mar 2025 10:00:00 +0100
Subject: =?utf-8?q?Pumpe_f=C3=BCr_Raum_2?=
Content-Type: text/plain; charset=utf-8

The pump arrives on Friday.

--\x20
Ana Ruiz, Kessel AG

On Mon, 3 Mar 2025 Bo Lind wrote:
> When does the pump arrive?
"""


def test_mail_separates_what_the_sender_wrote_from_signature_and_quote() -> None:
    """Headers give title, date and metadata; quoted words and signature are passages of their own kind."""
    one = document(MAIL.encode(), "pump.eml")
    described = SemanticChunker().describe(one.text, one.media_type)
    assert (described.title, described.occurred_at) == ("Pumpe für Raum 2", "2025-03-04")
    assert dict(described.metadata)["from"] == json.dumps("Ana Ruiz <ana@example.org>")
    found = passages(MAIL.encode(), "pump.eml")
    assert [(passage.text, str(passage.place.kind)) for passage in found] == [
        (
            "Mail: Pumpe für Raum 2; From: Ana Ruiz <ana@example.org>; To: Bo Lind <bo@example.org>;"
            " Date: Tue, 04 Mar 2025 10:00:00 +0100",
            "table",
        ),
        ("The pump arrives on Friday.", ""),
        ("Ana Ruiz, Kessel AG", "quote"),
        ("When does the pump arrive?", "quote"),
    ]
    headings = [passage.place.headings for passage in found[1:]]
    assert headings == [("Mail from Ana Ruiz",), ("Mail from Ana Ruiz",), ("Mail from Bo Lind, Mon, 3 Mar 2025",)]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("On Tue, 4 Mar 2025 at 19:04, Bo Lind <bo@example.org> wrote:", "Mail from Bo Lind, Tue, 4 Mar 2025 at 19:04"),
        (
            "On Tue, Mar 4, 2025 at 3:22 PM Bo Lind <bo@example.org> wrote:",
            "Mail from Bo Lind, Tue, Mar 4, 2025 at 3:22 PM",
        ),
        ("Am 4. M\u00e4rz schrieb Bo Lind:", "Am 4. M\u00e4rz schrieb Bo Lind"),
    ],
)
def test_quoted_mail_has_its_writer_as_heading_and_what_follows_is_of_the_sender(line: str, heading: str) -> None:
    """In another language the line is the heading; an answer below the quotation is the sender's again."""
    raw = f"From: Ana Ruiz <a@example.org>\nSubject: Pump\n\nSee below.\n\n{line}\n> When?\n\nOn Friday.\n"
    found = {passage.text: passage.place.headings for passage in passages(raw.encode(), "pump.eml")}
    assert found["On Friday."] == found["See below."] == ("Mail from Ana Ruiz",)
    assert next(headings for text, headings in found.items() if "When?" in text) == (heading,)


QUOTING = "From: Ana Ruiz <a@example.org>\nSubject: Pump\n\nOn Tue, 4 Mar 2025 at 19:04, Bo Lind wrote:\n"


def test_replies_between_quoted_lines_are_of_the_sender() -> None:
    raw = QUOTING + "> Who pays?\nI pay the 450 euros.\n> And when?\nOn Friday.\n"
    found = [
        (passage.text, passage.place.headings, str(passage.place.kind)) for passage in passages(raw.encode(), "a.eml")
    ]
    bo, ana = ("Mail from Bo Lind, Tue, 4 Mar 2025 at 19:04",), ("Mail from Ana Ruiz",)
    assert found[1:] == [
        ("Who pays?", bo, "quote"),
        ("I pay the 450 euros.", ana, ""),
        ("And when?", bo, "quote"),
        ("On Friday.", ana, ""),
    ]


def test_a_quotation_within_a_quotation_is_of_its_own_writer() -> None:
    """Without a line that says who wrote it, it is an earlier mail."""
    raw = QUOTING + "> On Mon, 3 Mar 2025 at 10:00, Cy Moe wrote:\n>> I sold the ladder.\n> Thanks.\n>> To whom?\n"
    found = {passage.text: passage.place.headings[0] for passage in passages(raw.encode(), "a.eml")[1:]}
    assert found["I sold the ladder."] == "Mail from Cy Moe, Mon, 3 Mar 2025 at 10:00"
    assert found["Thanks."] == "Mail from Bo Lind, Tue, 4 Mar 2025 at 19:04"
    assert found["To whom?"] == "Earlier mail"


def test_a_line_that_states_facts_above_a_quotation_is_a_sentence() -> None:
    raw = "From: Ana <a@b.c>\nSubject: X\n\nKern wrote that it costs 450 euros and comes on 14 May:\n> We deliver.\n"
    assert any("450 euros" in passage.text for passage in passages(raw.encode(), "a.eml"))


def test_mail_without_an_encoding_is_read() -> None:
    """As UTF-8, else as that of Western Europe: nothing is refused for a letter."""
    raw = "From: Ana <a@b.c>\nSubject: X\n\nDas Öl kostet 4 £.\n"
    for encoding in ("utf-8", "cp1252"):
        assert passages(raw.encode(encoding), "a.eml")[-1].text == "Das Öl kostet 4 £."
    assert passages(raw.encode() + b"\xff\x81", "a.eml")


def test_mail_with_nul_characters_in_its_headers_is_published_without_them() -> None:
    """They were once the end of a synchronised folder."""
    found = document(MAIL.replace("From: ", "From: \0", 1).encode(), "pump.eml")
    assert found == document(MAIL.encode(), "pump.eml")


def test_html_mail_is_read_as_text() -> None:
    """A mail without a plain part is its HTML part, without tags."""
    raw = b"From: a@b.c\nSubject: X\nContent-Type: text/html\n\n<p>The <b>lamp</b> is out.</p>"
    assert passages(raw, "x.eml")[-1].text == "The lamp is out."


def test_mail_of_thousands_of_nested_mails_is_unreadable() -> None:
    """It is refused with the reason, and ends no `sync`."""
    with pytest.raises(UnreadableFileError):
        document(b"From: a@b\n" + b"Content-Type: message/rfc822\n\n" * 3000 + b"text", "a.eml")
