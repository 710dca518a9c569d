"""Fingerprints of the communities' contents, and the share of a content that changed between two fingerprints.

A community's content is its entities, each with its name and every statement about it, inside the community and beyond.
The content is never listed here. Each community, at every level, has the number of its entities, the sum of their
digests, and a linear sketch of these (Charikar, Chen & Farach-Colton 2002, "Count sketch", one row). All three are
sums, so an added, removed or moved entity costs one addition per level, and a moved community moves its own sums.

Invariant: after any sequence of deltas the fingerprints equal those of a build from the rows, to the last bit. They
depend on canonical strings alone, so equal communities have equal fingerprints whatever the order of arrival.
"""

from __future__ import annotations

import base64
import zlib
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.communities import CommunityChange, Hierarchy
from graphtide.graph.numbered_ints import NumberedInts
from graphtide.graph.records import GraphDelta
from graphtide.graph.reports.community_sums import BUCKETS, CommunitySums, Sketch
from graphtide.graph.view_state.tables import ViewChunk, ViewStatement, ViewTables

_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A community's content at one moment: the number of entities, the sum of their digests, the sketch (64 counts)."""

    entities: int
    digest: int
    sketch: bytes

    def encode(self) -> str:
        """Return a short line of ASCII, for a store."""
        return f"{self.entities}:{self.digest:016x}:{base64.b64encode(zlib.compress(self.sketch)).decode()}"

    @staticmethod
    def decode(text: str) -> Fingerprint | None:
        """Parse the output of `encode`; return None for any other text, which then equals no fingerprint."""
        try:
            entities, digest, sketch = text.split(":")
            counts = zlib.decompress(base64.b64decode(sketch, validate=True))
            return Fingerprint(int(entities), int(digest, 16), counts) if len(counts) == 4 * BUCKETS else None
        except (ValueError, zlib.error):
            return None

    def changed(self, other: Fingerprint) -> float:
        """Return the share of entities that differ, in [0, 1]: |A and B's difference| / (|A| + |B|); 0 only for equal
        contents.

        An entity with changed statements differs. The share is exact for up to a few entities, then estimated from the
        sketches with a relative error of about sqrt(2 / 64).
        """
        if (self.entities, self.digest) == (other.entities, other.digest):
            return 0.0
        return _share(self, other.entities, np.frombuffer(other.sketch, np.int32))


def _share(written: Fingerprint, entities: int, sketch: Sketch) -> float:
    difference = np.frombuffer(written.sketch, np.int32).astype(np.int64) - sketch
    return min(1.0, max(int(difference @ difference), 1) / max(written.entities + entities, 1))


def fingerprint_of(items: Iterable[str]) -> Fingerprint:
    """Return the fingerprint of a set of texts, each treated as one entity."""
    digests, counts = [_digest(item) for item in items], [0] * BUCKETS
    for digest in digests:
        counts[digest % BUCKETS] += 1 if digest & BUCKETS else -1
    return Fingerprint(len(digests), sum(digests) & _MASK, array("i", counts).tobytes())


class CommunityFingerprints:
    """The fingerprints; see the module. Only the view writes: `count` for an added or removed chunk, then `follow`."""

    def __init__(self) -> None:
        self._statement_digests = NumberedInts()  # label -> sum of the digests of the statements about it
        self._labels: set[int] = set()
        self._homes = NumberedInts()  # node -> community of the finest level
        self._items = NumberedInts()  # node -> digest
        self._sums = CommunitySums()

    def __contains__(self, community: int) -> bool:
        """Return whether the community exists. O(1)."""
        return community in self._sums

    def entities(self, community: int) -> int:
        """Return the number of entities in a community of any level; 0 for an unknown community. O(1)."""
        return self._sums.entities(community)

    def digest(self, community: int) -> int:
        """Return a number that identifies the content: equal contents, equal numbers; 0 if unknown. O(1)."""
        return self._sums.digest(community)

    def fingerprint(self, community: int) -> Fingerprint | None:
        """Return the present fingerprint; None for an unknown community. O(1)."""
        sums = self._sums
        if community not in sums:
            return None
        return Fingerprint(sums.entities(community), sums.digest(community), sums.sketch(community).tobytes())

    def changed(self, community: int, written: Fingerprint) -> float:
        """Return the share of the content that changed since a fingerprint; 1 for an unknown community. O(1)."""
        sums = self._sums
        if community not in sums:
            return 1.0
        entities = sums.entities(community)
        if (written.entities, written.digest) == (entities, sums.digest(community)):
            return 0.0
        return _share(written, entities, sums.sketch(community))

    def drain_changed(self) -> set[int]:
        """Return the communities whose content changed since the last call; without calls, at most all that exist."""
        return self._sums.drain_changed()

    # -- following -----------------------------------------------------------------------------------------------------

    def count(self, view: ViewTables, chunk: ViewChunk, times: int) -> None:
        """Add (1) or remove (-1) the statements of a chunk. Call it while its statements and labels exist. O(its
        facts).
        """
        place = f"{chunk.doc_id}\0{chunk.text}"
        for number, description, sentence, count in chunk.evidence.texts():
            statement = view.statements[number]
            digest = _digest(place, *_triple(view, statement), description, sentence, str(count))
            for label in {statement.subject, statement.object}:
                self._statement_digests[label] = (self._statement_digests[label] + times * digest) & _MASK
                self._labels.add(label)

    def follow(self, view: ViewTables, delta: GraphDelta) -> None:
        """Apply a delta that the view has applied. Cost: the rows of the delta, times the levels."""
        nodes = {row.node for row in delta.entities} | set(delta.gone.entities)
        nodes.update(view.labels[label].node for label in self._labels if label in view.labels)
        for label in delta.gone.labels:
            if label not in view.labels:
                self._statement_digests[label] = 0
        self._labels.clear()
        change = delta.communities
        if change is not None:
            nodes.update(change.nodes.tolist())
        if isinstance(change, Hierarchy):
            nodes.update(node for node, _ in self._homes.items())
        self._each(nodes, self._leave)
        if change is not None:
            self._move(change)
        self._each(nodes, lambda node: self._join(view, node))

    def _each(self, nodes: Iterable[int], do: Callable[[int], None]) -> None:
        for node in with_yields(nodes):
            do(node)

    def _leave(self, node: int) -> None:
        if community := self._homes[node]:
            self._homes[node] = 0
            self._sums.add(community, self._items[node], -1)

    def _join(self, view: ViewTables, node: int) -> None:
        community, entity = view.hierarchy.community(node), view.entities.get(node)
        if not community or entity is None:
            return
        statements = sum(self._statement_digests[label] for label in entity.labels) & _MASK
        item = _digest(entity.id, entity.name, str(statements))
        self._homes[node], self._items[node] = community, item
        self._sums.add(community, item, 1)

    def _move(self, change: CommunityChange | Hierarchy) -> None:
        """Remove the changed communities from their old parents and add them to the new ones, in any order."""
        if isinstance(change, Hierarchy):
            children, removed = change.ids.tolist(), []
            self._sums = CommunitySums()
        else:
            children, removed = change.children.tolist(), change.removed.tolist()
        sums = self._sums
        for community in (*children, *removed):
            if community in sums:
                sums.attach(community, 0)
        for child, parent in zip(children, change.parents.tolist(), strict=True):
            sums.insert(child)
            if parent:
                sums.insert(parent)
            sums.attach(child, parent)
        for community in removed:
            sums.remove(community)


def _triple(view: ViewTables, statement: ViewStatement) -> tuple[str, ...]:
    subject, object_ = view.labels[statement.subject], view.labels[statement.object]
    return subject.name, subject.type, statement.predicate, object_.name, object_.type


def _digest(*parts: str) -> int:
    digest = blake2b(digest_size=8)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return int.from_bytes(digest.digest(), "big")
