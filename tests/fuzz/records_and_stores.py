"""Fuzz targets of other systems' data: records of source topics, registry values, foreign stores, listings, files."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import FileDocument, UnreadableFileError
from graphtide.infra.imports.stores import open_store
from graphtide.infra.imports.types import UnreadableStoreError
from graphtide.infra.sources.decoder import DirectValues, MappedTopics
from graphtide.infra.sources.mapping import SourceMapping
from graphtide.infra.sources.registry import decode_value, parse_avro
from graphtide.services.api.schema.errors import MalformedRequest, TooLarge
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.events import EventReader
from graphtide.services.cli.sync.remote import RemoteTree
from graphtide.services.cli.sync.scan import scan_tree
from graphtide.services.cli.sync.state import KnownFile, read_state
from graphtide.services.cli.sync.tree import SourceUnavailableError
from graphtide.streams.changes.commit_header import COMMIT, commit_origin
from graphtide.streams.errors import Invalid, Rejected
from graphtide.streams.messages import decode_document
from graphtide.streams.ports import Position
from graphtide.streams.publish_changes.records import is_removal, removal_of, version_in
from graphtide.streams.sources.types import Headers, SourceRecord

_SCRATCH = tempfile.TemporaryDirectory(prefix="graphtide-fuzz-")
_TOPIC = "shop.public.contracts"
_COLUMNS = ("id", "name", "text", "amount")
_MAPPINGS = (
    SourceMapping(topic=_TOPIC, graph="g", text="{name?}{text?}", occurred_at="{at?}", metadata=["amount?"]),
    SourceMapping(topic=_TOPIC, graph="{name}", id="{id}", text="{text?}", format="row", delete_when="name?"),
    SourceMapping(topic=_TOPIC, graph="g", text="{name}", metadata={"lsn": "{@source.lsn?}"}, format="debezium"),
    SourceMapping(topic=_TOPIC, graph="g", id="{@subject?}{@id}", text="{text}", format="cloudevents"),
)
_SCHEMAS = (
    {"type": "record", "name": "Row", "fields": [{"name": name, "type": ["null", "string"]} for name in _COLUMNS]},
    {"type": "record", "name": "Tree", "fields": [{"name": "inner", "type": {"type": "array", "items": "Tree"}}]},
    {
        "type": "record",
        "name": "Types",
        "fields": [
            {"name": "decimal", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "day", "type": {"type": "int", "connect.name": "io.debezium.time.Date"}},
            {"name": "moment", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
            {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
            {"name": "fixed", "type": {"type": "fixed", "name": "Four", "size": 4}},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["a", "b"]}},
            {"name": "more", "type": {"type": "map", "values": ["null", "double", {"type": "array", "items": "long"}]}},
        ],
    },
)


class _Registry:
    """A registry with _SCHEMAS under their numbers."""

    async def decode(self, data: bytes) -> object:
        number = int.from_bytes(data[1:5], "big") % (len(_SCHEMAS) + 1)
        schema = parse_avro(json.dumps(_SCHEMAS[number]), {}, number) if number < len(_SCHEMAS) else None
        return decode_value(data.ljust(6, b"\0"), schema, number)

    async def close(self) -> None:
        pass


def source_record(data: bytes) -> None:
    """The first line is a record's headers, the second its key, the rest its value; "-" is a null key or value."""
    headers, key, value = _three(data)
    record = SourceRecord(_TOPIC, Position(0, 0), _or_null(key), _or_null(value), _headers(headers))
    for mapping in _MAPPINGS:
        with suppress(Rejected):
            for change in _run(MappedTopics({_TOPIC: mapping}, _Registry()).decode(record)):
                if change.document is not None:
                    assert decode_document("g|a", change.document.encode()).text == change.document.text


def direct_value(data: bytes) -> None:
    """The first line is the headers of a record in `documents`, the second its key, the rest its value."""
    headers, key, value = _three(data)
    for mappings in ({}, {"g": SourceMapping(topic="documents", graph="g", text="{name?}{text?}")}):
        with suppress(Rejected):
            DirectValues(mappings).decode(key.decode("utf-8", "replace"), value, _headers(headers))


def event_body(data: bytes) -> None:
    """The first line is the headers of a request, the rest a CloudEvent in each of the three modes."""
    lines, _, body = data.partition(b"\n")
    headers = {name: value.decode("latin-1") for name, value in _headers(lines)}
    reader = EventReader("g", DirectValues({}), RequestLimits())
    for read in (reader.read_structured, reader.read_batch, lambda raw: reader.read_binary(headers, raw)):
        with suppress(Invalid, MalformedRequest, TooLarge):
            for change in read(body).changes:
                if change.document is not None:
                    assert decode_document("g|a", change.document.encode()).text == change.document.text


def avro_value(data: bytes) -> None:
    """The first line is a schema, the rest a value in its format."""
    schema, _, value = data.partition(b"\n")
    with suppress(Rejected):
        found = parse_avro(schema.decode("utf-8", "replace"), {}, 1)
        json.dumps(decode_value(b"\0\0\0\0\1" + value, found, 1))


def graph_change(data: bytes) -> None:
    """The first line is the header of a version, the rest the value of a record of `graph-changes`."""
    version, _, value = data.partition(b"\n")
    assert version_in((("version", version),)) >= 0
    with suppress(Rejected):
        assert is_removal(value) or is_removal(removal_of(value))


def commit(data: bytes) -> None:
    import zlib

    for header in (data, zlib.compress(data, 1)):
        commit_origin(((COMMIT, header),))


def lightrag_store(data: bytes) -> None:
    """Three parts, separated by lines "--": chunks, GraphML, and the lists of chunks by entity."""
    names = ("kv_store_text_chunks.json", "graph_chunk_entity_relation.graphml", "kv_store_entity_chunks.json")
    _read_store(_folder("lightrag", dict(zip(names, data.split(b"\n--\n"), strict=False))))


def graphrag_store(data: bytes) -> None:
    """A table of text units with other bytes than those that were written."""
    for name in ("text_units", "entities"):
        _read_store(_folder("graphrag", {**_tables(), f"{name}.parquet": data}))


def graphrag_rows(data: bytes) -> None:
    """Tables of any JSON rows: an object with the rows of each table."""
    from pyarrow import ArrowException, Table
    from pyarrow.parquet import write_table

    try:
        rows = json.loads(data)
        tables = {name: Table.from_pylist(rows[name]) for name in ("text_units", "entities", "relationships")}
        folder = _folder("rows", {})
        for name, table in tables.items():
            write_table(table, folder / f"{name}.parquet")
    except (ArrowException, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return  # no table
    _read_store(folder)


def listing(data: bytes) -> None:
    """The first line is a folder's listing as fsspec returns it, the rest the content of every file."""
    listed, _, content = data.partition(b"\n")
    try:
        entries = json.loads(listed)
    except (ValueError, RecursionError):
        return
    with suppress(SourceUnavailableError):
        found = scan_tree(RemoteTree("memory://notes", _Store(entries, content), "notes"))
        assert all(file.size >= 0 and ".." not in name.split("/") for name, file in found.files.items())


class _Store:
    """A store of fsspec with one listing for the root, and none below."""

    def __init__(self, entries: Any, content: bytes) -> None:
        self._entries = entries
        self._content = content

    def invalidate_cache(self) -> None:
        pass

    def ls(self, path: str, detail: bool) -> Any:
        if path != "notes":
            raise FileNotFoundError(path)
        return self._entries

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        return self._content[start:end]


def sync_state(data: bytes) -> None:
    folder = _folder("state", {"state.json": data})
    state = read_state(folder / "state.json")
    assert all(isinstance(known, KnownFile) for known in state.files.values())
    state.save()


def file_of_any_kind(data: bytes) -> None:
    """The first line is a file's suffix, the rest its content."""
    suffix, _, raw = data.partition(b"\n")
    with suppress(UnreadableFileError):
        for found in read_bytes(raw, f"2024-05-31 note.{suffix[:8].decode('ascii', 'replace')}"):
            if isinstance(found, FileDocument):
                found.text.encode(errors="surrogatepass")


def _read_store(folder: Path) -> None:
    with suppress(UnreadableStoreError):
        store = open_store(folder)
        for passage in store.passages():
            passage.text.encode()
            assert all(each.weight > 0 for each in passage.relations)


def _three(data: bytes) -> tuple[bytes, bytes, bytes]:
    first, _, rest = data.partition(b"\n")
    second, _, third = rest.partition(b"\n")
    return first, second, third


def _or_null(data: bytes) -> bytes | None:
    return None if data == b"-" else data


def _headers(line: bytes) -> Headers:
    """Return the headers in a line: `name=value` separated by tabs."""
    pairs = (each.partition(b"=") for each in line.split(b"\t") if each)
    return tuple((name.decode("latin-1"), value) for name, _, value in pairs)


def _run(decoding: Coroutine[Any, Any, Sequence[Any]]) -> Sequence[Any]:
    with asyncio.Runner() as runner:
        return runner.run(decoding)


def _folder(name: str, files: dict[str, bytes]) -> Path:
    folder = Path(_SCRATCH.name) / name
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    for file_name, content in files.items():
        (folder / file_name).write_bytes(content)
    return folder


@cache
def _tables() -> dict[str, bytes]:
    """Return the tables of a small store of GraphRAG."""
    return dict(_written())


def _written() -> Iterator[tuple[str, bytes]]:
    from pyarrow import BufferOutputStream, Table
    from pyarrow.parquet import write_table

    units = [{"id": "u1", "text": "Ana met Bo.", "document_ids": ["d1"], "human_readable_id": 1}]
    entities = [{"title": name, "type": "PERSON", "description": "", "text_unit_ids": ["u1"]} for name in ("Ana", "Bo")]
    relations = [{"source": "Ana", "target": "Bo", "description": "met", "weight": 1.0, "text_unit_ids": ["u1"]}]
    for name, rows in (("text_units", units), ("entities", entities), ("relationships", relations)):
        write_table(Table.from_pylist(rows), stream := BufferOutputStream())
        yield f"{name}.parquet", stream.getvalue().to_pybytes()


TARGETS = (
    source_record,
    direct_value,
    event_body,
    avro_value,
    graph_change,
    commit,
    lightrag_store,
    graphrag_store,
    graphrag_rows,
    listing,
    sync_state,
    file_of_any_kind,
)
