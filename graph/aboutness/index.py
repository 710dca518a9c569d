"""Aboutness index: from a normalised name to the passages that are about what it names.

Together with the labels that passages mention it gives directed links: passage A leads to passage B when A mentions an
entity one of whose labels is a key of B. The index holds one direction, the view's own tables the other, so a link
needs no row, and none can be left behind when a passage is edited or deleted.

Beside it the index keeps the entities that have such a label, since most have none and a question meets hundreds.

Invariant: the index equals the one that is built from the view's present tables, whatever the order of the deltas.
Cost of a delta: the passages that it changes, and those of documents with a new title, or with a second passage or with
one alone now; the labels of its entities, and the entities of the names that it changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, MutableMapping
from typing import Protocol

from graphtide.graph.aboutness.keys import passage_keys
from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.int_sets import EMPTY, IntSet, excluding, including, shared_int
from graphtide.graph.records import DocumentRow, GraphDelta
from graphtide.graph.view_state.overlay import Overlay, Writing, own_ints
from graphtide.graph.view_state.tables import MentionTables, ViewEntity, ViewStatement


class PassageTables(MentionTables, Protocol):
    """The tables that a passage's keys are computed from."""

    @property
    def statements(self) -> Mapping[int, ViewStatement]: ...

    @property
    def entities(self) -> Mapping[int, ViewEntity]: ...

    def named(self, name: str) -> set[int]: ...


class AboutnessIndex:
    """See the module. Passages are the numbers of the view."""

    def __init__(self) -> None:
        self._keys: MutableMapping[int, tuple[str, ...]] = {}
        self._passages: MutableMapping[str, IntSet] = {}
        self.changed_keys: set[str] = set()
        """The keys whose passages the last delta changed."""
        self.called: IntSet = EMPTY
        """The entities one of whose labels is a key."""

    def fork(self, writing: Writing) -> AboutnessIndex:
        """Return an index over this one, for a fork of its view (view_state/overlay.py)."""
        forked = AboutnessIndex()
        forked._keys = Overlay(self._keys, writing)
        forked._passages = Overlay(self._passages, writing, own_ints)
        forked.called = own_ints(self.called)
        return forked

    def passages(self, names: Iterable[str]) -> list[Collection[int]]:
        """Return the passages about what each of the normalised names names. Most names have none and are left out."""
        known = self._passages
        return [known[name] for name in names if name in known]

    def keys(self, chunk: int) -> tuple[str, ...]:
        """Return the names of what a passage is about."""
        return self._keys.get(chunk, ())

    def follow(self, tables: PassageTables, delta: GraphDelta, renamed: Iterable[DocumentRow]) -> None:
        """Take over a delta that the tables hold already. `renamed` are its documents whose identity changed."""
        self.changed_keys.clear()
        for chunk in delta.gone.chunks:
            self._set(chunk, ())
        changed = {row.chunk for row in delta.chunks}
        changed.update(chunk for row in renamed for chunk in row.chunks)
        for chunk in with_yields(changed):
            passage = tables.chunks[chunk]
            subjects = [tables.labels[tables.statements[s].subject].name for s in passage.evidence.statements]
            self._set(chunk, passage_keys(passage, tables.documents.get(passage.doc_id), subjects))
        self._call(tables, delta)

    def _call(self, tables: PassageTables, delta: GraphDelta) -> None:
        """Find again which of the entities that a delta changes, and of those of changed keys, have a key as label."""
        for node in delta.gone.entities:
            self.called = excluding(self.called, node)
        nodes = {row.node for row in delta.entities}.union(*map(tables.named, self.changed_keys))
        for node in with_yields(nodes):
            labels = tables.entities[node].labels
            if any(tables.labels[label].name in self._passages for label in labels):
                self.called = including(self.called, shared_int(node))
            else:
                self.called = excluding(self.called, node)

    def _set(self, chunk: int, keys: tuple[str, ...]) -> None:
        before = self._keys.get(chunk, ())
        for key in before:
            if key not in keys:
                self.changed_keys.add(key)
                left = excluding(self._passages[key], chunk)
                if left:
                    self._passages[key] = left
                else:
                    del self._passages[key]
        for key in keys:
            if key not in before:
                self.changed_keys.add(key)
                self._passages[key] = including(self._passages.get(key, EMPTY), chunk)
        if keys:
            self._keys[chunk] = keys
        else:
            self._keys.pop(chunk, None)
