"""The commands that read a graph: questions, changes, groups of entities, exports, and the tools of agents."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphtide.services.cli.asking.options import OPTION_HELP, options_from
from graphtide.services.cli.connection import CONNECTION
from graphtide.services.cli.parameters import GRAPH, URL, AsJson, Config, Data, Graph, Url, client_of
from graphtide.services.cli.terminal import progress, result

if TYPE_CHECKING:
    from graphtide.services.cli.client import Json


class ExportFileFormat(StrEnum):
    """The formats of an export."""

    CYPHER = "cypher"
    GRAPHML = "graphml"
    JSONL = "jsonl"


def ui(
    url: Url = URL,
    graph: Annotated[str, typer.Option("--graph", "-g", help="The graph to show first.")] = "",
    print_only: Annotated[bool, typer.Option("--print", help="Print the address, and open no browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Open the page of a running service in the browser."""
    from graphtide.services.cli.open_page import open_page

    address = open_page(url, graph, CONNECTION, print_only=print_only or as_json)
    result({"url": address}, as_json, lambda console, body: console.print(body["url"], soft_wrap=True))


def query(  # noqa: PLR0913, PLR0917 -- the options of a command are its parameters
    question: Annotated[str, typer.Argument(help="The question.")],
    graph: Graph = GRAPH,
    mode: Annotated[str, typer.Option(help="The retrieval mode: local, vector, …")] = "local",
    top_k: Annotated[int, typer.Option(help="The number of passages.")] = 5,
    after: Annotated[str, typer.Option(help="A token of a publish: wait until the graph includes it.")] = "",
    as_of: Annotated[str, typer.Option(help="A date: exclude facts that are known to be invalid at it.")] = "",
    explain: Annotated[bool, typer.Option("--explain", help="Show the retrieval steps.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Search every vector, not the approximate indexes.")] = False,
    options: Annotated[list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help=OPTION_HELP)] = None,
    generate: Annotated[bool, typer.Option(help="Generate an answer, or show the passages only.")] = True,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Ask a question and print the answer with its sources."""
    from graphtide.services.cli.asking.ask import ask

    body: Json = {"question": question, "mode": mode, "top_k": top_k, "generate": generate, "explain": explain}
    with client_of(url) as client:
        extra: Json = ({"after": after} if after else {}) | ({"filters": {"as_of": as_of}} if as_of else {})
        extra |= ({"exact": True} if exact else {}) | ({"options": options_from(options)} if options else {})
        ask(client, graph, body | extra, as_json)


def follow_changes(  # noqa: PLR0913, PLR0917 -- the options of a command are its parameters
    graph: Graph = GRAPH,
    after: Annotated[str, typer.Option(help="The token of a change or of a publish: begin after it.")] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Continue with the changes as they happen.")] = False,
    entity: Annotated[str, typer.Option(help="Only changes of this entity: its id or name.")] = "",
    entity_type: Annotated[str, typer.Option("--type", help="Only changes of entities of this type.")] = "",
    prefix: Annotated[str, typer.Option(help="Only changes by documents whose id begins with it.")] = "",
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Print what each commit of a graph changed, one line per commit (docs/changes.md)."""
    from graphtide.services.cli.feeds.changes import changes

    given = {"after": after, "entity": entity, "type": entity_type, "prefix": prefix}
    given = {name: value for name, value in given.items() if value} | ({} if follow else {"follow": "false"})
    with client_of(url) as client:
        changes(client, graph, given, as_json)


def serve_agents(
    url: Url = URL,
    data: Annotated[
        Path | None, typer.Option(help="A data folder to open in this process, instead of a running service.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer no tool that changes a graph.")] = False,
) -> None:
    """Serve the graphs to an agent by the Model Context Protocol on standard input and output (docs/mcp.md).

    Hosts such as Claude Desktop, Cursor and VS Code start this command. A service offers the same at /mcp.
    """
    from graphtide.services.cli.commands.mcp import serve_stdio

    serve_stdio(url, data, read_only, CONNECTION)


def group(
    entity_id: Annotated[str, typer.Argument(metavar="ID", help="The entity's id.")],
    k: Annotated[int, typer.Option(min=0, help="The least trussness of an edge; 0: the largest with a group.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The maximum number of entities.")] = 200,
    graph: Graph = GRAPH,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Show the cohesive group around an entity: the connected k-truss that holds it (docs/browsing.md)."""
    from graphtide.services.cli.graphs.group import group_path, show_group

    with client_of(url) as client:
        result(client.get(group_path(graph, entity_id, k, limit)), as_json, show_group)


def export(
    output: Annotated[str, typer.Option("--output", "-o", help="The file, or - for standard output.")],
    graph: Graph = GRAPH,
    file_format: Annotated[
        ExportFileFormat, typer.Option("--format", "-f", help="The file format.")
    ] = ExportFileFormat.JSONL,
    data: Data = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Write a graph to a file: Cypher for Neo4j and Memgraph, GraphML for Gephi and others, JSON lines for programs.

    Reads from the graph database if GRAPHTIDE_BOLT names one, else from the data folder, even while a service uses it.
    """
    from graphtide.services.cli import render as show
    from graphtide.services.cli.commands.export import Export, settings_of
    from graphtide.services.cli.commands.export import export as write_export

    with progress(as_json) as bar:
        body = write_export(Export(graph, file_format, output), settings_of(data, config), bar)
    if output != "-":
        result(body, as_json, show.fields)
