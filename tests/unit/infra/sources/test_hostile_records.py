"""Hostile records: whatever keys, values and headers are, a record is mapped or refused, and never fails otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide.infra.sources.decoder import DirectValues
from graphtide.infra.sources.mapping import SourceMapping
from graphtide.streams.errors import Rejected
from graphtide.streams.messages import decode_document
from tests.support.source_records import change, decoded, mapping

DEEP = "[" * 50_000 + "]" * 50_000
ROW = {"id": 1, "name": "Boiler", "signer": "Ana"}
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
fields = st.sampled_from(
    (
        *("op", "before", "after", "source", "payload", "schema", "specversion", "id", "data", "data_base64", "time"),
        *("type", "name", "lsn", "ts_ms", "snapshot", "fields", "field", "parameters", "scale", "text", "__op"),
    )
)
kinds = st.sampled_from(["c", "d", "t", "struct", "array", "int32", "1.0", "io.debezium.time.Date", "true", "text"])
bodies = st.recursive(
    values | kinds,
    lambda inner: st.dictionaries(fields, inner, max_size=6) | st.lists(inner, max_size=3),
    max_leaves=25,
)
headers = st.lists(
    st.tuples(
        st.sampled_from(["ce_id", "ce_specversion", "ce_type", "ce_source", "ce_time", "content-type"]), st.binary()
    ),
    max_size=5,
)
CHOICES = [
    mapping(occurred_at="{at?}", metadata=["a?"], title="{b.c?}"),
    mapping(id="{id}", graph="{name}", text="{text?}{name?}", delete_when="name?", format="row"),
    mapping(format="debezium", metadata={"x": "{@source.lsn?}"}),
    mapping(format="cloudevents", id="{@subject?}{@id}"),
]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(CHOICES), bodies, bodies, headers)
async def test_record_is_mapped_or_refused_whatever_it_contains(
    chosen: SourceMapping, key: Any, value: Any, sent: list[tuple[str, bytes]]
) -> None:
    """A mapped document can be stored and read again."""
    try:
        found = await decoded(chosen, key, value, tuple(sent))
    except Rejected as error:
        assert str(error)
        return
    for each in found:
        if each.document is not None:
            assert decode_document("g|a", each.document.encode()).text == each.document.text


@settings(max_examples=50, deadline=None)
@given(bodies, headers)
def test_direct_value_is_read_or_refused_whatever_it_contains(value: Any, sent: list[tuple[str, bytes]]) -> None:
    """A value in `documents`, with a mapping and without."""
    for direct in (DirectValues({}), DirectValues({"g": mapping(topic="documents", graph="g")})):
        try:
            direct.decode("g|a", json.dumps(value).encode(), tuple(sent))
        except Rejected:
            continue


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        DEEP.encode(),
        b'{"op":"c","after":' + DEEP.encode() + b"}",
        b'{"op":"c","after":{"id":1,"name":' + DEEP.encode() + b',"signer":""}}',
        b'{"op":"c","after":[1]}',
        b'{"op":"c","after":null}',
        b'{"op":"c","before":{},"source":5}',
        b'{"op":"u","after":{"id":1,"name":"\\ud800","signer":null}}',
        b'{"op":"c","after":{"id":"a\\u0000b","name":"x"}}',
        b'{"op":"c","after":{"id":1,"name":"a\\u0000b"}}',
        b'{"op":"c","after":{"id":' + b"9" * 10_000 + b',"name":"x"}}',
        b'{"schema":{"type":"struct"},"payload":{"op":"c","after":{"id":{}}}}',
        b'{"specversion":"1.0","id":"a","source":"s","type":"t","data":' + DEEP.encode() + b"}",
        b"\0\0\0\0\1abc",
    ],
    ids=range(19),
)
async def test_hostile_value_is_refused_with_cause_and_remedy(value: bytes) -> None:
    """Empty, no JSON, nested without end, wrong types, no row, lone surrogates, NUL, digits, a schema's format."""
    chosen = mapping(id="{id}", title="{name}", text="{name}{signer?}")
    try:
        found = await decoded(chosen, {"id": 1}, value)
    except Rejected as error:
        assert len(str(error)) < 1_000
        return
    assert value == b"null" and found[0].document is None


@pytest.mark.parametrize(
    "key", [b"\xff\xfe", b"\0\0\0\0\1abc", b"[" * 50_000, b'{"id":null}', b"5", b"null", b'"x"', b"Struct{id=1}"]
)
async def test_hostile_key_is_refused_or_names_the_row(key: bytes) -> None:
    """A key that is no JSON is text."""
    try:
        [found] = await decoded(mapping(), key, change("c", ROW))
    except Rejected:
        return
    assert found.doc_id.startswith("contracts/")


async def test_large_row_is_mapped() -> None:
    """A text of 8 MB, and 5,000 columns."""
    [found] = await decoded(mapping(), {"id": 1}, change("c", {**ROW, "name": "word " * 1_600_000}))
    assert found.document is not None
    assert len(found.document.text) > 8_000_000
    wide = {f"c{n}": n for n in range(5_000)}
    with pytest.raises(Rejected) as caught:
        await decoded(mapping(text="{missing}"), {"id": 1}, change("c", wide))
    assert len(str(caught.value)) < 1_000


async def test_refusal_contains_no_value_of_the_row() -> None:
    """Reasons are shown to operators and logged beside the record's place: column names alone."""
    for value in (
        change("c", {**ROW, "id": None, "notes": "SECRET"}),
        change("c", {"id": 1, "notes": "SECRET"}),
        change("u", {**ROW, "notes": "SECRET\0"}),
        {"specversion": "1.0", "id": "e", "source": "s", "type": "t", "data": ["SECRET"]},
    ):
        with pytest.raises(Rejected) as caught:
            await decoded(mapping(id="{id}", text="{name}{notes?}"), None, value)
        assert "SECRET" not in str(caught.value)
