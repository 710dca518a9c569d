"""The records of JSON lines, and of a list in a JSON file: each is a document, identified by its id, or by its content.

Never by its line: a record keeps its id when lines are added above it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from graphtide.graph.text.storable import storable
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError

MAX_JSON_CHARS = 64 << 20
"""A JSON file is read as a whole, which takes some ten times its size."""
MAIN_SHARE = 0.8
MAX_DEPTH = 100
_TOO_DEEP = f"is nested in more than {MAX_DEPTH} levels; flatten it"
_FIELDS = frozenset({"text", "title", "source", "occurred_at", "metadata", "entities", "facts", "media_type"})
_IDS = ("id", "_id", "uuid", "key")
_DATES = ("occurred_at", "date", "created_at", "created", "timestamp", "ts")
_EPOCH = re.compile(r"\d{9,13}(?:\.\d{0,9})?")
MAX_EPOCH_S = 10_000_000_000
"""The year 2286: what is greater is in milliseconds."""
_TITLES = ("title", "subject", "name", "summary")


def read_records(text: str) -> Iterator[FileDocument | RecordProblem]:
    """Yield the records of all lines. Of several records with one id the last one counts, and the others are named."""
    lines = text.split("\n")
    found = {number: _record(_loaded(line)) for number, line in enumerate(lines, start=1) if line.strip()}
    for entry in with_own_ids(found, "line"):
        yield replace(entry, content=_digest(lines[entry.line - 1])) if isinstance(entry, RecordProblem) else entry


def read_json(text: str) -> Iterator[FileDocument | RecordProblem]:
    """Yield the objects of the list that the text is, or that nearly all of the object is.

    Raises UnreadableFileError for other JSON, such as the settings of a program. Cost: the file in memory as objects.
    """
    if len(text) > MAX_JSON_CHARS:
        raise UnreadableFileError(f"is longer than {MAX_JSON_CHARS >> 20} MiB; write one object per line, as .jsonl")
    loaded = _loaded(text)
    if loaded is None:
        raise UnreadableFileError("is not JSON; correct it, or rename it to .txt to publish it as text")
    if _is_deep(loaded):
        raise UnreadableFileError(_TOO_DEEP)
    records = loaded if isinstance(loaded, list) else _main_list(loaded)
    if not any(isinstance(record, dict) for record in records):
        raise UnreadableFileError("is not mainly a list of objects; write its records as .jsonl, one per line")
    yield from with_own_ids(dict(enumerate(map(_record, records), start=1)), "object")


def _main_list(loaded: object) -> Sequence[object]:
    """Return the list of an object that is nearly all of it, such as its "messages"; nothing without one."""
    if not isinstance(loaded, dict):
        return ()
    sizes = {name: len(json.dumps(value)) for name, value in loaded.items()}
    name = max(sizes, key=sizes.__getitem__, default="")
    is_main = isinstance(loaded.get(name), list) and sizes[name] >= MAIN_SHARE * sum(sizes.values())
    return loaded[name] if is_main else ()


def with_own_ids(found: Mapping[int, FileDocument | str], what: str) -> Iterator[FileDocument | RecordProblem]:
    """Yield the documents of the records by number, and the problems of the others: those with a reason, without a
    text, or with the id of a later record. `what` is a word for a record.
    """
    last = {entry.key: number for number, entry in found.items() if isinstance(entry, FileDocument)}
    for number, entry in found.items():
        if isinstance(entry, str):
            yield RecordProblem(number, entry)
        elif not entry.text.strip():
            yield RecordProblem(number, "text is missing; add it, or other fields than the id")
        elif last[entry.key] != number:
            yield RecordProblem(number, f"has the id {entry.key!r} of {what} {last[entry.key]}; give it another id")
        else:
            yield entry


def usable_id(text: str) -> str:
    """Return an id of another program without spaces, "" for one that is too long or has characters that are not
    printed.
    """
    found = storable("".join(text.split()))
    return found if 0 < len(found) <= MAX_ID_CHARS and found.isprintable() else ""


MAX_ID_CHARS = 200


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
    return _digest(canonical)


def _digest(text: str) -> str:
    """Return 16 hex characters that identify a text, without the white space around it."""
    return blake2b(text.strip().encode(errors="surrogatepass"), digest_size=8).hexdigest()


def _loaded(text: str) -> Any:
    """Return the value of a JSON text, None for another text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_deep(value: object) -> bool:
    """Return whether lists and objects are nested in more than MAX_DEPTH levels, without recursion."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for each in level if isinstance(each, list | dict) for inner in _members(each)]
        if not level:
            return False
    return any(isinstance(each, list | dict) for each in level)


def _members(value: list[Any] | dict[str, Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _record(record: object) -> FileDocument | str:
    """Return the document of a record, or the reason why it has none."""
    if not isinstance(record, dict):
        return "is not a JSON object; write one object per line"
    if _is_deep(record):
        return _TOO_DEEP
    key, has_id = own_id(record) or content_key(record), bool(own_id(record))
    if isinstance(record.get("text"), str) and set(record) <= _FIELDS | {"id"}:
        body = {name: value for name, value in record.items() if name != "id"}
        return FileDocument(record["text"], str(record.get("media_type", "")), key, body=body, has_id=has_id)
    title = next((str(record[name]) for name in _TITLES if isinstance(record.get(name), str)), "")
    date = next((found for name in _DATES if (found := _date(record.get(name)))), "")
    return FileDocument(_text(record), "text/plain", key, title, date, has_id=has_id)


def _date(value: object) -> str:
    """Return a text as it is, and a time since 1970 in seconds or milliseconds as its day in UTC; "" for others."""
    if isinstance(value, str) and not _EPOCH.fullmatch(value):
        return value
    if not isinstance(value, str | int | float) or not _EPOCH.fullmatch(str(value)):
        return ""
    seconds = float(value)
    return datetime.fromtimestamp(seconds / 1000 if seconds > MAX_EPOCH_S else seconds, UTC).date().isoformat()


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
