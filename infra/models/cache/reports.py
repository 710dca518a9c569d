"""Caching Reporter: it passes on only contents without a stored report, so a content is paid for once.

Keyed by the graph and SHA-256 of the reporter's name (its model and prompt) and all that it would be shown, not by the
community, so that a community that reappears, or that a rebuild renames, costs nothing. Invariants: a report read back
equals the stored one; a failed call leaves nothing behind.
"""

from __future__ import annotations

import json
from dataclasses import astuple
from hashlib import sha256

from graphtide.graph.reports.rows import findings_of
from graphtide.graph.reports.subject import CommunityContext, Report
from graphtide.infra.models.cache.embeddings import VectorStore
from graphtide.infra.models.cache.keys import scoped
from graphtide.infra.models.replies.json_replies import parsed
from graphtide.streams.summarize.report_writer import Reporter

_FORMAT = "report-1"


class MemoisedReporter:
    """`reporter` with `store` as its cache (see the module)."""

    def __init__(self, reporter: Reporter, store: VectorStore) -> None:
        self._reporter = reporter
        self._store = store

    @property
    def name(self) -> str:
        return self._reporter.name

    async def report(self, subject: CommunityContext) -> Report:
        """See `graphtide.streams.summarize.report_writer.Reporter`."""
        key = self._key(subject)
        cached = (await self._store.get_many([key])).get(key)
        known = None if cached is None else _decoded(cached)
        if known is not None:
            return known
        report = await self._reporter.report(subject)
        await self._store.put_many({key: json.dumps(astuple(report)).encode()})
        return report

    def _key(self, subject: CommunityContext) -> bytes:
        children = [astuple(child) for child in subject.children]
        findings = [astuple(finding) for finding in subject.findings]
        shown = [_FORMAT, self.name, subject.level, subject.entities, findings, subject.size, children]
        return scoped(sha256(json.dumps(shown).encode()).digest())


def _decoded(value: bytes) -> Report | None:
    """Return the decoded value; None for bytes that this version did not write."""
    try:
        title, summary, rows, rating = parsed(value)
        return Report(title, summary, findings_of(rows), rating)
    except (ValueError, TypeError, RecursionError):
        return None
