"""Checks of parsed Avro schemas: those whose values are not bounded by their bytes.

A schema comes from a registry that several teams write to. Two forms let a short value stop the process: an array of
items without bytes, whose number alone decides the time, and a type that contains itself, whose nesting decides the
depth of the stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Named = Mapping[str, Any]


def unbounded_array(schema: Any, named: Named) -> bool:
    """Return True if the schema contains an array whose items may take no bytes."""
    return any(
        isinstance(each, dict) and each.get("type") == "array" and _is_empty(each["items"], named, frozenset())
        for each in _all_types(schema, named)
    )


def has_cycle(schema: Any, named: Named) -> bool:
    """Return True if a type of the schema contains itself, directly or in another type."""
    return _reaches_itself(schema, named, frozenset(), set())


def _all_types(schema: Any, named: Named) -> Iterator[Any]:
    """Yield the schema and every type in it, each named type once."""
    seen: set[str] = set()
    waiting = [schema]
    while waiting:
        found = waiting.pop()
        name = found if isinstance(found, str) else found.get("name") if isinstance(found, dict) else None
        if isinstance(name, str) and name in named:
            if name in seen:
                continue
            seen.add(name)
            found = named[name]
        yield found
        waiting.extend(_inner(found))


def _inner(schema: Any) -> list[Any]:
    if isinstance(schema, list):
        return schema
    if not isinstance(schema, dict):
        return []
    fields = [field["type"] for field in schema.get("fields", ())]
    parts = [schema[part] for part in ("items", "values") if part in schema]
    own = schema.get("type")
    return [*fields, *parts, *([own] if isinstance(own, list | dict) else [])]


def _is_empty(schema: Any, named: Named, within: frozenset[str]) -> bool:
    """Return True if a value of the type may take no bytes: null, an empty `fixed`, or a record of such fields."""
    if isinstance(schema, str):
        if schema not in named:
            return schema == "null"
        return schema not in within and _is_empty(named[schema], named, within | {schema})
    if not isinstance(schema, dict):
        return False
    kind = schema.get("type")
    if kind in ("record", "error"):
        return all(_is_empty(field["type"], named, within | {schema["name"]}) for field in schema["fields"])
    if kind == "fixed":
        return not schema["size"]
    return kind == "null" or (isinstance(kind, dict) and _is_empty(kind, named, within))


def _reaches_itself(schema: Any, named: Named, within: frozenset[str], done: set[str]) -> bool:
    name = schema if isinstance(schema, str) else schema.get("name") if isinstance(schema, dict) else None
    if isinstance(name, str) and name in named:
        if name in within:
            return True
        if name in done:
            return False
        done.add(name)
        schema, within = named[name], within | {name}
    return any(_reaches_itself(each, named, within, done) for each in _inner(schema))
