"""Debezium's envelopes as documents: recorded ones of PostgreSQL in every format, and the rules of identity."""

from __future__ import annotations

from typing import Any

import pytest

from graphtide.streams.errors import Rejected
from graphtide.streams.sources.types import SourceChange
from tests.support.source_records import change, decoded, mapping, recorded

FULL = mapping(
    text="{name} was signed by {signer} on {signed_on} for {amount}.",
    title="{name}",
    occurred_at="{signed_on}",
    metadata=["tags", "at", "made"],
)
ROW = {"id": 1, "name": "Boiler", "signer": "Ana"}


async def outcomes(name: str, **fields: Any) -> list[tuple[str, str]]:
    """Return (id, text) of each change in the recorded envelopes: "" for a deletion, "refused" for a refusal."""
    found: list[tuple[str, str]] = []
    for key, value in recorded(name):
        try:
            changes = await decoded(mapping(text="{name}: {signer}", **fields), key, value)
        except Rejected as error:
            found.append(("refused", str(error)))
            continue
        found += [(each.doc_id, each.document.text if each.document else "") for each in changes]
    return found


@pytest.mark.parametrize("name", ["schema", "bare", "events", "unwrapped"])
async def test_recorded_changes_give_the_same_documents_in_every_format(name: str) -> None:
    """Insert, update, a new primary key, deletion, with tombstones where the format has them."""
    found = await outcomes(name)
    once = [each for at, each in enumerate(found) if each != (found[at - 1] if at else None)]
    assert once == [
        ("contracts/1", "Boiler: Ana Ruiz"),
        ("contracts/2", "Pump: Bo"),
        ("contracts/2", "Pump: Cy"),
        ("contracts/2", ""),
        ("contracts/3", "Pump: Cy"),
        ("contracts/3", ""),
        ("contracts/1", "Boiler: Ana Ruiz"),
    ]


@pytest.mark.parametrize("name", ["schema", "events"])
async def test_logical_types_are_readable_when_the_schema_is_present(name: str) -> None:
    """Dates, decimals and timestamps arrive as numbers and bytes; the schema says what they are."""
    key, value = recorded(name)[0]
    [found] = await decoded(FULL, key, value)
    assert found.document is not None
    assert found.document.text == "Boiler was signed by Ana Ruiz on 2025-11-22 for 1234.50."
    assert (found.document.info.title, found.document.info.occurred_at) == ("Boiler", "2025-11-22")
    assert dict(found.document.info.metadata) == {
        "tags": '["a","b"]',
        "at": '"2025-11-22T09:00:00.000000Z"',
        "made": '"2025-11-22T10:00:00.500000"',
    }


@pytest.mark.parametrize("name", ["schema", "bare", "events", "unwrapped"])
async def test_update_is_refused_when_it_lacks_a_mapped_long_column(name: str) -> None:
    """PostgreSQL omits a long unchanged column: its placeholder never becomes a document's text."""
    found = []
    for key, value in recorded(name):
        try:
            found += [
                each.document.text for each in await decoded(mapping(text="{notes}"), key, value) if each.document
            ]
        except Rejected as error:
            found.append(str(error).split(":")[0])
    missing = "the change does not contain the column 'notes', which PostgreSQL omits when it is long and unchanged"
    assert found == ["A long text, unchanged by the update.", missing, missing]


async def test_update_takes_a_long_column_from_the_row_before() -> None:
    """With REPLICA IDENTITY FULL the old row is present."""
    before = {**ROW, "notes": "long"}
    after = {**ROW, "notes": "__debezium_unavailable_value"}
    [found] = await decoded(mapping(text="{notes}"), {"id": 1}, change("u", after, before=before))
    assert found.document is not None
    assert found.document.text == "long"


async def test_row_moves_when_a_column_of_its_id_changes() -> None:
    """The document under the old id is deleted: no stale one stays."""
    chosen = mapping(id="{region}-{id}", graph="{region}")
    value = change("u", {**ROW, "region": "south"}, before={**ROW, "region": "north"})
    found = await decoded(chosen, {"id": 1}, value)
    assert [(each.graph, each.doc_id, each.document is None) for each in found] == [
        ("north", "north-1", True),
        ("south", "south-1", False),
    ]


@pytest.mark.parametrize("operation", ["u", "d"])
@pytest.mark.parametrize("before", [None, {"id": 1, "region": ""}, {"id": 1, "region": 0}, {"id": 1, "region": None}])
async def test_change_is_refused_when_the_old_identity_is_unknown(
    operation: str, before: dict[str, Any] | None
) -> None:
    """Without REPLICA IDENTITY FULL, columns outside the key are absent, null, empty or zero in the old row."""
    after = {**ROW, "region": "south"} if operation == "u" else None
    with pytest.raises(Rejected, match="REPLICA IDENTITY FULL"):
        await decoded(mapping(id="{region}-{id}"), {"id": 1}, change(operation, after, before=before))


async def test_deletion_and_tombstone_delete_when_the_key_identifies_the_row() -> None:
    """The row before is not needed."""
    for value in (change("d", None), change("d", None, before={"id": 1, "name": ""}), None):
        [found] = await decoded(mapping(), {"id": 1}, value)
        assert (found.doc_id, found.document) == ("contracts/1", None)


async def test_tombstone_is_ignored_when_the_key_does_not_identify_the_document() -> None:
    """The deletion before it has done the work, or was refused."""
    assert not await decoded(mapping(id="{region}-{id}"), {"id": 1}, None)
    assert not await decoded(mapping(), None, None)


@pytest.mark.parametrize("name", ["text", "soft"])
async def test_row_without_a_text_or_marked_as_deleted_has_no_document(name: str) -> None:
    """The document is deleted, so that the documents are a function of the rows."""
    row = {**ROW, "deleted_at": None, "body": "Text."}
    row |= {"body": " "} if name == "text" else {"deleted_at": "2025-01-01"}
    chosen = mapping(text="{body}", delete_when="deleted_at")
    [found] = await decoded(chosen, {"id": 1}, change("u", row))
    assert found.document is None
    [found] = await decoded(chosen, {"id": 1}, change("u", {**row, "body": "Text.", "deleted_at": None}))
    assert found.document is not None


async def test_operations_are_mapped_when_the_mapping_names_them() -> None:
    """Truncation is refused with the remedy, and may be ignored; deletions may be ignored, as for an archive."""
    with pytest.raises(Rejected, match="TRUNCATE does not name the rows"):
        await decoded(mapping(), None, change("t", None))
    assert not await decoded(mapping(operations={"t": "ignore"}), None, change("t", None))
    assert not await decoded(mapping(operations={"d": "ignore"}), {"id": 1}, change("d", None))
    assert not await decoded(mapping(), None, change("m", None))
    with pytest.raises(Rejected, match="operation 'x'"):
        await decoded(mapping(), {"id": 1}, change("x", ROW))


async def test_document_depends_on_the_row_alone_whatever_led_to_it() -> None:
    """A snapshot, an insert and an update of equal rows give equal documents: a rebuild from a snapshot is the same."""
    chosen = mapping(metadata=["meta"])
    rows = ({**ROW, "meta": {"a": 1, "b": [2]}}, {"meta": {"b": [2], "a": 1}, **ROW})
    found: list[SourceChange] = []
    for at, operation in enumerate("rcu"):
        found += await decoded(chosen, {"id": 1}, change(operation, rows[at % 2], lsn=at))
    assert len({each.document for each in found}) == 1


async def test_occurred_at_reads_numbers_by_their_unit_or_magnitude() -> None:
    """Without a schema a time is a number; a text must be a date."""
    for value, unit, expected in (
        (20414, "d", "2025-11-22"),
        (1763805600, "", "2025-11-22T10:00:00Z"),
        (1763805600500, "", "2025-11-22T10:00:00.500000Z"),
        (1763805600500000, "", "2025-11-22T10:00:00.500000Z"),
        ("2025-11", "", "2025-11"),
        (None, "", ""),
    ):
        chosen = mapping(occurred_at="{at}", occurred_at_unit=unit)
        [found] = await decoded(chosen, {"id": 1}, change("c", {**ROW, "at": value}))
        assert found.document is not None
        assert found.document.info.occurred_at == expected
    for wrong in ("yesterday", 10**30, 1e300):
        with pytest.raises(Rejected, match="occurred_at is"):
            await decoded(mapping(occurred_at="{at}"), {"id": 1}, change("c", {**ROW, "at": wrong}))
