"""Records of sources for tests: envelopes as Debezium writes them, recorded ones, and a decoder of one mapping."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphtide.infra.sources.decoder import MappedTopics
from graphtide.infra.sources.mapping import SourceMapping
from graphtide.infra.sources.wire import Registry
from graphtide.streams.ports import Position
from graphtide.streams.sources.types import Headers, SourceChange, SourceRecord

TOPIC = "shop.public.contracts"
RECORDED = Path(__file__).parents[1] / "fixtures" / "debezium"


def mapping(**fields: Any) -> SourceMapping:
    """Return a mapping of TOPIC."""
    return SourceMapping(**{"topic": TOPIC, "graph": "contracts", "text": "{name} was signed by {signer?}.", **fields})


def change(operation: str, after: Mapping[str, Any] | None, lsn: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a Debezium envelope without a schema; `before` is null unless it is given."""
    source = {"connector": "postgresql", "lsn": lsn, "ts_ms": lsn, "snapshot": "false", "table": "contracts"}
    return {"before": None, "after": after, "op": operation, "source": source, "ts_ms": lsn, **fields}


def encoded(value: object) -> bytes | None:
    """Return the JSON of a key or value; None stays None."""
    return None if value is None else json.dumps(value).encode()


def record(key: object, value: object, offset: int = 0, headers: Headers = ()) -> SourceRecord:
    """Return a record of TOPIC; bytes are not encoded."""
    parts = [each if isinstance(each, bytes) else encoded(each) for each in (key, value)]
    return SourceRecord(TOPIC, Position(0, offset), parts[0], parts[1], headers)


async def decoded(
    chosen: SourceMapping, key: object, value: object, headers: Headers = (), registry: Registry | None = None
) -> Sequence[SourceChange]:
    """Return the changes in one record of the mapping's topic."""
    return await MappedTopics({chosen.topic: chosen}, registry).decode(record(key, value, headers=headers))


def recorded(name: str) -> list[tuple[Any, Any]]:
    """Return the keys and values that a real Debezium wrote: an insert, a row with a long column, its update, a new
    primary key, a deletion with its tombstone, and another insert.
    """
    lines = (RECORDED / f"{name}.jsonl").read_text().splitlines()
    return [(each["key"], each["value"]) for each in map(json.loads, lines)]
