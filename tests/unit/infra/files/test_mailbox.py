"""Mailboxes: a document for each mail, whatever its position."""

from __future__ import annotations

import pytest

from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError


def mail(message_id: str, subject: str, body: str) -> bytes:
    own = f"Message-ID: <{message_id}>\n" if message_id else ""
    head = f"From: Ana <ana@a.org>\n{own}Subject: {subject}\nDate: Mon, 3 Mar 2025 10:00:00 +0000\n\n"
    return f"From ana@a.org Mon Mar  3 10:00:00 2025\n{head}{body}\n\n".encode()


PUMP, LAMP, OWN = (
    mail("1@a.org", "Pump", "It is here."),
    mail("2@a.org", "Lamp", "It is out."),
    mail("", "Door", "Shut."),
)


def read(raw: bytes) -> dict[str, FileDocument]:
    return {one.key: one for one in read_bytes(raw, "in.mbox") if isinstance(one, FileDocument)}


def test_each_mail_is_a_document_with_its_date() -> None:
    """Its text is that of a single mail's file."""
    found = read(PUMP + LAMP + OWN)
    assert [(one.has_id, one.occurred_at) for one in found.values()] == [(True, "2025-03-03")] * 2 + [
        (False, "2025-03-03")
    ]
    [alone] = read_bytes(PUMP.split(b"\n", 1)[1], "pump.eml")
    assert isinstance(alone, FileDocument) and found["1@a.org"].text == alone.text


def test_order_and_repetition_change_nothing() -> None:
    """A mail with two labels is exported twice."""
    assert read(OWN + LAMP + PUMP + LAMP + OWN) == read(PUMP + LAMP + OWN)


def test_other_mail_with_a_known_id_is_named() -> None:
    found = list(read_bytes(PUMP + mail("1@a.org", "Pump", "It is gone."), "in.mbox"))
    assert isinstance(found[0], FileDocument) and isinstance(found[1], RecordProblem)
    assert (found[1].line, "1@a.org" in found[1].reason) == (2, True)


def test_mail_that_cannot_be_read_leaves_the_others() -> None:
    """The third of the mailbox has no sender."""
    broken = b"From x Mon Mar  3 10:00:00 2025\nSubject: none\n\ntext\n\n"
    found = list(read_bytes(PUMP + LAMP + broken + OWN, "in.mbox"))
    assert [one.line for one in found if isinstance(one, RecordProblem)] == [3] and len(found) == 4


def test_long_mail_is_published_in_parts_with_its_id() -> None:
    long = mail("3@a.org", "Log", "\n\n".join(f"Line {n} of the log has some words." for n in range(9_000)))
    keys = [one.key for one in read_bytes(long + PUMP, "in.mbox") if isinstance(one, FileDocument)]
    assert keys[0] == "3@a.org" and keys[-1] == "1@a.org" and len(set(keys)) == len(keys) > 3
    assert all(key.startswith("3@a.org#") for key in keys[1:-1])


@pytest.mark.parametrize("raw", [b"", b"hello", b"\0\xff" * 100])
def test_other_file_is_named_with_the_reason(raw: bytes) -> None:
    with pytest.raises(UnreadableFileError, match="has no mail"):
        read(raw)
