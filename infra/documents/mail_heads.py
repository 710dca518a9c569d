"""Headers of mails in plain text: those of the text itself, and those of the mails that it forwards or answers.

Outlook writes a block of "From:", "Sent:", "To:" and "Subject:" above the mail that is answered, Gmail a marker line
above such a block, both in the language of the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.utils import parseaddr

from graphtide.infra.documents.blocks import one_line, row_text

EARLIER_MAIL = "Earlier mail"
"""The heading of a quoted mail whose sender is not named."""
_MIN_HEADERS, _MAX_HEAD_LINES = 3, 40
_HEADER = re.compile(r"(From|To|Cc|Bcc|Date|Sent|Subject|Reply-To|Attachments):[ \t]*(.*)", re.IGNORECASE)
_QUOTED_HEADER = re.compile(r"\*{0,2}([^\W\d_][^\W\d_-]{0,11}(?:-To)?)[ \u00a0]?:\*{0,2}[ \t\u00a0]*(.*)")
_NAMES = {
    "from": "from", "von": "from", "de": "from", "da": "from", "van": "from",
    "to": "to", "an": "to", "\u00e0": "to", "para": "to", "a": "to", "aan": "to",
    "sent": "sent", "gesendet": "sent", "envoy\u00e9": "sent", "enviado": "sent", "inviato": "sent",
    "verzonden": "sent",
    "date": "date", "datum": "date", "fecha": "date", "data": "date",
    "subject": "subject", "betreff": "subject", "objet": "subject", "asunto": "subject", "assunto": "subject",
    "oggetto": "subject", "onderwerp": "subject",
    "cc": "cc", "bcc": "bcc", "importance": "importance", "reply-to": "reply-to", "attachments": "attachments",
}  # fmt: skip
_MARKER = re.compile(
    r"[ \t]*(?:-{2,} ?(?:Original (?:Message|Appointment|E-?mail)|Forwarded (?:Message|mail from .{1,80}|by .{1,80})"
    r"|Urspr\u00fcngliche Nachricht|Weitergeleitete Nachricht|Message (?:d['\u2019]origine|transf\u00e9r\u00e9)"
    r"|Mensaje (?:original|reenviado)|Mensagem original|Messaggio (?:originale|inoltrato)) ?-{2,}"
    r"|Begin forwarded message:|Anfang der weitergeleiteten Nachricht:)[ \t]*",
    re.IGNORECASE,
)
_MAILTO = re.compile(r"\s{0,3}\[mailto:[^\[\]]{0,200}\]", re.IGNORECASE)
_LABELS = {
    "subject": "Mail", "from": "From", "to": "To", "cc": "Cc", "date": "Date", "sent": "Date",
    "attachments": "Attachments",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class QuotedHead:
    """The lines above a mail that is forwarded or answered. `headers` is empty below a marker without any."""

    lines: int
    headers: dict[str, str]

    @property
    def heading(self) -> str:
        """The heading of the mail: its sender and its date."""
        if not self.headers:
            return EARLIER_MAIL
        date = one_line(self.headers.get("date") or self.headers.get("sent", ""))
        return f"Mail from {sender(self.headers)}" + (f", {date}" if date else "")


def mail_headers(lines: Sequence[str]) -> dict[str, str]:
    """Return the headers of a mail by lower-case name; none unless every line is one and a sender is among them."""
    found = [_HEADER.fullmatch(line) for line in lines]
    headers = {each[1].lower(): each[2].strip() for each in found if each is not None}
    return headers if all(found) and "from" in headers and len(headers) > 1 else {}


def header_text(headers: dict[str, str]) -> str:
    """Return the headers in one line, with the labels that people read."""
    known = [(label, headers[name]) for name, label in _LABELS.items() if headers.get(name)]
    return row_text([label for label, _ in known], [value for _, value in known])


def sender(headers: dict[str, str]) -> str:
    """Return the name of the sender, or the address without a name."""
    text = _MAILTO.sub("", headers["from"])
    name, address = parseaddr(text) if "<" in text else (text, "")
    return one_line(name or text.partition("<")[0].strip(" \"'") or address)


def is_marker(line: str) -> bool:
    """Return whether a line announces a mail that is forwarded or answered: "-----Original Message-----"."""
    return _MARKER.fullmatch(line) is not None


def heads_in(lines: Sequence[str]) -> Iterator[tuple[int, QuotedHead]]:
    """Yield the heads of quoted mails with the index of their first line. Cost: linear."""
    at = 0
    while at < len(lines):
        head = _head(lines[at : at + _MAX_HEAD_LINES])
        if head is not None:
            yield at, head
        at += head.lines if head else 1


def _head(lines: Sequence[str]) -> QuotedHead | None:
    """Return the head that the lines begin with. Without a marker it needs a sender on its first line and a subject: a
    journey has "From:", "To:" and "Date:", too.
    """
    marked = int(is_marker(lines[0]))
    headers, count = _quoted_headers(lines[marked:])
    if marked:
        return QuotedHead(1 + count, headers) if "from" in headers else QuotedHead(1, {})
    is_head = next(iter(headers), "") == "from" and "subject" in headers and len(headers) >= _MIN_HEADERS
    return QuotedHead(count, headers) if is_head else None


def _quoted_headers(lines: Sequence[str]) -> tuple[dict[str, str], int]:
    """Return the headers at the beginning of the lines, and how many lines they have: long lists are wrapped."""
    headers: dict[str, str] = {}
    last = ""
    for at, line in enumerate(lines):
        found = _QUOTED_HEADER.fullmatch(line.strip())
        name = _NAMES.get(found[1].lower(), "") if found else ""
        if found and name and name not in headers:
            headers[name], last = found[2].strip(), name
        elif last and line.strip() and headers[last].endswith((",", ";")):
            headers[last] += f" {line.strip()}"
        else:
            return headers, at
    return headers, len(lines)
