"""Reports of communities as a view keeps them: compressed, because few are read between two changes of their graph.

A packed report takes a quarter of the memory of its row with the findings, and some 30 us to unpack. Its
bytes may be in a file (vector_store.py). Invariant: the row read is the one that was packed.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

from graphtide.graph.reports.fingerprint import CommunityFingerprints, Fingerprint
from graphtide.graph.reports.rows import ReportRow, finding_values, findings_of
from graphtide.graph.vector_store import VectorBytes, stored_varied

LEVEL = 1
"""The compression level of zlib, the fastest one: a report of 871 bytes takes 385, and 387 at levels 6 and 9."""
UNKNOWN = -1
"""The number of entities where the fingerprint of a report cannot be read: no community has it."""


@dataclass(frozen=True, slots=True)
class PackedReport:
    """A report, and of its fingerprint the entities and the digest, which equal those of an unchanged community."""

    entities: int
    digest: int
    data: VectorBytes

    @classmethod
    def of(cls, row: ReportRow) -> PackedReport:
        """Return the packed form of a report. Cost: linear in its text."""
        written = Fingerprint.decode(row.fingerprint)
        entities, digest = (written.entities, written.digest) if written else (UNKNOWN, 0)
        findings = finding_values(row.findings)
        values = (row.level, row.fingerprint, row.version, row.title, row.summary, row.sources, findings, row.rating)
        text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
        return cls(entities, digest, stored_varied(zlib.compress(text.encode("utf-8", "surrogatepass"), LEVEL)))

    def row(self, community: int) -> ReportRow:
        """Return the report, which is of this community. Cost: linear in its text."""
        level, fingerprint, version, title, summary, sources, findings, rating = self._values()
        described = (level, fingerprint, version, title, summary)
        return ReportRow(community, *described, tuple(sources), findings_of(findings), rating)

    def changed(self, contents: CommunityFingerprints, community: int) -> float:
        """Return the share of the community's content that differs from what the report was written from, in [0, 1].

        It is 1 for an unknown community, and where the fingerprint of the report cannot be read.
        """
        present = contents.entities(community), contents.digest(community)
        if community in contents and (self.entities, self.digest) == present:
            return 0.0
        written = Fingerprint.decode(self._values()[1])
        return 1.0 if written is None else contents.changed(community, written)

    def _values(self) -> list[Any]:
        values: list[Any] = json.loads(zlib.decompress(self.data).decode("utf-8", "surrogatepass"))
        return values
