"""The rows of community reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReportFinding:
    """One finding of a report, with the chunks it cites and, where it states relations, their ids."""

    text: str
    chunks: tuple[str, ...]
    relations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A community's report, with the chunks it cites. `fingerprint` identifies the content it was written from.

    `rating` is the community's importance, 0 to 10. `sources` are all the chunks of the findings.
    """

    community: int
    level: int
    fingerprint: str
    version: int
    title: str
    summary: str
    sources: tuple[str, ...]
    findings: tuple[ReportFinding, ...] = ()
    rating: float = 0.0


FindingValues = tuple[str, Sequence[str], Sequence[str]]
"""The text, chunks and relations of a finding, as JSON has them."""


def finding_values(findings: Iterable[ReportFinding]) -> list[FindingValues]:
    """Return the values of findings, for JSON."""
    return [(finding.text, finding.chunks, finding.relations) for finding in findings]


def findings_of(values: Iterable[FindingValues]) -> tuple[ReportFinding, ...]:
    """Return the findings of their values. Raises ValueError or TypeError for others."""
    return tuple(ReportFinding(text, tuple(chunks), tuple(relations)) for text, chunks, relations in values)
