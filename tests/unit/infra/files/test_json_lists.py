"""JSON files: the records of a list, as those of JSON lines; settings of programs are no documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.records import MAX_DEPTH
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError

TICKETS: list[dict[str, Any]] = [{"id": "T-1", "title": "Pump", "state": "open"}, {"text": "Lamp", "by": "Bo"}]


def read(value: object) -> list[FileDocument | RecordProblem]:
    return list(read_bytes(json.dumps(value).encode(), "t.json"))


def test_list_has_the_records_of_json_lines() -> None:
    """Also where it is nearly all of an object."""
    lines = list(read_bytes("\n".join(map(json.dumps, TICKETS)).encode(), "t.jsonl"))
    assert read(TICKETS) == read({"count": 2, "tickets": TICKETS}) == lines
    assert read([TICKETS[1], TICKETS[0]]) == lines[::-1]


def test_what_is_no_record_is_named_by_its_number() -> None:
    found = read([TICKETS[0], 3, {"id": "T-1", "text": "again"}, {"id": "T-2"}])
    assert [one.line for one in found if isinstance(one, RecordProblem)] == [1, 2, 4]


@pytest.mark.parametrize("depth", [MAX_DEPTH - 2, MAX_DEPTH - 1, 500, 900])
@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_deep_nesting_is_named(name: str, depth: int) -> None:
    """The last two are deeper than a function can call itself."""
    deep = f'{{"text": "Lamp", "x": {"[" * depth}{"]" * depth}}}'
    raw = f"[{deep}]" if name == "t.json" else deep
    fits = depth + 1 + raw.startswith("[") <= MAX_DEPTH
    try:
        [found] = read_bytes(raw.encode(), name)
        assert isinstance(found, FileDocument) is fits
        assert fits or "levels" in getattr(found, "reason", "")
    except UnreadableFileError as error:
        assert not fits and "levels" in str(error)


@pytest.mark.parametrize(
    ("given", "day"),
    [
        (1741082400, "2025-03-04"),
        (1741082400000, "2025-03-04"),
        ("1741082400.0005", "2025-03-04"),
        ("3 March", ""),
        (12, ""),
    ],
)
def test_time_since_1970_is_a_date(given: object, day: str) -> None:
    [one] = read([{"ts": given, "text": "hello", "user": "U1"}])
    assert isinstance(one, FileDocument) and one.occurred_at == (day or (given if isinstance(given, str) else ""))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[",
        b"[" * 100_000,
        b"[1, 2]",
        b'{"compilerOptions": {"strict": true, "module": "esnext"}, "references": [{"path": "./a"}]}',
        b'{"a": [{"x": 1}], "b": [{"y": 2}]}',
        b"null",
    ],
)
def test_other_json_is_named_with_the_reason(raw: bytes) -> None:
    with pytest.raises(UnreadableFileError, match="is not"):
        list(read_bytes(raw, "t.json"))
