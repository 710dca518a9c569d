"""The records of JSON lines: each is a document, identified by its id, or by its content without one.

Never by its line: a record keeps its id when lines are added above it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from graphtide.infra.files.types import FileDocument, RecordProblem

_FIELDS = frozenset({"text", "title", "source", "occurred_at", "metadata", "entities", "facts", "media_type"})
_IDS = ("id", "_id", "uuid", "key")
_DATES = ("occurred_at", "date", "created_at", "created", "timestamp")
_TITLES = ("title", "subject", "name", "summary")


def read_records(text: str) -> Iterator[FileDocument | RecordProblem]:
    """Yield the records of all lines. Of several records with one id the last one counts, and the others are named."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    found = {number: _record(line) for number, line in lines}
    last = {entry.key: number for number, entry in found.items() if isinstance(entry, FileDocument)}
    for number, entry in found.items():
        if entry is None:
            yield RecordProblem(number, "is not a JSON object; write one object per line")
        elif not entry.text.strip():
            yield RecordProblem(number, "text is missing; add it, or other fields than the id")
        elif last[entry.key] != number:
            yield RecordProblem(number, f"has the id {entry.key!r} of line {last[entry.key]}; give it another id")
        else:
            yield entry


def own_id(record: Mapping[str, Any]) -> str:
    """Return the record's own id, "" without one."""
    for name in _IDS:
        value = record.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value)
    return ""


def content_key(record: Mapping[str, Any]) -> str:
    """Return 16 hex characters that identify the content of a record."""
    canonical = json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return blake2b(canonical.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def _record(line: str) -> FileDocument | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    key, has_id = own_id(record) or content_key(record), bool(own_id(record))
    if isinstance(record.get("text"), str) and set(record) <= _FIELDS | {"id"}:
        body = {name: value for name, value in record.items() if name != "id"}
        return FileDocument(record["text"], str(record.get("media_type", "")), key, body=body, has_id=has_id)
    title = next((str(record[name]) for name in _TITLES if isinstance(record.get(name), str)), "")
    date = next((str(record[name]) for name in _DATES if isinstance(record.get(name), str)), "")
    return FileDocument(_text(record), "text/plain", key, title, date, has_id=has_id)


def _text(record: Mapping[str, Any]) -> str:
    """Return a record as text: its `text` or `body`, then one line for each other field."""
    main = next((name for name in ("text", "body", "content") if isinstance(record.get(name), str)), "")
    filled = {name: value for name, value in record.items() if name != main and value not in (None, "", [])}
    if not set(filled) - set(_IDS):
        return str(record.get(main, ""))
    rest = [f"{name}: {_value(value)}" for name, value in filled.items()]
    return "\n\n".join(filter(str.strip, [str(record.get(main, "")), "\n".join(rest)]))


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(inner)}" for name, inner in value.items())
    return " ".join(str(value).split())
