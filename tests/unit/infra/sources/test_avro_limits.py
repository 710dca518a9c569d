"""Avro values that would stop the process: their schema is refused, or they are read without the compiled reader."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from graphtide.infra.sources.registry import AvroSchema, decode_value, parse_avro
from graphtide.streams.errors import Rejected

HEADER = b"\0\0\0\0\1"
EMPTY = {"type": "record", "name": "Empty", "fields": []}
CHAIN = {"type": "record", "name": "Chain", "fields": [{"name": "next", "type": ["null", "Chain"]}]}


def parsed(schema: Any) -> AvroSchema:
    return parse_avro(json.dumps(schema), {}, 1)


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


@pytest.mark.parametrize(
    "items",
    [
        "null",
        EMPTY,
        {"type": "fixed", "name": "None", "size": 0},
        {"type": "record", "name": "Pair", "fields": [{"name": "a", "type": "null"}, {"name": "b", "type": EMPTY}]},
    ],
    ids=["null", "record", "fixed", "nested"],
)
def test_array_of_items_without_bytes_is_refused(items: Any) -> None:
    """Ten bytes could announce a billion of them; the array may be in any part of the schema."""
    places = (array(items), {"type": "map", "values": array(items)}, ["null", array(array(items))])
    for schema in (*places, {"type": "record", "name": "Row", "fields": [{"name": "x", "type": array(items)}]}):
        with pytest.raises(Rejected, match="items take no bytes"):
            parsed(schema)


def test_usual_schemas_are_read_by_the_compiled_reader() -> None:
    """Rows with lists, options and repeated named types are neither refused nor recursive."""
    point = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}]}
    fields = [
        {"name": "tags", "type": array("string")},
        {"name": "from", "type": point},
        {"name": "to", "type": ["null", "Point"]},
        {"name": "all", "type": array("Point")},
        {"name": "none", "type": "null"},
    ]
    found = parsed({"type": "record", "name": "Row", "fields": fields})
    assert not found.is_recursive
    value = decode_value(HEADER + b"\x02\x02a\0" + b"\x04" + b"\0" + b"\x02\x02\0", found, 1)
    assert value == {"tags": ["a"], "from": {"x": 2}, "to": None, "all": [{"x": 1}], "none": None}


def test_recursive_value_is_read() -> None:
    found = parsed(CHAIN)
    assert found.is_recursive
    assert decode_value(HEADER + b"\x02\x02\0", found, 1) == {"next": {"next": {"next": None}}}


def test_recursive_value_that_is_nested_too_deeply_is_refused() -> None:
    """In a process of its own: the compiled reader would end it by a signal."""
    script = (
        "import sys; from tests.unit.infra.sources import test_avro_limits as t\n"
        "try: t.decode_value(t.HEADER + b'\\x02' * 500_000, t.parsed(t.CHAIN), 1)\n"
        "except t.Rejected as error: print(error)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0 and "RecursionError" in ended.stdout, ended
