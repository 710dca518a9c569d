"""Parts of bulk loads that the embedded database and the client share: the order of the documents, and progress."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Final

import numpy as np

from graphtide.services.sdk.interface import BulkReceipt, Document, Documents, Progress, RejectedDocument
from graphtide.streams.errors import Invalid

MAX_DEPTH: Final = 32
"""Deeper values are given to the checks as they are, which refuse them: no field may be nested so deep."""
BATCH_DOCUMENTS = 100
BATCH_CHARS = 4 << 20
"""A batch is published when it has so many documents, or so many characters of text."""


async def numbered(documents: Documents) -> AsyncIterator[tuple[int, Document]]:
    """Yield the documents with their index in the load. Raises Invalid for what is no iterable."""
    index = 0
    if isinstance(documents, AsyncIterable):
        async for document in documents:
            yield index, document
            index += 1
        return
    if not isinstance(documents, Iterable):
        raise Invalid("documents", "must be an iterable or an async iterable of mappings")
    for document in documents:
        yield index, document
        index += 1


def given_fields(document: Document) -> dict[str, object]:
    """Return the document without its empty optional fields. Raises Invalid for what is no mapping."""
    if not isinstance(document, Mapping):
        raise Invalid("document", f"is a {type(document).__name__}; pass a mapping with id and text")
    required = ("id", "text")
    given = {key: value for key, value in document.items() if key in required or _is_given(value)}
    return {key: value if key in required else plain_json(value) for key, value in given.items()}


def _is_given(value: object) -> bool:
    return value is not None and not (isinstance(value, str) and not value)


def plain_json(value: object, depth: int = MAX_DEPTH) -> object:
    """Return mappings, lists, and numbers and booleans of any type as JSON needs them; anything else unchanged."""
    if isinstance(value, str | bytes | bool | float) or value is None or not depth:
        return value
    if isinstance(value, Mapping):
        return {key: plain_json(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [plain_json(inner, depth - 1) for inner in value]
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.floating):
        return float(value)
    return int(value) if isinstance(value, Integral) else value


def rejection(index: int, document: object, error: Exception) -> RejectedDocument:
    """Return the entry of a refused document in the receipt."""
    named = document.get("id") if isinstance(document, Mapping) else None
    field, message = (error.field, error.message) if isinstance(error, Invalid) else ("", str(error))
    return RejectedDocument(index, named if isinstance(named, str) else "", field, message)


def report(on_progress: Progress | None, receipt: BulkReceipt) -> None:
    """Pass the receipt so far to the caller, if it wants it."""
    if on_progress is not None:
        on_progress(receipt)


def merge_tokens(first: str, second: str) -> str:
    """Return the token that covers both: the later offset of each partition. An empty token covers nothing."""
    last: dict[int, int] = {}
    for pair in filter(None, f"{first},{second}".split(",")):
        partition, _, offset = pair.partition(":")
        if not (partition.isdecimal() and offset.isdecimal()):
            raise Invalid("after", f"{pair[:80]!r} is not a token; pass the one that publishing returned")
        last[int(partition)] = max(int(offset), last.get(int(partition), -1))
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(last.items()))
