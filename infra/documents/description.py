"""Self-descriptions in the text of documents: title, date and metadata of front matter, mail headers and head lines."""

from __future__ import annotations

import json
import re
from email.utils import parsedate_to_datetime
from typing import Any

from graphtide.graph.records import DocumentInfo
from graphtide.infra.documents.markdown.reader import read_heading
from graphtide.infra.documents.plain import read_plain
from graphtide.infra.documents.stated_dates import HEAD_CHARS, stated_date
from graphtide.streams.messages import metadata_pairs
from graphtide.streams.model_ports import MARKDOWN, PLAIN

MAX_METADATA_BYTES = 16_384
_HEAD_CHARS = 16_384
_BACKSLASH = re.compile(r"\\([!-/:-@\[-`{-~])")
_HEADERS = ("from", "to", "cc")


def describe(text: str, media_type: str) -> DocumentInfo:
    """Return the title, the date and the metadata in the text. Cost: bounded by its beginning."""
    if media_type == MARKDOWN:
        front, title = read_heading(text)
        head = _BACKSLASH.sub(r"\1", text[front.end : front.end + HEAD_CHARS])
        occurred_at = front.occurred_at or stated_date(head)
        return DocumentInfo(title, "", occurred_at, _metadata(dict(front.metadata)))
    if media_type != PLAIN:
        return DocumentInfo()
    plain = read_plain(text[:_HEAD_CHARS])
    headers = {name: plain.headers[name] for name in _HEADERS if plain.headers.get(name)}
    date = plain.headers.get("date") or plain.headers.get("sent", "")
    occurred_at = mail_date(date) or stated_date(text)
    return DocumentInfo(plain.title, "", occurred_at, _metadata(headers))


def mail_date(value: str) -> str:
    """Return the date of a mail's header as an ISO date, "" if it is not readable."""
    try:
        return parsedate_to_datetime(value).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _metadata(values: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return metadata as it is stored; none if it is larger than a publisher's may be."""
    small = len(json.dumps(values, ensure_ascii=False).encode()) <= MAX_METADATA_BYTES
    return metadata_pairs(values) if small else ()
