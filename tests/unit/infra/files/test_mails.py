"""Mails as documents: whose words they are, quoted mails of every depth, and texts without a declared encoding."""

from __future__ import annotations

import base64
import json
from email.message import EmailMessage

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


HEAD = "From: Ana Ruiz <a@example.org>\nSubject: Pump\n\n"
ORIGINAL = "From: Bo Lind <bo@example.org>\nSent: Monday, March 3, 2025 10:00 AM\nTo: Ana Ruiz\nSubject: Pump\n\n"


def headings(body: str) -> dict[str, str]:
    """Return the heading of each paragraph of a mail from Ana Ruiz."""
    found = passages((HEAD + body).encode(), "a.eml")[1:]
    return {text: passage.place.headings[0] for passage in found for text in passage.text.split("\n\n")}


@pytest.mark.parametrize(
    ("head", "heading"),
    [
        (f"-----Original Message-----\n{ORIGINAL}", "Mail from Bo Lind, Monday, March 3, 2025 10:00 AM"),
        (f"________________________________\n{ORIGINAL}", "Mail from Bo Lind, Monday, March 3, 2025 10:00 AM"),
        (ORIGINAL, "Mail from Bo Lind, Monday, March 3, 2025 10:00 AM"),
        (
            "---------- Forwarded message ---------\nFrom: Bo Lind <bo@example.org>\nDate: Mon, 3 Mar 2025 at 10:00\n"
            "Subject: Pump\nTo: Ana Ruiz <a@example.org>,\n Cy Moe <cy@example.org>\n\n\n",
            "Mail from Bo Lind, Mon, 3 Mar 2025 at 10:00",
        ),
        (
            "Von: Lind, Bo [mailto:bo@example.org]\nGesendet: Montag, 3. März 2025\nAn: Ana\nBetreff: Pumpe\n\n",
            "Mail from Lind, Bo, Montag, 3. März 2025",
        ),
        ("*From:* Bo Lind\n*Date:* 3 March 2025\n*Subject:* Pump\n\n", "Mail from Bo Lind, 3 March 2025"),
        ("-----Original Message-----\n", "Earlier mail"),
    ],
    ids=["outlook", "rule", "block", "gmail", "german", "bold", "marker"],
)
def test_text_below_the_head_of_another_mail_is_of_its_sender(head: str, heading: str) -> None:
    found = headings(f"I agree.\n\n{head}The pump costs 450 euros.\n\nIt comes on Friday.\n")
    assert found["I agree."] == "Mail from Ana Ruiz"
    assert found["The pump costs 450 euros."] == found["It comes on Friday."] == heading


def test_each_mail_of_a_chain_has_its_own_sender() -> None:
    """Headings in a quoted mail are quoted text, and its signature is one of its sender."""
    second = ORIGINAL.replace("Bo Lind", "Cy Moe")
    found = headings(f"Yes.\n\n{ORIGINAL}COSTS\nIt costs 450 euros.\n\n-- \nBo, Kessel AG\n\n{second}How much?\n")
    date = "Monday, March 3, 2025 10:00 AM"
    assert [found[text] for text in ("COSTS", "It costs 450 euros.", "Bo, Kessel AG")] == [
        f"Mail from Bo Lind, {date}"
    ] * 3
    assert found["How much?"] == f"Mail from Cy Moe, {date}"


def test_quoted_head_names_the_sender_of_the_quotation() -> None:
    """Apple Mail forwards a mail so."""
    found = headings(
        "Begin forwarded message:\n\n> From: Bo Lind <b@x>\n> Subject: Pump\n> Date: 3 March\n>\n> I pay.\n"
    )
    assert found["I pay."] == "Mail from Bo Lind, 3 March"


def test_labels_of_a_journey_are_no_head_of_a_mail() -> None:
    found = headings("My journey:\n\nFrom: Berlin\nTo: Paris\nDate: 3 May\n\nSee you there.\n")
    assert set(found.values()) == {"Mail from Ana Ruiz"}


def test_empty_line_above_a_quotation_leaves_it_to_its_writer() -> None:
    found = headings("Yes.\n\nOn Tue, 4 Mar 2025 at 19:04, Bo Lind <b@x> wrote:\n\n> I pay 450 euros.\n\nThanks.\n")
    assert found["I pay 450 euros."] == "Mail from Bo Lind, Tue, 4 Mar 2025 at 19:04"
    assert found["Yes."] == found["Thanks."] == "Mail from Ana Ruiz" and len(found) == 3


def test_signature_needs_no_empty_line_above_it() -> None:
    found = passages((HEAD + "The pump arrives.\n-- \nAna Ruiz\nKessel AG\n").encode(), "a.eml")
    assert [(one.text, str(one.place.kind)) for one in found[1:]] == [
        ("The pump arrives.", ""),
        ("Ana Ruiz Kessel AG", "quote"),
    ]


def test_reply_may_alternate_with_quotations_many_times() -> None:
    found = passages((HEAD + "> Who?\nI.\n" * 3_000).encode(), "a.eml")
    assert len(found) == 6_001 and found[-1].text == "I."


def mail(text: str, **headers: str) -> EmailMessage:
    message = EmailMessage()
    for name, value in {"From": "Ana Ruiz <a@example.org>", **headers}.items():
        message[name] = value
    message.set_content(text)
    return message


def test_all_text_parts_and_forwarded_mails_are_read() -> None:
    """The forwarded ones are at the end, each below its own sender; their attachments are named with them."""
    inner = mail("Inner text.", From="Bo Lind <bo@example.org>", Date="Tue, 4 Mar 2025 10:00:00 +0100")
    inner.add_attachment(b"x", maintype="application", subtype="pdf", filename="inner.pdf")
    outer = mail("First text.", Subject="Pump")
    outer.add_attachment(inner)
    outer.add_attachment("Second text.", disposition="inline")
    outer.add_attachment(b"x", maintype="application", subtype="pdf", filename="offer.pdf")
    found = {one.text: one.place.headings for one in passages(outer.as_bytes(), "a.eml")}
    heading = ("Mail from Bo Lind, Tue, 04 Mar 2025 10:00:00 +0100",)
    assert found["First text.\n\nSecond text."] == ("Mail from Ana Ruiz",) and found["Inner text."] == heading
    assert found["Mail: Pump; From: Ana Ruiz <a@example.org>; Attachments: offer.pdf"] == ()
    assert any(text.endswith("Attachments: inner.pdf") and place == heading for text, place in found.items())


def test_mails_within_mails_are_read_to_a_depth() -> None:
    message = mail("Level 9.")
    for level in range(8, -1, -1):
        outer = mail(f"Level {level}.")
        outer.add_attachment(message)
        message = outer
    text = document(message.as_bytes(), "a.eml").text
    assert [level for level in range(10) if f"Level {level}." in text] == list(range(6))


def test_html_is_read_where_the_plain_part_is_blank() -> None:
    message = mail(" \n", Subject="Lamp")
    message.add_alternative("<p>The <b>lamp</b> is out.</p>", subtype="html")
    assert passages(message.as_bytes(), "a.eml")[-1].text == "The lamp is out."
    message = mail("Plain words.")
    message.add_alternative("<p>Marked words.</p>", subtype="html")
    assert "Marked" not in document(message.as_bytes(), "a.eml").text


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_raw_bytes_in_headers_are_decoded(encoding: str) -> None:
    raw = "From: Jürgen <j@x.org>\nSubject: Tür\n\nText.\n".encode(encoding)
    assert document(raw, "a.eml").text.startswith("From: Jürgen <j@x.org>\nSubject: Tür\n")


@pytest.mark.parametrize(
    ("charset", "raw"),
    [
        ("iso-8859-8-i", "שלום".encode("iso-8859-8")),
        ("x-unknown", "שלום".encode()),
        ("rot13", "שלום".encode()),
        ("iso-8859-1", b"caf\xe9"),
        ("x-unknown", b"caf\xe9"),
    ],
)
def test_unknown_encoding_refuses_no_mail(charset: str, raw: bytes) -> None:
    text = "café" if raw.startswith(b"caf") else "שלום"
    head = f"From: a@x.org\nSubject: X\nContent-Type: text/plain; charset={charset}\n\n".encode()
    assert passages(head + raw, "a.eml")[-1].text == text


def test_subject_in_logical_hebrew_is_read() -> None:
    word = base64.b64encode("שלום".encode("iso-8859-8")).decode()
    assert "Subject: שלום" in document(f"From: a@x.org\nSubject: =?ISO-8859-8-I?B?{word}?=\n\nx".encode(), "a.eml").text


def test_mail_with_an_impossible_zone_has_no_date() -> None:
    raw = HEAD.replace("\n\n", "\nDate: Tue, 4 Mar 2025 10:00:00 +99999999999999\n\n") + "Text.\n"
    one = document(raw.encode(), "a.eml")
    assert one.occurred_at == "" and "Date" not in one.text and "Text." in one.text
