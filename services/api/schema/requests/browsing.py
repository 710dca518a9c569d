"""Requests of the browse operations: their parameters, with defaults and bounds. HTTP and gRPC share these checks."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping

from graphtide.graph.browsing.group import MAX_K
from graphtide.graph.browsing.neighbourhood import MAX_NODES
from graphtide.services.browsing import (
    DEFAULT_LIMIT,
    DEFAULT_NODES,
    MAX_HOPS,
    MAX_LIMIT,
    DocumentQuery,
    EntityQuery,
    EntitySort,
)
from graphtide.services.changes.types import ChangeQuery
from graphtide.streams.errors import Invalid
from graphtide.streams.follow.progress import TOKEN_FORM
from graphtide.streams.ports import RevisionState

MAX_TEXT = 1000
MAX_WAIT_S = 60.0
DEFAULT_WAIT_S = 30.0
_TOKEN = re.compile("v[0-9]{1,15}|[0-9:,]{1,300000}")
_VERSION = re.compile("v?[0-9]{1,15}|[0-9:,]{1,300000}")
TOKEN_PATTERN = f"(v[0-9]{{1,15}}|{TOKEN_FORM})"
VERSION_PATTERN = f"(v?[0-9]{{1,15}}|{TOKEN_FORM})"
"""Tokens and versions, for the description."""
_WHOLE = re.compile("[0-9]{1,18}")
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?")

Parameters = Mapping[str, str]


def document_query(given: Parameters) -> DocumentQuery:
    """Return the page of documents that the parameters name. Raises Invalid."""
    state = _choice(given, "state", [each.value for each in RevisionState])
    return DocumentQuery(
        _text(given, "prefix"),
        RevisionState(state) if state else None,
        _text(given, "source"),
        whole(given, "limit", DEFAULT_LIMIT, 1, MAX_LIMIT),
        given.get("cursor", ""),
    )


def entity_query(given: Parameters) -> EntityQuery:
    """Return the page of entities that the parameters name. Raises Invalid."""
    return EntityQuery(
        _text(given, "q"),
        _text(given, "type"),
        EntitySort(_choice(given, "sort", [each.value for each in EntitySort]) or EntitySort.MENTIONS),
        whole(given, "limit", DEFAULT_LIMIT, 1, MAX_LIMIT),
        given.get("cursor", ""),
        past_version(given.get("at")),
    )


def past_version(at: str | None) -> str:
    """Return the version that a request reads: "" for the present one. Raises Invalid."""
    if at is not None and not _VERSION.fullmatch(at):
        raise Invalid("at", f"{at[:80]!r} is neither a version nor a token; pass a number, or the token of a change")
    return at or ""


def change_query(given: Parameters, after: str) -> ChangeQuery:
    """Return the selection of changes after a token, "" for none. Raises Invalid."""
    if after and not _TOKEN.fullmatch(after):
        raise Invalid("after", f"{after[:80]!r} is not a token; pass that of a change or of publishing")
    rows, ends = _choice(given, "detail", ["rows"]) == "rows", _choice(given, "follow", ["true", "false"]) == "false"
    entity, type_, prefix = (_text(given, name) for name in ("entity", "type", "prefix"))
    return ChangeQuery(after, entity, type_, prefix, rows, follow=not ends)


def neighbourhood_size(given: Parameters) -> tuple[int, int]:
    """Return (hops, nodes). Raises Invalid."""
    return whole(given, "hops", 1, 1, MAX_HOPS), whole(given, "limit", DEFAULT_NODES, 1, MAX_NODES)


def group_size(given: Parameters) -> tuple[int | None, int]:
    """Return (k, nodes); None for the largest k. Raises Invalid."""
    k = whole(given, "k", 2, 2, MAX_K) if "k" in given else None
    return k, whole(given, "limit", DEFAULT_NODES, 1, MAX_NODES)


DELETION_WAIT_S = 3.0
"""Default of the wait for the deletion of a graph: below the timeouts that clients have by default."""


def community_page(given: Parameters) -> tuple[int, int, str]:
    """Return (level, limit, cursor). Raises Invalid."""
    return whole(given, "level", 0, 0, 99), whole(given, "limit", DEFAULT_LIMIT, 1, MAX_LIMIT), given.get("cursor", "")


def graph_page(given: Parameters) -> tuple[int, str]:
    """Return (limit, cursor) of a list of graphs. Raises Invalid."""
    return whole(given, "limit", MAX_LIMIT, 1, MAX_LIMIT), given.get("cursor", "")


def wait_seconds(given: Parameters, default: float = DEFAULT_WAIT_S) -> float:
    """Return how long to wait, in seconds. Raises Invalid."""
    text = given.get("wait_s")
    if text is None:
        return default
    seconds = float(text) if _SECONDS.fullmatch(text) else math.inf
    if seconds > MAX_WAIT_S:
        raise Invalid("wait_s", f"{text[:40]!r} is not a number of seconds from 0 to {MAX_WAIT_S:g}")
    return seconds


def whole(given: Parameters, name: str, default: int, minimum: int, maximum: int) -> int:
    """Return a whole number among the parameters. Raises Invalid."""
    text = given.get(name)
    if text is None:
        return default
    if not _WHOLE.fullmatch(text) or not minimum <= int(text) <= maximum:
        raise Invalid(name, f"{text[:40]!r} is not a whole number from {minimum} to {maximum}")
    return int(text)


def _choice(given: Parameters, name: str, choices: list[str]) -> str:
    text = given.get(name)
    if text is not None and text not in choices:
        raise Invalid(name, f"{text[:40]!r} is unknown; use one of {', '.join(choices)}")
    return text or ""


def _text(given: Parameters, name: str) -> str:
    text = given.get(name, "")
    if len(text) > MAX_TEXT:
        raise Invalid(name, f"has {len(text)} characters; the limit is {MAX_TEXT}")
    if any(unicodedata.category(char) == "Cs" for char in text):
        raise Invalid(name, "contains half a surrogate pair; remove it")
    return text
