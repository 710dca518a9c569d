"""Front matter: the YAML or TOML block at the start of a Markdown file, as title, date and metadata.

The block is data of a stranger. Invariants: it is read without constructing objects and without aliases, and never
larger than `MAX_CHARS`; every value is JSON; a block that is not front matter stays text.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any

import yaml

from graphtide.graph.text.dates import date_span
from graphtide.graph.text.storable import storable

MAX_CHARS = 16_384
MAX_DEPTH = 8
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader of libyaml where PyYAML has it: a tenth of the time."""
_YAML = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\A\ufeff?\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_BRACKET = re.compile(r"[\[\]{}]")
_FIELD = re.compile(r"([A-Za-z][\w -]{0,60}?)[ \t]*:(?:[ \t]+(.*))?")
_TITLES = ("title", "Title")
_DATES = ("date", "occurred_at", "Date", "created", "updated")
_LAYOUT_NAMES = """layout permalink slug template css js hide toc toc_depth sidebar sidebar_label sidebar_position
nav_order nav_exclude has_children pagination_next pagination_prev hide_title hide_table_of_contents og_image
custom_edit_url"""
_LAYOUT = frozenset(_LAYOUT_NAMES.split())
"""Fields for the program that makes the page."""
_ASSET = re.compile(r"\S{1,300}\.(?:png|jpe?g|gif|svg|webp|avif|ico|css|js|woff2?)", re.IGNORECASE)
_MALFORMED = (yaml.YAMLError, ValueError, TypeError, RecursionError, ArithmeticError, KeyError)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Fields of the front matter; `end` is the position after it, 0 when the text has none."""

    end: int = 0
    title: str = ""
    occurred_at: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


def for_readers(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that say something about the document, without those about its layout."""
    return {
        key: value
        for key, value in metadata.items()
        if key.lower() not in _LAYOUT and not (isinstance(value, str) and _ASSET.fullmatch(value))
    }


def read_front_matter(text: str) -> FrontMatter:
    """Return the front matter at the start of the text. Cost: bounded by `MAX_CHARS`."""
    head = text[:MAX_CHARS]
    found = _YAML.match(head) or _TOML.match(head)
    if found is None:
        return FrontMatter()
    fields = _toml(found[1]) if found.re is _TOML else _yaml(found[1])
    if fields is None:
        return FrontMatter()
    values = {storable(str(key)): _plain(value, 1) for key, value in fields.items()}
    title = next((name for name in _TITLES if isinstance(values.get(name), str)), "")
    dated = next((name for name in _DATES if isinstance(values.get(name), str) and date_span(values[name])), "")
    metadata = {key: value for key, value in values.items() if value not in (None, "") and key not in (title, dated)}
    return FrontMatter(found.end(), " ".join(values.get(title, "").split()), values.get(dated, ""), metadata)


def _yaml(block: str) -> dict[Any, Any] | None:
    try:
        if not _is_shallow(block):
            return None
        fields = yaml.load(block, Loader=_LOADER)  # noqa: S506 -- a safe loader
        json.dumps(_plain(fields, 0))  # a number may be too long to be written
    except _MALFORMED:
        return _lines(block)
    return fields if isinstance(fields, dict) else None


def _is_shallow(block: str) -> bool:
    """Return False for aliases, and for nesting below `MAX_DEPTH`: the parser's cost grows with its square."""
    open_brackets = 0
    for bracket in _BRACKET.finditer(block):  # the scanner itself reads far ahead of its events
        open_brackets = max(0, open_brackets + (1 if bracket[0] in "[{" else -1))
        if open_brackets > MAX_DEPTH:
            return False
    depth = 0
    for event in yaml.parse(block, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH or isinstance(event, yaml.AliasEvent):
            return False
    return True


def _toml(block: str) -> dict[Any, Any] | None:
    keys = (line.partition("=")[0] for line in block.splitlines())
    if any(key.count(".") > MAX_DEPTH for key in keys):
        return None
    try:
        fields = tomllib.loads(block)
        json.dumps(_plain(fields, 0))  # a hexadecimal number may be too long to be written
    except _MALFORMED:
        return _lines(block)
    return fields


def _lines(block: str) -> dict[Any, Any] | None:
    """Return the fields of a block that is almost YAML, such as a title with a colon; None if it is something else."""
    fields: dict[Any, Any] = {}
    for line in block.splitlines():
        if not line.strip() or line.startswith((" ", "\t", "#", "- ")):
            continue
        found = _FIELD.fullmatch(line.rstrip())
        if found is None:
            return None
        fields[found[1]] = (found[2] or "").strip().strip("\"'")
    return fields or None


def _plain(value: Any, depth: int) -> Any:
    """Return the value as JSON: dates as ISO 8601, other foreign types and deep nesting as text."""
    if isinstance(value, str):
        return storable(value)
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, dict) and depth < MAX_DEPTH:
        return {_plain(str(key), depth): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set) and depth < MAX_DEPTH:
        return [_plain(inner, depth + 1) for inner in value]
    return repr(value)[:200]
