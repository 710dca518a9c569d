"""Labels of an HNSW graph by id: an array for ids from 0 up without large gaps, as a view numbers its rows.

A dictionary takes some 90 bytes an entry, the array 4. Invariant: an id is in the array or in the dictionary, not in
both; the array is at most a small multiple of the ids.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from operator import index
from typing import SupportsIndex

NO_LABEL = -1
MIN_DENSE, MAX_GAPS = 1_024, 4


class LabelTable:
    """The label of each id; labels are small natural numbers."""

    __slots__ = ("_count", "_dense", "_sparse")

    def __init__(self, labels: Iterable[tuple[int, int]] = ()) -> None:
        """Hold these pairs of id and label."""
        self._count = 0
        self._dense = array("i")
        self._sparse: dict[int, int] = {}
        for id_, label in labels:
            self.set(id_, label)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, id_: object) -> bool:
        if type(id_) is int:  # the check against a protocol takes longer than the look-up
            return self.get(id_) != NO_LABEL
        return isinstance(id_, SupportsIndex) and self.get(index(id_)) != NO_LABEL

    def __iter__(self) -> Iterator[int]:
        """Yield the ids. Cost: the largest id of the array."""
        yield from (id_ for id_, label in enumerate(self._dense) if label != NO_LABEL)
        yield from self._sparse

    def get(self, id_: int) -> int:
        """Return the label of an id, or NO_LABEL."""
        if 0 <= id_ < len(self._dense) and (label := self._dense[id_]) != NO_LABEL:
            return label
        return self._sparse.get(id_, NO_LABEL) if self._sparse else NO_LABEL

    def of(self, id_: int) -> int:
        """Return the label of an id. Raises KeyError for an id without one."""
        label = self.get(id_)
        if label == NO_LABEL:
            raise KeyError(id_)
        return label

    def set(self, id_: int, label: int) -> None:
        """Give an id from 0 up a label."""
        self.pop(id_)
        self._count += 1
        if id_ >= MIN_DENSE + MAX_GAPS * self._count:
            self._sparse[id_] = label
            return
        if id_ >= len(self._dense):
            self._dense.extend([NO_LABEL] * (id_ + 1 - len(self._dense)))
        self._dense[id_] = label

    def pop(self, id_: int) -> int:
        """Remove an id and return its label, or NO_LABEL."""
        label = self.get(id_)
        if label != NO_LABEL:
            self._count -= 1
            if self._sparse.pop(id_, NO_LABEL) == NO_LABEL:
                self._dense[id_] = NO_LABEL
        return label
