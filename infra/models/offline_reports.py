"""Community reports without a model: the names that matter most, and what is said among them, sentence by sentence."""

from __future__ import annotations

from graph.reporting import Subject


class ExtractiveReporter:
    """The `Reporter` that quotes: nothing in its reports was written by anyone but the sources."""

    @property
    def name(self) -> str:
        return "offline/extractive-1"

    async def report(self, subject: Subject) -> tuple[str, str]:
        said = dict.fromkeys(finding.sentence or finding.text for finding in subject.findings)
        return ", ".join(subject.entities[:3]), " ".join(said)
