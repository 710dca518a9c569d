"""Templates of a mapping: text with the names of fields in braces, such as `{name} signed on {signed_on}`.

`{a.b}` is a field of a nested object, `{@subject}` an attribute of the envelope, `{notes?}` a field that a record may
lack; `{{` and `}}` are braces. A null field gives no text. Nothing in a record is interpreted as a template.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter

from graphtide.streams.errors import Rejected

MAX_NAMED = 20
"""Number of a record's fields that an error names."""
UNAVAILABLE = "__debezium_unavailable_value"
_UNAVAILABLE_BASE64 = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields that a template sees: those of the row, and `attributes` of the envelope."""

    row: Mapping[str, object]
    attributes: Mapping[str, object]

    def value(self, path: str) -> object:
        """Return the value at a path; None for a path that ends in `?` and is absent.

        Raises Rejected for an absent field, and for one that the change does not contain because it is unchanged.
        """
        name = path.removesuffix("?")
        found = _look_up(self.row, self.attributes, name)
        if found is _MISSING:
            if path.endswith("?"):
                return None
            raise Rejected(self._absent(name))
        if is_unavailable(found):
            raise Rejected(
                f"the change does not contain the column {name!r}, which PostgreSQL omits when it is long and"
                " unchanged: run ALTER TABLE ... REPLICA IDENTITY FULL on the table, then update the row"
            )
        return found

    def _absent(self, name: str) -> str:
        known = ", ".join(list(self.row)[:MAX_NAMED]) or "none"
        more = ", ..." if len(self.row) > MAX_NAMED else ""
        return (
            f"the record has no field {name!r}; it has: {known[:400]}{more}. Correct the mapping in the sources"
            f" file, or write {{{name}?}} if records may lack the field"
        )


class Template:
    """A parsed template. Raises ValueError for a malformed one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts: list[tuple[str, str | None]] = []
        for literal, name, spec, conversion in Formatter().parse(text):
            if name is not None and (not name.strip("@?") or spec or conversion):
                raise ValueError(f"{text[:80]!r} has a field without a plain name: write {{name}}, or {{{{ for a brace")
            self._parts.append((literal, name))

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths in the template, each as it is written."""
        return tuple(dict.fromkeys(name for _, name in self._parts if name is not None))

    def render(self, fields: Fields) -> str:
        """Return the text. Raises Rejected for an absent field."""
        return "".join(literal + ("" if name is None else as_text(fields.value(name))) for literal, name in self._parts)

    def is_blank(self, fields: Fields) -> bool:
        """Return True if every field in the template is null or blank. Raises Rejected for an absent field."""
        return all(not as_text(fields.value(name)).strip() for name in self.paths)


def is_unavailable(value: object) -> bool:
    """Return True for Debezium's placeholder of a value that the change does not contain."""
    if isinstance(value, list):
        return len(value) == 1 and is_unavailable(value[0])
    return isinstance(value, str) and value in (UNAVAILABLE, _UNAVAILABLE_BASE64)


def as_text(value: object) -> str:
    """Return the text of a JSON value: a string as it is, null as nothing, an object or a list as compact JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _look_up(row: Mapping[str, object], attributes: Mapping[str, object], name: str) -> object:
    container, path = (attributes, name[1:]) if name.startswith("@") else (row, name)
    if path in container:
        return container[path]
    found: object = container
    for step in path.split("."):
        if not isinstance(found, Mapping) or step not in found:
            return _MISSING
        found = found[step]
    return found
