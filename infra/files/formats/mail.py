"""Mail files (.eml) as plain text: the headers that people read, all text parts, then the mails that it forwards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from email import policy
from email.message import EmailMessage, Message, MIMEPart
from email.parser import BytesParser
from typing import Any, cast

from graphtide.graph.text.storable import storable
from graphtide.infra.documents.mail_heads import sender
from graphtide.infra.files.encoding import known_encoding
from graphtide.infra.files.types import INSTALL, UnreadableFileError

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
MAX_FORWARDS = 5
"""Mails within mails are read to this depth."""
_WRONG_MAILS = (
    ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, AssertionError
)  # fmt: skip
_BIDI = re.compile(r"(iso-8859-[68])-[ie]\b", re.IGNORECASE)
"""Hebrew and Arabic with an order of letters, which Python knows by the name of the encoding alone (RFC 1556)."""


class _Policy(policy.EmailPolicy):
    """The policy of the email package, with headers of raw bytes decoded and encodings by Python's names."""

    def header_source_parse(self, sourcelines: Sequence[str]) -> tuple[str, Any]:
        name, value = super().header_source_parse(cast(list[str], sourcelines))
        return name, _BIDI.sub(r"\1", _decoded(value.encode("utf-8", "surrogateescape")))


def mail_to_text(raw: bytes) -> str:
    """Return the mail as a text with headers, as the reader of plain text recognises. Raises UnreadableFileError."""
    try:
        message = cast(EmailMessage, BytesParser(policy=_Policy()).parsebytes(raw))
        headers = _headers(message)
        if "From" not in headers:
            raise UnreadableFileError("has no From header and is not a mail; rename it to .txt to publish it as text")
        return storable(_mail_text(message, headers, 0))
    except _WRONG_MAILS as error:
        raise UnreadableFileError(f"is not a readable mail ({error}); export it again as .eml") from error


def _headers(message: Message) -> dict[str, str]:
    found = {name: _header(message, name) for name in _HEADERS}
    return {name: value for name, value in found.items() if value}


def _header(message: Message, name: str) -> str:
    """Return the value of a header in one line. One that cannot be parsed is as it was written, and is no date."""
    try:
        value = str(message[name] or "")
    except _WRONG_MAILS:
        written = (str(value) for key, value in message.raw_items() if key.lower() == name.lower())
        value = "" if name == "Date" else next(written, "")
    return " ".join(value.split())


def _mail_text(message: EmailMessage, headers: dict[str, str], depth: int) -> str:
    """Return headers and text of a mail; the mails that it forwards are at the end, since nothing marks theirs."""
    parts = list(_parts(message))
    forwards = [each for part in parts if depth < MAX_FORWARDS and (each := _forwarded(part))]
    names = [name for part in parts if _is_attached(part) and (name := part.get_filename())]
    if names:
        headers = {**headers, "Attachments": " ".join(", ".join(names).split())}
    head = "".join(f"{name}: {value}\n" for name, value in headers.items())
    texts = [*_texts(message), *(_forward_text(each, depth + 1) for each in forwards)]
    return "\n".join([head, *(f"{text.strip()}\n" for text in texts if text.strip())])


def _parts(part: MIMEPart) -> Iterator[MIMEPart]:
    """Yield the parts without others in them; a mail within the mail is one."""
    if part.get_content_maintype() == "multipart" and part.is_multipart():
        for each in part.iter_parts():
            yield from _parts(each)
    else:
        yield part


def _forwarded(part: MIMEPart) -> EmailMessage | None:
    """Return the mail that a part is, None for another part or one without a sender."""
    if part.get_content_type() != "message/rfc822" or not part.is_multipart():
        return None
    message = cast(list[EmailMessage], part.get_payload())[0]
    return message if "From" in _headers(message) else None


def _forward_text(message: EmailMessage, depth: int) -> str:
    """Return a forwarded mail below a line that the reader of plain text knows as its beginning."""
    headers = _headers(message)
    name = sender({"from": headers["From"]}).strip("- ")[:_MAX_NAME_CHARS]
    return f"---------- Forwarded mail from {name or '?'} ----------\n{_mail_text(message, headers, depth)}"


_MAX_NAME_CHARS = 60


def _is_attached(part: MIMEPart) -> bool:
    """Return whether a part is an attachment: neither a forwarded mail that is read, nor a picture in the text."""
    return _forwarded(part) is None and (part.get_content_disposition() == "attachment" or not part["Content-ID"])


def _texts(part: MIMEPart) -> Iterator[str]:
    """Yield the texts of a mail in their order; of alternatives the plain one, unless it is blank."""
    kind = part.get_content_type()
    if kind == "multipart/alternative" and part.is_multipart():
        forms = sorted(part.iter_parts(), key=lambda form: form.get_content_type() != "text/plain")
        found = (list(filter(str.strip, _texts(form))) for form in forms)
        yield from next(filter(None, found), [])
    elif part.get_content_maintype() == "multipart" and part.is_multipart():
        for each in part.iter_parts():
            yield from _texts(each)
    elif part.get_content_disposition() != "attachment":
        if kind == "text/html":
            yield _text_of_html(storable(_content(part)))
        elif kind == "text/plain" or part.get_content_maintype() == "multipart":  # without its parts, a damaged one
            yield storable(_content(part))


def _content(part: MIMEPart) -> str:
    """Return the text of a part. One with no encoding or an unknown one is UTF-8, or else that of Western Europe."""
    raw = part.get_payload(decode=True)
    if not isinstance(raw, bytes):
        return ""
    charset = _BIDI.sub(r"\1", part.get_content_charset() or "us-ascii")
    encoding = known_encoding(charset)
    if encoding in ("", "ascii"):
        return _decoded(raw)
    try:
        return raw.decode(encoding, "replace")
    except (LookupError, ValueError):  # of Python, but for no text
        return _decoded(raw)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _text_of_html(content: str) -> str:
    try:
        from graphtide.infra.files.formats.html.page import mail_text
    except ImportError as error:
        raise UnreadableFileError(f"is an HTML mail; {INSTALL}") from error
    return mail_text(content)
