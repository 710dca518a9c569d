"""Adaptive k: the communities of every k, and the score that selects among them (Zeng et al. 2026, "Adaptive
k-determination").

In the paper a language model reads every candidate, writes its report and rates it (`reading.py`). Deviation: without a
model, a community's score is its QRScore plus the share of the question's words in its report (weighted by the rarity
of each word among the reports). Selection is as in the paper: the best first, as long as their reports fit the budget.
A community whose members are all in an earlier one is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphtide.graph.retrieval.darag.attributed_graph import AttributedGraph, Members
from graphtide.graph.retrieval.darag.qpeel import q_peel
from graphtide.graph.retrieval.scoring import terms

LEVELS = 8
MIN_SIZE = 3


@dataclass(frozen=True, slots=True)
class Community:
    """A community of a layer: its members' numbers in canonical order, and measures. `k` is 0 for a neighbourhood."""

    layer: str
    k: int
    members: tuple[int, ...]
    relevance: float
    density: float


@dataclass(frozen=True, slots=True)
class CommunityReportText:
    """The text of a community's report, the passages it is based on, its cost in tokens, and what each of its lines
    states with its passage.
    """

    community: Community
    title: str
    text: str
    sources: tuple[str, ...]
    tokens: int
    stated: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rated:
    """A report with its joint score, and the share of the question's words in it."""

    report: CommunityReportText
    score: float
    coverage: float


def communities(graph: AttributedGraph, layer: str, only: int = 0) -> list[Community]:
    """Return the community of every k from 3 up, each set of members once, under its greatest k; k ascending.

    With `only` there is one k: the greatest of the layer that is at most `only`.

    If there are more than LEVELS values of k, LEVELS evenly spread ones are tried, the smallest and the greatest
    included. Deviation: if the layer has no triangle there is no 3-truss, and k is 2, which is any connected subgraph.
    """
    levels = [k for k in graph.levels() if k >= MIN_SIZE] or graph.levels()[:1]
    if only:
        levels = [k for k in graph.levels() if k <= only][-1:]
    if len(levels) > LEVELS:
        levels = [levels[place] for place in np.linspace(0, len(levels) - 1, LEVELS).round().astype(int).tolist()]
    by_members: dict[Members, int] = {}
    for k in levels:
        members = q_peel(graph, k)
        if members is not None:
            by_members[members] = k
    return [community(graph, layer, k, members) for members, k in by_members.items()]


def neighbourhood(graph: AttributedGraph, layer: str) -> list[Community]:
    """Return the most relevant node with links and all its neighbours, in place of a search (section 6.3)."""
    linked = np.unique(graph.edges).tolist()
    if not linked:
        return []
    best = max(linked, key=lambda node: (graph.relevance[node], -node))
    touching = graph.edges[(graph.edges == best).any(axis=1)]
    return [community(graph, layer, 0, tuple(np.unique(touching).tolist()))]


def community(graph: AttributedGraph, layer: str, k: int, members: Members) -> Community:
    """Return members as a community; the density counts the edges of the k-truss among them (appendix B.3, but of
    pairs).
    """
    kept = graph.edges[graph.trussness >= k]
    inside = int(np.isin(kept, members).all(axis=1).sum())
    pairs = len(members) * (len(members) - 1) / 2
    numbers = tuple(graph.numbers[node] for node in members)
    return Community(layer, k, numbers, graph.score(members), inside / pairs if pairs else 0.0)


def rate(reports: Sequence[CommunityReportText], question: str) -> list[Rated]:
    """Return every report with its joint relevance score, best first; equal ones by title and text."""
    _, occurrences = terms.occurrences(question, [f"{report.title}\n{report.text}" for report in reports])
    covered = occurrences @ terms.weights(occurrences) if occurrences.size else np.zeros(len(reports))
    rows = zip(reports, covered.tolist(), strict=True)
    rated = [Rated(report, report.community.relevance + share, share) for report, share in rows]
    return sorted(rated, key=lambda row: (-row.score, row.report.title, row.report.text))


def pack(rated: Sequence[Rated], budget: int) -> list[Rated]:
    """Return the best reports in order, as long as their tokens fit; a report that does not fit is skipped."""
    chosen: list[Rated] = []
    left = budget
    for each in rated:
        mine = each.report.community
        known = any(
            mine.layer == other.report.community.layer and set(mine.members) <= set(other.report.community.members)
            for other in chosen
        )
        if not known and each.report.tokens <= left:
            chosen.append(each)
            left -= each.report.tokens
    return chosen
