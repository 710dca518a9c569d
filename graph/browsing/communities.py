"""Communities of a live graph: a page of a level, and one community with its members and its report.

A community keeps its number as long as it exists, and numbers are not used twice; so pages in the order of numbers show
a community that exists during the whole listing exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING

from graphtide.graph.reports.rows import ReportRow

if TYPE_CHECKING:
    from graphtide.graph.view import LiveView

MEMBERS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class CommunitySummary:
    """A community: `size` counts its entities, `title` is that of its report, "" without a valid one."""

    community: int
    level: int
    parent: int
    size: int
    title: str
    rating: float


@dataclass(frozen=True, slots=True)
class CommunityMember:
    """An entity of a community."""

    id: str
    name: str
    type: str
    mentions: int


@dataclass(frozen=True, slots=True)
class CommunityContent:
    """A community with its sub-communities, its most mentioned entities (at most 200), and its report."""

    summary: CommunitySummary
    children: tuple[CommunitySummary, ...]
    members: tuple[CommunityMember, ...]
    report: ReportRow | None
    version: int


def communities_at(view: LiveView, level: int, after: int, limit: int) -> list[CommunitySummary]:
    """Return at most `limit` communities of a level with numbers above `after`, ascending. Under `lock.read()`.

    Cost: the graph's communities, and the sub-communities of those returned.
    """
    numbers = (number for number in view.hierarchy.at_level(level) if number > after)
    return [summarise(view, number) for number in nsmallest(limit, numbers)]


def community_content(view: LiveView, community: int) -> CommunityContent:
    """Return a community. Call under `lock.read()`. Raises KeyError for an unknown one. Cost: its members."""
    level = view.hierarchy.level(community)
    children = view.hierarchy.members(community).tolist() if level else []
    nodes = (view.entities[node] for node in _nodes(view, community))
    members = nsmallest(MEMBERS_SHOWN, nodes, key=lambda entity: (-entity.mentions, entity.id))
    return CommunityContent(
        summarise(view, community),
        tuple(summarise(view, child) for child in children),
        tuple(CommunityMember(entity.id, entity.name, entity.type, entity.mentions) for entity in members),
        view.reports.report(view, community),
        view.version,
    )


def summarise(view: LiveView, community: int) -> CommunitySummary:
    """Return the summary of a community. Cost: its sub-communities."""
    report = view.reports.report(view, community)
    title, rating = (report.title, report.rating) if report else ("", 0.0)
    hierarchy = view.hierarchy
    return CommunitySummary(
        community, hierarchy.level(community), hierarchy.parent(community), size(view, community), title, rating
    )


def size(view: LiveView, community: int) -> int:
    """Return the number of entities of a community. Cost: its sub-communities."""
    if view.hierarchy.level(community) == 0:
        return view.hierarchy.size(community)
    return sum(size(view, child) for child in view.hierarchy.members(community).tolist())


def _nodes(view: LiveView, community: int) -> list[int]:
    members: list[int] = view.hierarchy.members(community).tolist()
    if view.hierarchy.level(community) == 0:
        return members
    return [node for child in members for node in _nodes(view, child)]
