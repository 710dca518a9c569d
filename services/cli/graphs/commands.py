"""The commands `graphtide graphs list|delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graphtide.services.cli.exit_codes import FAILED, USAGE, CommandError
from graphtide.services.cli.parameters import URL, AsJson, Url, client_of
from graphtide.services.cli.terminal import result

if TYPE_CHECKING:
    from graphtide.services.cli.client import Client, Json

WAIT_S = 60
TIMEOUT_S = 120.0

app = typer.Typer(help="The graphs of the service: list them with their versions, or delete one.")

Name = Annotated[str, typer.Argument(metavar="GRAPH", help="The graph's name.")]


@app.callback(invoke_without_command=True)
def graphs(context: typer.Context, url: Url = URL, as_json: AsJson = False) -> None:
    """List the graphs with their versions, or delete one."""
    if context.invoked_subcommand is None:
        list_graphs(url, as_json)


@app.command("list")
def list_graphs(url: Url = URL, as_json: AsJson = False) -> None:
    """List the graphs with their versions."""
    from graphtide.services.cli import render as show

    with client_of(url, TIMEOUT_S) as client:
        result(client.get("/v1/graphs"), as_json, show.graphs)


@app.command("delete")
def delete_graph(
    graph: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without a question.")] = False,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Delete a graph with all its documents. This cannot be undone; the name may be used again."""
    from graphtide.services.cli import render as show

    if not yes and not _confirmed(graph):
        raise CommandError(f"graph {graph} was not deleted; pass --yes to delete it without a question", USAGE)
    with client_of(url, TIMEOUT_S) as client:
        body = _deleted(client, graph)
    result(body, as_json, show.fields)


def _deleted(client: Client, graph: str) -> Json:
    from graphtide.services.cli.client import graph_path

    body = client.delete(f"{graph_path(graph)}?wait_s={WAIT_S}")
    if not body.get("deleted"):
        raise CommandError(
            f"graph {graph} is being deleted, and the deletion continues; graphtide status shows its progress", FAILED
        )
    return body


def _confirmed(graph: str) -> bool:
    """Ask the person at the terminal; without one the answer is no."""
    try:
        return typer.confirm(f"Delete graph {graph} with all its documents?", err=True)
    except typer.Abort:
        return False
