"""Sizes of the structures of a live object: every reachable Python object once, each under the first path that reaches
it.

Sizes are those that objects report (`sys.getsizeof`, the buffer of an array, `memory_bytes` of a kernel, the statistics
of a vector index), so the allocator's own bytes and its free pages are not part of them.
"""

from __future__ import annotations

import gc
import sys
import types
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, property)


@dataclass(slots=True)
class Sizes:
    """Bytes and numbers of objects by type."""

    size_bytes: Counter[str] = field(default_factory=Counter)
    objects: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.size_bytes.total()


def sizes_of(root: object, seen: set[int]) -> Sizes:
    """Return the sizes of all objects that `root` reaches and that are not in `seen`; they are added to it."""
    found, waiting = Sizes(), [root]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, _SHARED):
            continue
        seen.add(id(item))
        name = type(item).__name__
        found.size_bytes[name] += sys.getsizeof(item) + _outside(item)
        found.objects[name] += 1
        waiting.extend(_referents(item))
    return found


def _outside(item: Any) -> int:
    """Return the bytes of an object that Python does not see."""
    size = getattr(item, "memory_bytes", None)
    compiled = any(kind.__module__.startswith("graphtide.graph._") for kind in type(item).__mro__)
    return int(size()) if compiled and callable(size) else 0


def _referents(item: object) -> Iterable[object]:
    if isinstance(item, np.ndarray):
        return () if item.base is None else (item.base,)
    return gc.get_referents(item)


def attributes_of(root: object) -> Iterator[tuple[str, object]]:
    """Yield the attributes of an object with their names, from its dictionary and its slots."""
    names = [name for kind in type(root).__mro__ for name in getattr(kind, "__slots__", ())]
    for name in (*getattr(root, "__dict__", {}), *names):
        if hasattr(root, name):
            yield name, getattr(root, name)
