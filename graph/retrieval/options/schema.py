"""Descriptions of the options: JSON Schema for requests, and the table in docs/options.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphtide.graph.retrieval.options.fields import MAX_NAME_CHARS, MAX_WEIGHTS, OptionField
from graphtide.graph.retrieval.options.table import SETTINGS, options_of


def options_schema() -> dict[str, Any]:
    """Return the JSON Schema of a question's options: an object for each mode, with the ranges and defaults."""
    return {"anyOf": [*mode_schemas().values(), {"type": "null"}]}


def mode_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of the options of each mode that has some, by mode."""
    return {mode: _mode_schema(mode, options_of(mode)) for mode in SETTINGS if options_of(mode)}


def _mode_schema(mode: str, known: Mapping[str, OptionField]) -> dict[str, Any]:
    return {
        "type": "object",
        "title": f"options of {mode}",
        "additionalProperties": False,
        "properties": {name: _field_schema(each) for name, each in known.items()},
    }


def _field_schema(known: OptionField) -> dict[str, Any]:
    about = {"description": known.about, "default": default_json(known)}
    if known.kind is bool:
        return {"type": "boolean", **about}
    if known.choices:
        return {"type": "string", "enum": list(known.choices), **about}
    limits = {"minimum": known.minimum, "maximum": known.maximum}
    if known.kind in (int, float):
        return {"type": "integer" if known.kind is int else "number", **limits, **about}
    names, number = {"minLength": 1, "maxLength": MAX_NAME_CHARS}, {"type": "number", **limits}
    size = {"propertyNames": names, "maxProperties": MAX_WEIGHTS}
    return {"type": "object", "additionalProperties": number, **size, **about}


def default_json(known: OptionField) -> Any:
    """Return an option's default as a JSON value."""
    return dict(known.default) if isinstance(known.default, tuple) else known.default


def options_table() -> str:
    """Return the table of all options, in Markdown."""
    return "\n".join(["| mode | option | default | range | meaning |", "| --- | --- | --- | --- | --- |", *_rows()])


def _rows() -> Iterator[str]:
    for mode in SETTINGS:
        for name, known in options_of(mode).items():
            default = default_json(known)
            shown = str(default).lower() if isinstance(default, bool) else f"{default}"
            yield f"| `{mode}` | `{name}` | {shown} | {_range(known)} | {known.about} |"


def _range(known: OptionField) -> str:
    if known.kind is bool:
        return "true, false"
    if known.choices:
        return ", ".join(known.choices)
    limits = f"{known.minimum:g} to {known.maximum:g}"
    return limits if known.kind in (int, float) else f"numbers by name, {limits}"
