"""Options of a mode on the command line: `--option NAME=VALUE`, repeated, in the shape of the API's `options`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from graphtide.services.cli.exit_codes import USAGE, CommandError

OPTION_HELP = (
    "An option of the mode, such as hops=2, or multipliers.founded=2 for an entry of an object (docs/options.md)."
    " Repeat it for further options."
)


def options_from(given: Sequence[str]) -> dict[str, Any]:
    """Return the options of a question. A value is JSON where it can be read as JSON, and text otherwise.

    Raises CommandError for what is no option.
    """
    found: dict[str, Any] = {}
    for each in given:
        name, separator, value = each.partition("=")
        head, dot, entry = name.partition(".")
        if not separator or not head or (dot and not entry) or (dot and not isinstance(found.get(head, {}), dict)):
            raise CommandError(f"{each!r} is not an option; write NAME=VALUE, such as hops=2", USAGE)
        if dot:
            found.setdefault(head, {})[entry] = _json_or_text(value)
        else:
            found[name] = _json_or_text(value)
    return found


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
