"""Community reports without a model: the most important names, and the statements among them, sentence by sentence."""

from __future__ import annotations

from graphtide.graph.reports.subject import CommunityContext, Report, extractive_report


class ExtractiveReporter:
    """The `Reporter` that quotes: every sentence of its reports comes from the sources."""

    @property
    def name(self) -> str:
        return "offline/extractive-2"

    async def report(self, subject: CommunityContext) -> Report:
        """See `graphtide.streams.summarize.report_writer.Reporter`."""
        return extractive_report(subject)
