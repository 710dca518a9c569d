"""The calls of an agent over the Model Context Protocol, made by a script in its place.

    pip install 'graphtide[mcp]'
    python examples/agent.py

starts `graphtide mcp` on a data folder, as an agent's host does, and prints

    tools that may change a graph: add_document, delete_document
    answer: Solveig Berg keeps the lighthouse of Cape Thorn. [1]
    source: graphtide://coast/documents/lighthouse
    neighbours of Solveig Berg: Cape Thorn
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client


async def main(folder: str) -> None:
    arguments = ["-m", "graphtide.services.cli", "mcp", "--data", folder]
    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=arguments))) as client:

        async def call(tool: str, **values: object) -> Any:
            return (await client.call_tool(tool, values)).structured_content

        tools = (await client.list_tools()).tools
        changing = [tool.name for tool in tools if tool.annotations and not tool.annotations.read_only_hint]
        print("tools that may change a graph:", ", ".join(changing))

        note = "Solveig Berg keeps the lighthouse of Cape Thorn. It rained on Sunday."
        added = await call("add_document", graph="coast", doc_id="lighthouse", text=note)
        question = "Who keeps the lighthouse of Cape Thorn?"
        answer = await call("ask", graph="coast", question=question, after=added["token"])
        print("answer:", answer["answer"])
        print("source:", answer["citations"][0]["uri"])

        found = await call("find_entities", graph="coast", q="Solveig")
        person = found["entities"][0]
        around = await call("neighbourhood", graph="coast", entity_id=person["id"])
        names = sorted(node["name"] for node in around["nodes"] if node["id"] != person["id"])
        print(f"neighbours of {person['name']}:", ", ".join(names))


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(folder))
