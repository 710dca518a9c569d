"""Mail files (.eml) as plain text: the headers that people read, then the text of the mail."""

from __future__ import annotations

from email import policy
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser

from graphtide.graph.text.storable import storable
from graphtide.infra.files.types import INSTALL, UnreadableFileError

_HEADERS = ("From", "To", "Cc", "Date", "Subject")


def mail_to_text(raw: bytes) -> str:
    """Return the mail as a text with headers, as the reader of plain text recognises. Raises UnreadableFileError."""
    try:
        message = BytesParser(policy=policy.default).parsebytes(raw)
        headers = {name: " ".join(str(message[name]).split()) for name in _HEADERS if message[name]}
        body = _body(message)
    except (ValueError, LookupError, TypeError, AttributeError, KeyError, IndexError, RecursionError) as error:
        raise UnreadableFileError(f"is not a readable mail ({error}); export it again as .eml") from error
    if "From" not in headers:
        raise UnreadableFileError("has no From header and is not a mail; rename it to .txt to publish it as text")
    files = [name for part in message.iter_attachments() if (name := part.get_filename())]
    head = "".join(f"{name}: {value}\n" for name, value in headers.items())
    listed = f"\n\nAttachments: {', '.join(files)}\n" if files else "\n"
    return storable(head + "\n" + body.strip() + listed)


def _body(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    content = storable(_content(part))
    return _text_of_html(content) if part.get_content_type() == "text/html" else content


def _content(part: MIMEPart) -> str:
    """Return the text of a part. One that names no encoding is UTF-8, or else that of Western Europe."""
    raw = part.get_payload(decode=True)
    if part.get_content_charset() in (None, "us-ascii") and isinstance(raw, bytes):
        for encoding in ("utf-8", "cp1252"):
            try:
                return raw.decode(encoding)
            except UnicodeDecodeError:
                continue
    return str(part.get_content())


def _text_of_html(content: str) -> str:
    try:
        from graphtide.infra.files.formats.html import mail_text
    except ImportError as error:
        raise UnreadableFileError(f"is an HTML mail; {INSTALL}") from error
    return mail_text(content)
