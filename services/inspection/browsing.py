"""The browse operations on the views and the ledger of this process; see `services/browsing.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from graphtide.graph.browsing.communities import communities_at, community_content
from graphtide.graph.browsing.entity_order import ListingExpired, SortKey, matching
from graphtide.graph.browsing.group import CohesiveGroup, cohesive_group
from graphtide.graph.browsing.neighbourhood import Neighbourhood, neighbourhood
from graphtide.graph.reports.rows import ReportRow
from graphtide.graph.view import LiveView
from graphtide.services.browsing import (
    CommunityDetails,
    CommunityPage,
    CommunityReport,
    DocumentPage,
    DocumentQuery,
    EntityPage,
    EntityQuery,
    GraphSummary,
    ListedDocument,
    ListedEntity,
)
from graphtide.services.inspection.cursors import decode_cursor, encode_cursor
from graphtide.streams.errors import Expired, Invalid
from graphtide.streams.ports import LedgerEntry, RevisionState

if TYPE_CHECKING:
    from graphtide.streams.ports import Ledger

SCANNED_ENTITIES = 20_000
"""Entities that one page reads: with a rare filter it ends early, and its cursor continues."""
SCANNED_DOCUMENTS = 10_000
LEDGER_PAGE = 500


def summary_of(view: LiveView) -> GraphSummary:
    """Return a graph's summary. O(1)."""
    return GraphSummary(view.graph, view.version, len(view.documents))


async def documents_page(ledger: Ledger, view: LiveView | None, graph: str, query: DocumentQuery) -> DocumentPage:
    """Return a page of documents from the ledger, with the fields of the live revisions from the view."""
    listing = ("documents", graph, query.prefix, query.state or "", query.source)
    after = str(decode_cursor(listing, (str,), query.cursor)[0]) if query.cursor else ""
    found: list[ListedDocument] = []
    read = 0
    while True:
        entries = await ledger.documents(graph, after, query.prefix, LEDGER_PAGE)
        for entry in entries:
            if len(found) == query.limit or read == SCANNED_DOCUMENTS:
                return DocumentPage(tuple(found), encode_cursor(listing, (after,)))
            after, read = entry.doc_id, read + 1
            listed = _listed(view, entry)
            if _admitted(query, listed):
                found.append(listed)
        if len(entries) < LEDGER_PAGE:
            return DocumentPage(tuple(found), "")


def _admitted(query: DocumentQuery, listed: ListedDocument) -> bool:
    if query.source and listed.source != query.source:
        return False
    return listed.state is query.state if query.state else listed.state is not RevisionState.DELETED


def _listed(view: LiveView | None, entry: LedgerEntry) -> ListedDocument:
    row = view.documents.get(entry.doc_id) if view else None
    info = (row.info.title, row.info.source, row.info.occurred_at) if row else ("", "", "")
    return ListedDocument(entry.doc_id, info[0], info[1], entry.state, entry.revision, info[2])


def entities_page(view: LiveView, query: EntityQuery) -> EntityPage:
    """Return a page of entities. Raises Invalid, Expired."""
    listing = ("entities", view.graph, query.q, query.type, query.sort)
    began, after = 0, None
    if query.cursor:
        began_, number, text, entity_id = decode_cursor(listing, (int, int, str, str), query.cursor)
        began, after = int(began_), (int(number), str(text), str(entity_id))
    with view.lock.read():
        began = began or view.version
        found, last = matching(_page(view, query, began, after), _admits(view, query), query.limit, SCANNED_ENTITIES)
        following = encode_cursor(listing, (began, *last)) if last else ""
        return EntityPage(tuple(_entity(view, entity_id) for entity_id in found), view.version, following)


def _page(view: LiveView, query: EntityQuery, began: int, after: SortKey | None) -> Iterator[tuple[SortKey, str]]:
    try:
        return view.order.page(view, query.sort, began, after)
    except ListingExpired as error:
        raise Expired(f"the listing is too old to continue: {error}; begin again without a cursor") from error
    except ValueError as error:
        raise Invalid("cursor", f"is of a version to come: {error}; begin again without a cursor") from error


def _admits(view: LiveView, query: EntityQuery) -> Callable[[str], bool]:
    wanted = query.q.casefold()

    def admits(entity_id: str) -> bool:
        entity = view.entities[view.entity_nodes[entity_id]]
        if query.type and entity.type != query.type:
            return False
        names = (view.labels[number].name for number in entity.labels)
        return not wanted or wanted in entity.name.casefold() or any(wanted in name for name in names)

    return admits


def _entity(view: LiveView, entity_id: str) -> ListedEntity:
    node = view.entity_nodes[entity_id]
    entity, degree = view.entities[node], len(view.neighbours.get(node, ()))
    return ListedEntity(entity.id, entity.name, entity.type, entity.mentions, degree, view.hierarchy.community(node))


def around(view: LiveView, entity_id: str, hops: int, limit: int) -> Neighbourhood | None:
    """Return the neighbourhood of an entity, None for an unknown one."""
    with view.lock.read():
        node = view.entity_nodes.get(entity_id)
        return None if node is None else neighbourhood(view, node, hops, limit)


def group_around(view: LiveView, entity_id: str, k: int | None, limit: int) -> CohesiveGroup | None:
    """Return the cohesive group of an entity, None for an unknown one."""
    with view.lock.read():
        node = view.entity_nodes.get(entity_id)
        return None if node is None else cohesive_group(view, node, k, limit)


def communities_page(view: LiveView, level: int, limit: int, cursor: str) -> CommunityPage:
    """Return a page of communities. Raises Invalid."""
    with view.lock.read():
        if not 0 <= level < view.hierarchy.levels():
            raise Invalid("level", f"{level} is not a level; use 0 (the finest) to {view.hierarchy.levels() - 1}")
        listing = ("communities", view.graph, level)
        after = int(decode_cursor(listing, (int,), cursor)[0]) if cursor else 0
        found = communities_at(view, level, after, limit + 1)
        following = encode_cursor(listing, (found[limit - 1].community,)) if len(found) > limit else ""
        return CommunityPage(tuple(found[:limit]), view.version, following)


def community_details(view: LiveView, community: int) -> CommunityDetails | None:
    """Return a community, None for an unknown one."""
    with view.lock.read():
        try:
            content = community_content(view, community)
        except KeyError:
            return None
    summary = content.summary
    return CommunityDetails(
        summary.community,
        summary.level,
        summary.parent,
        summary.size,
        content.children,
        content.members,
        community_report(content.report) if content.report else None,
        content.version,
    )


def community_report(row: ReportRow) -> CommunityReport:
    """Return a report as callers see it."""
    return CommunityReport(
        row.community, row.level, row.title, row.summary, row.sources, row.version, row.findings, row.rating
    )
