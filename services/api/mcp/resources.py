"""Resources: documents, entities and community reports by their URIs `graphtide://{graph}/{kind}/{id}`."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from graphtide.services.access.policy import Action, visible
from graphtide.services.api.mcp.results import as_text, clipped, document_uri, entity_json
from graphtide.services.api.mcp.session import AgentSession
from graphtide.services.application import DocumentStatus
from graphtide.services.browsing import CommunityDetails
from graphtide.streams.errors import Invalid, NotFound

SCHEME = "graphtide"
TEMPLATES = {
    "documents": ("A document", "The text of a document of a graph, by its id."),
    "entities": ("An entity", "An entity with its relations, by its id."),
    "reports": ("A report", "The report of a community of entities, by its number."),
}
"""The kinds of resources, with a title and a description."""
MAX_TEXT_CHARS = 200_000
PAGE = 100
JSON, MARKDOWN, PLAIN = "application/json", "text/markdown", "text/plain"


@dataclass(frozen=True, slots=True)
class ResourceText:
    """The content of a resource."""

    mime_type: str
    text: str


@dataclass(frozen=True, slots=True)
class ListedResource:
    """A document in the list of resources."""

    uri: str
    name: str
    title: str


@dataclass(frozen=True, slots=True)
class ResourcePage:
    resources: tuple[ListedResource, ...]
    next: str


async def read_resource(session: AgentSession, uri: str) -> ResourceText:
    """Return the content behind a URI. Raises Invalid, NotFound and Forbidden."""
    graph, kind, name = parse_uri(uri)
    session.permit(Action.READ, graph)
    handle = session.graph(graph)
    if kind == "documents":
        return _document_text(await handle.document(name))
    if kind == "entities":
        return ResourceText(JSON, as_text(entity_json(graph, await handle.entity(name))))
    if not (name.isascii() and name.isdigit() and len(name) <= 18):
        raise Invalid("uri", f"{name[:40]!r} is not the number of a community")
    return _report_text(await handle.community(int(name)))


async def list_resources(session: AgentSession, cursor: str) -> ResourcePage:
    """Return a page of the documents of all graphs that the caller may read."""
    graphs = visible(session.who(), sorted(await session.database.graphs()))
    graph, inner = _decoded(cursor) if cursor else ("", "")
    left = [name for name in graphs if name >= graph]
    if not left:
        return ResourcePage((), "")
    page = await session.graph(left[0]).documents(limit=PAGE, cursor=inner if left[0] == graph else "")
    found = tuple(
        ListedResource(document_uri(left[0], each.id), each.id, clipped(each.title or each.id, 200))
        for each in page.documents
    )
    following = (left[0], page.next) if page.next else (left[1], "") if len(left) > 1 else None
    return ResourcePage(found, _encoded(*following) if following else "")


def parse_uri(uri: str) -> tuple[str, str, str]:
    """Return (graph, kind, id) of a URI. Raises Invalid."""
    wrong = Invalid("uri", f"{uri[:200]!r} is not graphtide://GRAPH/documents|entities|reports/ID")
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise wrong from error
    kind, _, name = parts.path.removeprefix("/").partition("/")
    if parts.scheme != SCHEME or not parts.netloc or kind not in TEMPLATES or not name or parts.query or parts.fragment:
        raise wrong
    try:
        return unquote(parts.netloc, errors="strict"), kind, unquote(name, errors="strict")
    except UnicodeDecodeError as error:
        raise Invalid("uri", f"{uri[:200]!r} is not percent-encoded UTF-8; encode its parts as UTF-8") from error


def _document_text(status: DocumentStatus) -> ResourceText:
    if not status.text and status.live_revision is None:
        raise NotFound(f"document {status.doc_id!r} is {status.state}, and has no text")
    return ResourceText(status.media_type or PLAIN, clipped(status.text, MAX_TEXT_CHARS))


def _report_text(details: CommunityDetails) -> ResourceText:
    report = details.report
    if report is None:
        names = ", ".join(member.name for member in details.members[:50])
        text = f"No report is written yet. The community has {details.size} entities: {names}"
        return ResourceText(PLAIN, clipped(text, MAX_TEXT_CHARS))
    findings = "".join(f"\n- {finding.text}" for finding in report.findings)
    sources = "".join(f"\n- {chunk}" for chunk in report.sources[:200])
    text = f"# {report.title}\n\n{report.summary}\n{findings}\n\nSources (passages):{sources}\n"
    return ResourceText(MARKDOWN, clipped(text, MAX_TEXT_CHARS))


def _encoded(graph: str, cursor: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([graph, cursor]).encode()).decode()


def _decoded(cursor: str) -> tuple[str, str]:
    try:
        graph, inner = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
    except (ValueError, TypeError) as error:
        raise Invalid("cursor", f"{cursor[:40]!r} is not a cursor of this list") from error
    if not isinstance(graph, str) or not isinstance(inner, str):
        raise Invalid("cursor", f"{cursor[:40]!r} is not a cursor of this list")
    return graph, inner
