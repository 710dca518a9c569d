"""Mailboxes (.mbox): each mail is a document, identified by its message id, or by its content without one."""

from __future__ import annotations

import mailbox
import tempfile
from collections.abc import Iterator
from contextlib import closing
from email.parser import BytesHeaderParser
from hashlib import blake2b

from graphtide.infra.files.formats.mail import mail_to_text
from graphtide.infra.files.records import usable_id
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError
from graphtide.streams.model_ports import PLAIN


def read_mailbox(raw: bytes) -> Iterator[FileDocument | RecordProblem]:
    """Yield the mails in their order. One that is there twice, such as with two labels, is one document; another mail
    with its message id is named. Raises UnreadableFileError without any mail.
    """
    known: dict[str, bytes] = {}
    number = 0
    for number, mail in enumerate(_mails(raw), start=1):
        try:
            text = mail_to_text(mail)
        except UnreadableFileError as error:
            yield RecordProblem(number, str(error))
            continue
        digest = blake2b(text.encode(), digest_size=8)
        own = _message_id(mail)
        key = own or digest.hexdigest()
        if key not in known:
            known[key] = digest.digest()
            yield FileDocument(text, PLAIN, key, has_id=bool(own))
        elif known[key] != digest.digest():
            yield RecordProblem(number, f"has the message id {key!r} of an earlier mail; export it again as .eml")
    if not number:
        raise UnreadableFileError(
            "has no mail, which begins with a line 'From ', the sender and a date; export it again"
        )


def _mails(raw: bytes) -> Iterator[bytes]:
    with tempfile.NamedTemporaryFile(suffix=".mbox") as file:
        file.write(raw)
        file.flush()
        with closing(mailbox.mbox(file.name, create=False)) as box:
            for key in box.iterkeys():
                yield box.get_bytes(key)


def _message_id(mail: bytes) -> str:
    """Return the message id without its brackets, "" without one that can be part of an id."""
    try:
        found = BytesHeaderParser().parsebytes(mail)["Message-ID"]
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""
    return usable_id(str(found or "").strip().strip("<>"))
