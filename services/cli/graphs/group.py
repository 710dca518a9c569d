"""The command `graphtide group`: the cohesive group around an entity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from graphtide.services.cli.client import Json


def group_path(graph: str, entity_id: str, k: int, limit: int) -> str:
    """Return the address of a group; 0 for the largest k."""
    path = f"/v1/graphs/{quote(graph, safe='')}/entities/{quote(entity_id, safe='')}/group"
    return f"{path}?limit={limit}" + (f"&k={k}" if k else "")


def show_group(console: Console, body: Json) -> None:
    """Print the entities of a group with their distances, and how cohesive it is."""
    nodes: list[dict[str, Any]] = body["nodes"]
    if not nodes:
        missing = f"is in no {body['k']}-truss; the largest k that has a group is {body['max_k']}."
        console.print(Text(f"The entity {missing}" if body["max_k"] else "The entity has no relations."))
        return
    table = Table("distance", "entity", "type", "id", box=None, pad_edge=False)
    for node in nodes:
        table.add_row(str(node["hop"]), Text(node["name"]), Text(node["type"]), node["id"])
    console.print(table)
    rest = "; the limit left out entities" if body["truncated"] else ""
    console.print(Text(f"{len(nodes)} entities, {len(body['edges'])} edges, k = {body['k']} of {body['max_k']}{rest}"))
