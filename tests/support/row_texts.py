"""Rows of a graph as texts, bit for bit, for tests that compare two graphs with their internal numbers."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from graphtide.graph.records import EntityRow, Removals


def as_texts(rows: Any, *, in_order: bool = False) -> list[str]:
    """Return every row of a delta or of a write model, with the bytes of its vectors, and the arrays of communities.

    The rows of a table are sorted unless `in_order`.
    """
    found = []
    for field in fields(rows):
        value = getattr(rows, field.name)
        if field.name in ("communities", "hierarchy") and value is not None:
            found += [f"{each.name} {np.asarray(getattr(value, each.name)).tolist()}" for each in fields(value)]
        elif isinstance(value, str | int | Removals):
            found.append(f"{field.name} {value!r}")
        else:
            texts = [f"{field.name} {_text(row)}" for row in value or ()]
            found += texts if in_order else sorted(texts)
    return found


def _text(row: Any) -> str:
    changes: dict[str, Any] = {}
    if getattr(row, "vector_sum", None) is not None:
        changes["vector_sum"] = bytes(row.vector_sum)
    if getattr(row, "vector", None) is not None:
        changes["vector"] = row.vector.tobytes()
    if isinstance(row, EntityRow):
        changes["labels"] = tuple(sorted(row.labels))
    return repr(replace(row, **changes) if changes else row)
