"""A transcript of an agent's calls over MCP, as docs/mcp.md shows it: `make pages` runs the calls and writes it.

The agent reads what a call returned and uses it in the next one, as a model does.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client

from graphtide.services.api.http.app import create_app
from tests.support.marked_page import with_part
from tests.support.serving import http_service, opened

PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"
BEGIN, END = "<!-- transcript:begin -->", "<!-- transcript:end -->"
REPORT = (
    "# Pump 3\n\nKenji Mori repaired pump 3 on Monday. Pump 3 feeds the boiler. "
    "The boiler heats the north hall, where Ana Ruiz leads the workshop."
)


async def transcript(folder: Path) -> str:
    """Return the calls and results of one session on a new graph."""
    lines: list[str] = []
    async with (
        opened("embedded", folder) as application,
        http_service(create_app(application)) as url,
        Client(f"{url}/mcp") as client,
    ):

        async def call(name: str, **arguments: object) -> Any:
            result = await client.call_tool(name, arguments)
            assert isinstance(result, types.CallToolResult)
            [content] = result.content
            assert isinstance(content, types.TextContent)
            body = content.text if result.is_error else json.dumps(_timeless(result.structured_content), indent=1)
            lines.extend((f"→ {name} {json.dumps(arguments, ensure_ascii=False)}", f"← {body}"))
            return result.structured_content

        added = await call("add_document", graph="plant", doc_id="pump-3", text=REPORT, occurred_at="2026-03-02")
        await call("ask", graph="plant", question="Who repaired pump 3?", after=added["token"])
        found = await call("find_entities", graph="plant", q="boiler")
        await call("neighbourhood", graph="plant", entity_id=found["entities"][0]["id"], limit=5)
        await call("ask", graph="plnat", question="Who repaired pump 3?")
        deleted = await call("delete_document", graph="plant", doc_id="pump-3")
        await call("search_passages", graph="plant", question="pump 3", after=deleted["token"])
        await call("what_changed", graph="plant", after="v1")
    return "\n".join(lines)


def _timeless(body: Any) -> Any:
    """Return the result with one time for all commits, so that every session is the same."""
    changes = [{**change, "committed_at": "2026-11-22T09:30:00.120Z"} for change in body.get("changes", ())]
    return {**body, "changes": changes} if changes else body


async def write_transcript() -> None:
    """Run the calls, and write them into the page."""
    with tempfile.TemporaryDirectory() as folder:
        text = await transcript(Path(folder))
    PAGE.write_text(with_transcript(PAGE.read_text(), text))


def with_transcript(page: str, text: str) -> str:
    """Return the page with this transcript."""
    return with_part(page, BEGIN, END, f"\n```text\n{text}\n```\n")
