"""Community reports without a model: the names that matter most, and what is said among them, sentence by sentence."""

from __future__ import annotations

from graphtide.graph.reports.subject import CommunityContext, Report, extractive_report


class ExtractiveReporter:
    """The `Reporter` that quotes: nothing in its reports was written by anyone but the sources."""

    @property
    def name(self) -> str:
        return "offline/extractive-2"

    async def report(self, subject: CommunityContext) -> Report:
        """See `graphtide.streams.summarize.report_writer.Reporter`."""
        return extractive_report(subject)
