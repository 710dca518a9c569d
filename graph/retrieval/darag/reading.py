"""Communities as texts that a language model reads, and the reports that it writes of them.

Zeng et al. 2026, "Adaptive k-determination": the model reads the question and a community, rates it, and writes its
report; coarse communities are read, too. The model is called outside the view's lock, between two searches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from graphtide.graph.retrieval.darag.adaptive import Community, CommunityReportText, Rated
from graphtide.graph.retrieval.scoring.candidates import titled
from graphtide.graph.retrieval.types import RetrievedPart
from graphtide.graph.text.quotation import neutralise
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.view import LiveView


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A report of a community by a language model, and its helpfulness, 0 to 1; `[n]` names the n-th source read."""

    text: str
    score: float


Written = Mapping[RetrievedPart, WrittenReport]
"""The reports by the texts that were read."""


def text_to_read(report: CommunityReportText) -> RetrievedPart:
    """Return a community for the model: its members or its title, and the lines of its report with their sources."""
    names = report.text.partition("\n")[0]
    place = {chunk_id: number for number, chunk_id in enumerate(report.sources, 1)}
    lines = (f"{neutralise(line)} [{place[chunk_id]}]" for line, chunk_id in report.stated)
    return RetrievedPart(neutralise(report.title), "\n".join((neutralise(names), *lines)), report.sources, 0.0)


def passages_report(view: LiveView, community: Community, title: str, budget: int) -> CommunityReportText:
    """Return a community of passages as a report that quotes them, as many as fit `budget` tokens."""
    stated: list[tuple[str, str]] = []
    left = budget - count_tokens(title)
    for number in community.members:
        text = " ".join(titled(view, number).split())
        left -= count_tokens(text)
        if left < 0:
            break
        stated.append((text, view.chunks[number].chunk_id))
    sources = tuple(dict.fromkeys(chunk_id for _, chunk_id in stated))
    return CommunityReportText(community, title, title, sources, budget - max(left, 0), tuple(stated))


def rate_written(reports: Sequence[CommunityReportText], written: Written) -> list[Rated]:
    """Return the reports that the model wrote and did not rate 0, best first; equal ones by title and text."""
    found = []
    for report in reports:
        made = written.get(text_to_read(report))
        if made is not None and made.score > 0:
            tokens = count_tokens(report.title) + count_tokens(made.text)
            found.append(Rated(replace(report, text=made.text, tokens=tokens), made.score, 0.0))
    return sorted(found, key=lambda row: (-row.score, row.report.title, row.report.text))
