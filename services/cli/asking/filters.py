"""Filters on the command line: `--filter NAME=VALUE`, repeated, in the shape of the API's `filters`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from graphtide.services.cli.exit_codes import USAGE, CommandError

LISTS = ("doc_ids", "sources")
DATES = ("occurred_from", "occurred_to", "as_of")
METADATA = "metadata."
HELP = (
    "A condition on the passages' documents, such as sources=wire, doc_ids=contract, occurred_from=2024,"
    " occurred_to=2025-06, as_of=2024 or metadata.team=legal. Repeat it for further conditions, and for further values"
    " of sources and doc_ids."
)


def filters_of(conditions: Sequence[str]) -> dict[str, Any]:
    """Return the filters of the conditions. Raises CommandError for a condition that is none.

    A value of metadata is JSON where it can be read as JSON, such as 1911 or true, and text otherwise.
    """
    found: dict[str, Any] = {}
    for condition in conditions:
        name, separator, value = condition.partition("=")
        if separator and name in LISTS:
            found.setdefault(name, []).append(value)
        elif separator and name in DATES:
            found[name] = value
        elif separator and name.startswith(METADATA) and name != METADATA:
            found.setdefault("metadata", {})[name.removeprefix(METADATA)] = _json_or_text(value)
        else:
            known = ", ".join((*LISTS, *DATES, f"{METADATA}KEY"))
            raise CommandError(f"{condition!r} is not a filter; write NAME=VALUE, with one of the names {known}", USAGE)
    return found


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value
