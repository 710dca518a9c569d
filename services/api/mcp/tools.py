"""The table of tools: what an agent can do, with the action that each needs.

Every tool is one call of the Python interface, so a tool answers as HTTP does, on an embedded service and a cluster.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from graphtide.services.access.policy import Action, visible
from graphtide.services.api.mcp.arguments import (
    AgentQuestion,
    Arguments,
    ChangesAfter,
    DocumentRef,
    EntityRef,
    EntitySearch,
    NewDocument,
    NoArguments,
    OldDocument,
    RelatedTo,
    Surroundings,
)
from graphtide.services.api.mcp.results import (
    Json,
    answer_json,
    change_json,
    clipped,
    document_json,
    document_uri,
    entity_json,
    entity_uri,
    fitted,
    passages_json,
    rows,
)
from graphtide.services.api.mcp.session import AgentSession
from graphtide.services.application import Answer, Filters
from graphtide.services.changes.types import Change, GraphRows


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool: `run` gets arguments of the class `arguments`, whose fields the caller is permitted to use."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    run: Callable[[AgentSession, Any], Awaitable[Json]]
    action: Action = Action.READ
    is_destructive: bool = False


async def ask(session: AgentSession, given: AgentQuestion) -> Json:
    return answer_json(given.graph, await _asked(session, given, generate=True))


async def search_passages(session: AgentSession, given: AgentQuestion) -> Json:
    return passages_json(given.graph, await _asked(session, given, generate=False))


async def _asked(session: AgentSession, given: AgentQuestion, generate: bool) -> Answer:
    filters = Filters(
        doc_ids=tuple(given.doc_ids),
        sources=tuple(given.sources),
        metadata=tuple(given.metadata.items()),
        occurred_from=given.occurred_from,
        occurred_to=given.occurred_to,
    )
    options: dict[str, Any] = {"mode": given.mode, "top_k": given.top_k, "after": given.after, "as_of": given.as_of}
    graph = session.graph(given.graph)
    return await graph.ask(given.question, filters=filters, generate=generate, options=given.options or None, **options)


async def find_entities(session: AgentSession, given: EntitySearch) -> Json:
    options: dict[str, Any] = given.model_dump(exclude={"graph"})
    page = await session.graph(given.graph).entities(**options)
    found = [
        {**row, "uri": entity_uri(given.graph, row["id"])}
        for row in rows(page.entities, "id", "name", "type", "mentions", "degree")
    ]
    body = {"entities": found, "version": page.version, **({"next": page.next} if page.next else {})}
    return fitted(body, "entities")


async def get_entity(session: AgentSession, given: EntityRef) -> Json:
    return entity_json(given.graph, await session.graph(given.graph).entity(given.entity_id))


async def neighbourhood(session: AgentSession, given: Surroundings) -> Json:
    found = await session.graph(given.graph).neighbourhood(given.entity_id, hops=given.hops, limit=given.limit)
    edges = [
        {**row, "predicates": [clipped(each, 200) for each in row["predicates"][:5]]}
        for row in rows(found.edges, "source_name", "target_name", "predicates", "weight")
    ]
    nodes = rows(found.nodes, "id", "name", "type", "mentions", "hop")
    body = {"center": found.center, "version": found.version, "nodes": nodes, "edges": edges}
    return fitted(fitted(body, "edges"), "nodes")


async def related_documents(session: AgentSession, given: RelatedTo) -> Json:
    found = await session.graph(given.graph).related(given.doc_id, given.limit)
    documents = [
        {
            "doc_id": each.doc_id,
            "title": clipped(each.title, 500),
            "score": each.score,
            "shared_entities": [clipped(name, 200) for name in each.entities[:10]],
            "uri": document_uri(given.graph, each.doc_id),
        }
        for each in found.documents
    ]
    return fitted({"doc_id": found.doc_id, "version": found.version, "documents": documents}, "documents")


async def get_document(session: AgentSession, given: DocumentRef) -> Json:
    return document_json(given.graph, await session.graph(given.graph).document(given.doc_id), given.start)


async def what_changed(session: AgentSession, given: ChangesAfter) -> Json:
    """Return the commits after a token, oldest first; `next` is the token to continue after."""
    graph = session.graph(given.graph)
    after = given.after or f"v{max(0, (await graph.stats()).version - given.limit)}"
    found: list[Json] = []
    token, has_more = after, False
    items = graph.changes(after=after, entity=given.entity, prefix=given.prefix, follow=False)
    async with aclosing(cast("AsyncGenerator[Change | GraphRows, None]", items)) as changes:
        async for change in changes:
            if len(found) == given.limit:
                has_more = True
                break
            if isinstance(change, Change):
                found.append(change_json(change))
                token = change.token
    return _whole_commits({"changes": found, "next": token, "has_more": has_more})


def _whole_commits(body: Json) -> Json:
    """Return the commits that fit, continued after the last of them."""
    fit = fitted(body, "changes")
    if fit is body or not fit["changes"]:
        return fit
    return {**fit, "next": fit["changes"][-1]["token"], "has_more": True}


async def list_graphs(session: AgentSession, _: NoArguments) -> Json:
    found = await session.database.graphs()
    names = visible(session.who(), sorted(found))
    return fitted({"graphs": [{"graph": name, "version": found[name]} for name in names]}, "graphs")


async def add_document(session: AgentSession, given: NewDocument) -> Json:
    options: dict[str, Any] = given.model_dump(exclude={"graph", "doc_id", "text"})
    receipt = await session.graph(given.graph).add(given.doc_id, given.text, **options)
    return {"token": receipt.token, "uri": document_uri(given.graph, given.doc_id)}


async def delete_document(session: AgentSession, given: OldDocument) -> Json:
    receipt = await session.graph(given.graph).delete(given.doc_id)
    return {"token": receipt.token}


_ASK = (
    "Answer a question from a graph of documents that is always current. Returns the answer with [n] marks, the "
    "citations with those numbers (document, quoted sentence), and the graph's version."
)
_SEARCH = "Find the passages of documents that matter for a question, without a generated answer."
_CHANGES = (
    "List the commits of a graph, oldest first: documents, and the entities and relations that each added, changed or "
    "removed. Call it again with `next` as `after` for what happened since."
)
_ADD = (
    "Publish a document, or replace the one with the same id. Returns a token: pass it as `after` to ask or "
    "search_passages, whose result then includes it."
)

TOOLS: tuple[AgentTool, ...] = (
    AgentTool("ask", "Ask a question", _ASK, AgentQuestion, ask),
    AgentTool("search_passages", "Search passages", _SEARCH, AgentQuestion, search_passages),
    AgentTool(
        "find_entities",
        "Find entities",
        "List entities (people, places, things) by a part of their name, with their ids.",
        EntitySearch,
        find_entities,
    ),
    AgentTool(
        "get_entity",
        "Get an entity",
        "Return an entity: its spellings, description, strongest relations, and the reports that cover it.",
        EntityRef,
        get_entity,
    ),
    AgentTool(
        "neighbourhood",
        "Show a neighbourhood",
        "Return the entities around one, with the relations between them.",
        Surroundings,
        neighbourhood,
    ),
    AgentTool(
        "related_documents",
        "Find related documents",
        "Return the documents most related to one, and the entities that they share.",
        RelatedTo,
        related_documents,
    ),
    AgentTool(
        "get_document",
        "Get a document",
        "Return a document: its state, its text in parts (continue with next_start), and the facts it states.",
        DocumentRef,
        get_document,
    ),
    AgentTool("what_changed", "Show what changed", _CHANGES, ChangesAfter, what_changed),
    AgentTool("list_graphs", "List graphs", "List the graphs that can be read.", NoArguments, list_graphs),
    AgentTool("add_document", "Add a document", _ADD, NewDocument, add_document, Action.WRITE, is_destructive=True),
    AgentTool(
        "delete_document",
        "Delete a document",
        "Delete a document and everything that it alone supports. This cannot be undone.",
        OldDocument,
        delete_document,
        Action.WRITE,
        is_destructive=True,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
