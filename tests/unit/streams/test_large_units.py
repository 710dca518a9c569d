"""Units of a large extraction, whose mentions, facts and vectors are decoded when they are read."""

from __future__ import annotations

import gc
import json
import random
import tracemalloc
import weakref
from base64 import b64encode
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import ChunkContribution, DocumentChange, DocumentInfo, Extraction
from graphtide.graph.text.place import PassageKind, Place
from graphtide.streams.errors import Rejected
from graphtide.streams.messages import ExtractionMessage, decode_extraction, extractions, large_units
from graphtide.streams.messages.extractions import _decode_extraction
from graphtide.streams.messages.large_units import LARGE_RECORD_BYTES, EncodedVectors, LargeUnit
from tests.support.extractions import random_unit


def message(seed: int, units: int = 30) -> ExtractionMessage:
    """Return an extraction with places, sources and facts with periods."""
    rng = random.Random(seed)
    made = []
    for number in range(units):
        unit = random_unit(rng)
        facts = tuple(replace(fact, valid_from="2019", valid_to="2020") for fact in unit.facts)
        place = Place(("Heading",), number, 0, PassageKind.TEXT) if number % 3 else unit.place
        made.append(replace(unit, facts=facts, place=place, source="source" if number % 2 else None))
    return ExtractionMessage("g", "d", 1, Extraction("d", 1, DocumentInfo("Title"), tuple(made)))


def decoded(value: bytes, monkeypatch: pytest.MonkeyPatch, *, large: bool) -> Extraction:
    """Return the decoded extraction, as a large one or not."""
    monkeypatch.setattr(extractions, "LARGE_RECORD_BYTES", 0 if large else 1 << 60)
    found = _decode_extraction(value).extraction
    assert found is not None and all(isinstance(unit, LargeUnit) is large for unit in found.units)
    return found


def plain(value: Any) -> Any:
    """Return records and vectors as tuples that can be compared."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tobytes()
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if hasattr(value, "__dataclass_fields__"):
        return tuple(plain(getattr(value, field.name)) for field in fields(value))
    return value


@pytest.mark.parametrize("seed", range(8))
def test_units_read_as_those_that_are_decoded_at_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    value = message(seed).encode()
    small, large = (decoded(value, monkeypatch, large=large) for large in (False, True))
    assert plain(large.units) == plain(small.units)
    assert plain(large.units[::-1]) == plain(small.units[::-1])
    assert ExtractionMessage("g", "d", 1, large).encode() == value
    deltas = [Consolidator("g").apply([DocumentChange("d", None, each)]) for each in (small, large)]
    assert plain(deltas[0]) == plain(deltas[1])


def test_a_replaced_unit_is_an_ordinary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = decoded(message(1).encode(), monkeypatch, large=True).units[0]
    other = replace(unit, text="other")
    assert type(other) is ChunkContribution
    assert plain(replace(other, text=unit.text)) == plain(unit)


def many(count: int) -> bytes:
    """Return an encoded extraction of so many units with vectors of 256 values."""
    vector = np.ones(256, np.float16)
    rng = random.Random(2)
    units = [random_unit(rng) for _ in range(count)]
    wide = [
        replace(
            unit,
            vector=vector,
            mentions=tuple(replace(mention, vector=vector) for mention in unit.mentions),
            facts=tuple(replace(fact, vector=vector) for fact in unit.facts),
        )
        for unit in units
    ]
    return ExtractionMessage("g", "d", 1, Extraction("d", 1, DocumentInfo(), tuple(wide))).encode()


def test_vectors_of_a_large_extraction_are_not_in_memory_beside_its_record() -> None:
    value = many(1_500)
    assert len(value) > 2 * LARGE_RECORD_BYTES
    tracemalloc.start()
    found = decode_extraction(value)
    assert found.extraction is not None
    for unit in found.extraction.units:
        assert unit.vector.size == 256 and len(unit.mentions) + len(unit.facts) > 0
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < len(value) // 3, (kept, len(value))


def test_units_that_were_read_end_with_their_last_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cycle would keep the record, of hundreds of megabytes, until a full collection."""
    found = decoded(message(3).encode(), monkeypatch, large=True)
    gc.disable()
    try:
        assert found.units[0].mentions is found.units[0].mentions
        unit = found.units[0]
        assert isinstance(unit, LargeUnit)
        table = weakref.ref(unit._table)
        del found, unit
        assert table() is None
    finally:
        gc.enable()


def _cut(body: dict[str, Any]) -> None:
    body["vectors"] = body["vectors"][:-4]


def _fewer(body: dict[str, Any]) -> None:
    body["units"].append(body["units"][0])


def _infinite(body: dict[str, Any]) -> None:
    body["vectors"] = "AHwA" + body["vectors"][4:]


def _missing_mention(body: dict[str, Any]) -> None:
    unit = next(unit for unit in body["units"] if unit[5])
    unit[5][0][0] = 99


def _short_fact(body: dict[str, Any]) -> None:
    unit = next(unit for unit in body["units"] if unit[5])
    unit[5][0].pop()


@pytest.mark.parametrize("damage", [_cut, _fewer, _infinite, _missing_mention, _short_fact])
def test_malformed_large_extraction_is_rejected_like_a_small_one(
    damage: Callable[[dict[str, Any]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = json.loads(message(4).encode())
    body.pop("places")
    damage(body)
    value = json.dumps(body, separators=(",", ":")).encode()
    for limit in (0, 1 << 60):
        monkeypatch.setattr(extractions, "LARGE_RECORD_BYTES", limit)
        with pytest.raises(Rejected, match="malformed"):
            _decode_extraction(value)


def test_vectors_with_other_characters_are_decoded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The place of a row in such a text is unknown; blanks are accepted as before."""
    body = json.loads(message(5).encode())
    wanted = decoded(message(5).encode(), monkeypatch, large=False)
    body["vectors"] = body["vectors"][:80] + " " + body["vectors"][80:]
    value = json.dumps(body, separators=(",", ":")).encode()
    monkeypatch.setattr(extractions, "LARGE_RECORD_BYTES", 0)
    found = _decode_extraction(value).extraction
    assert found is not None and plain(found.units) == plain(wanted.units)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 5, 16])
def test_each_row_is_found_in_the_encoded_table(dimensions: int) -> None:
    """A row may begin within a group of base64."""
    rows = np.random.default_rng(dimensions).normal(size=(50, dimensions)).astype(np.float16)
    table = EncodedVectors.of(b64encode(rows.tobytes()).decode(), dimensions)
    assert table is not None and table.count == 50
    for first in range(50):
        for stop in (first, first + 1, min(50, first + 7)):
            assert np.array_equal(np.array(table.rows(first, stop)).reshape(-1, dimensions), rows[first:stop])


def test_a_table_with_padding_before_its_end_is_not_read_by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other producers may join encoded parts: rows behind the padding would be read from the wrong characters."""
    monkeypatch.setattr(large_units, "CHECKED_CHARS", 8)
    part = b64encode(np.ones(2, np.float16).tobytes()).decode()
    assert part.endswith("=") and EncodedVectors.of(part + part, 2) is None
    assert EncodedVectors.of(part, 2) is not None
