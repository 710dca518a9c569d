"""The main commands of `graphtide`: their options and their calls of the service.

`publish.py`, `sources.py`, `render.py` and `services/process` implement them, and are imported when needed.
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphtide.services.cli.asking.options import OPTION_HELP, options_from
from graphtide.services.cli.commands import (
    data as data_commands,
)
from graphtide.services.cli.commands import (
    dead_letters as letter_commands,
)
from graphtide.services.cli.commands import (
    keys as key_commands,
)
from graphtide.services.cli.commands import (
    questions as question_commands,
)
from graphtide.services.cli.commands import (
    topics as topic_commands,
)
from graphtide.services.cli.connection import CONNECTION, add_connection_options
from graphtide.services.cli.evaluation.command import evaluate
from graphtide.services.cli.exit_codes import DIFFERS, EXPLAINED, FAILED, CommandError
from graphtide.services.cli.graphs import commands as graph_commands
from graphtide.services.cli.terminal import progress, result, tell

if TYPE_CHECKING:
    from graphtide.services.cli.client import Client, Json

app = typer.Typer(
    name="graphtide",
    help="A knowledge graph that stays current while documents stream in, and answers from it.",
    epilog=EXPLAINED,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(key_commands.app, name="keys")
app.add_typer(topic_commands.app, name="topics")
app.add_typer(letter_commands.app, name="dlq")
app.add_typer(question_commands.app, name="questions")
app.add_typer(graph_commands.app, name="graphs")
data_commands.add_data_commands(app)
app.command("eval")(evaluate)

Url = Annotated[str, typer.Option("--url", envvar="GRAPHTIDE_URL", help="The URL of the service.")]
Graph = Annotated[str, typer.Option("--graph", "-g", help="The graph's name.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
DocId = Annotated[str, typer.Argument(metavar="ID", help="The document's id.")]

URL = "http://127.0.0.1:8080"
GRAPH = "default"


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"graphtide {version('graphtide')}")
        raise typer.Exit


@app.callback()
def global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A knowledge graph that stays current while documents stream in, and answers from it."""


class Role(StrEnum):
    """The roles of a cluster's processes."""

    EXTRACT = "extract"
    CONSOLIDATE = "consolidate"
    SUMMARIZE = "summarize"
    QUERY = "query"
    GATEWAY = "gateway"


class ExportFileFormat(StrEnum):
    """The formats of an export."""

    CYPHER = "cypher"
    GRAPHML = "graphml"
    JSONL = "jsonl"


def run() -> None:
    """Run the command line. A `CommandError` becomes one sentence on standard error, and its exit code."""
    add_connection_options(app)
    add_connection_options(letter_commands.app)
    add_connection_options(graph_commands.app)
    add_connection_options(question_commands.app)
    try:
        app(prog_name="graphtide")
    except CommandError as error:
        tell(f"graphtide: {error}")
        sys.exit(error.code)
    except BrokenPipeError:  # the reader of the pipe has ended; flushing at exit must not fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on.  [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="The port for HTTP, 0 for any.  [default: 8080]")] = None,
    grpc_port: Annotated[int | None, typer.Option(help="The port for gRPC, 0 for any.  [default: 50051]")] = None,
    data: Annotated[Path | None, typer.Option(help="The data folder.  [default: graphtide-data]")] = None,
    config: Annotated[Path | None, typer.Option(help="A file of settings.  [default: graphtide.toml]")] = None,
    as_json: AsJson = False,
) -> None:
    """Run the service: HTTP, gRPC and all stages, in this process. Options override settings."""
    from graphtide.services.process.serve import serve_until_stopped

    serve_until_stopped({"host": host, "port": port, "grpc_port": grpc_port, "data": data}, config, as_json)


@app.command()
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


@app.command()
def publish(
    files: Annotated[list[str], typer.Argument(help="Files, folders, or - for standard input.")],
    graph: Graph = GRAPH,
    doc_id: Annotated[str, typer.Option("--id", help="The id of a text from standard input.")] = "stdin",
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the graph contains all documents.")] = False,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Publish documents: text, Markdown, JSON lines, CSV, HTML, Word, PDF, mails.

    A file's id is its path relative to the working folder, or the absolute path of a file outside of it; its title is
    its own, or its name.
    """
    from graphtide.services.cli import render as show
    from graphtide.services.cli.publish import publish_all, wait_for_all
    from graphtide.services.cli.sources import count_documents, find_documents

    found = find_documents(files, doc_id)
    with _client(url) as client, progress(as_json) as bar:
        outcome = publish_all(client, graph, found.read(), bar("published", sum(map(count_documents, found.files))))
        if wait:
            wait_for_all(client, graph, outcome, bar("in the graph", len(set(outcome.doc_ids))))
    for problem in outcome.problems:
        tell(f"graphtide: {problem.name}: {problem.reason}")
    result(outcome.as_json(), as_json, show.published)
    if outcome.problems:
        raise CommandError(f"{len(outcome.problems)} documents failed; each is named above with its reason", FAILED)


@app.command("sync")
def sync_folder(  # noqa: PLR0913, PLR0917 -- the options of a command are its parameters
    folder: Annotated[str, typer.Argument(help="The folder, or a URL such as s3://bucket/notes.")],
    graph: Graph = GRAPH,
    watch: Annotated[bool, typer.Option("--watch", help="Continue, and follow every change until Ctrl-C.")] = False,
    interval: Annotated[
        float,
        typer.Option(
            min=0, help="With --watch: list every so many seconds.  [default: 60 for a URL; a folder reports changes]"
        ),
    ] = 0,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete also documents of this folder that only the graph knows.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the graph has processed all.")] = True,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Make a graph follow a folder or an object store: publish new and changed files, delete those that are gone.

    URLs of s3://, gs://, github:// and other protocols of fsspec need graphtide[remote]. Their credentials come from
    the environment.

    A document's id is the path of its file relative to the folder; a record of JSON lines adds # and its id. Hidden and
    git-ignored files are left out. With --watch and --json every pass is one line.
    """
    from graphtide.services.cli.commands.sync import run_sync
    from graphtide.services.cli.sync.run import SyncOptions
    from graphtide.services.cli.sync.tree import open_tree

    options = SyncOptions(open_tree(folder), graph, prune, dry_run, wait)
    with _client(url) as client:
        run_sync(client, options, watch, interval, as_json)


@app.command("import")
def import_index(
    path: Annotated[
        Path, typer.Argument(help="The output folder of Microsoft GraphRAG, or LightRAG's working folder.")
    ],
    graph: Graph = GRAPH,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what it contains and loses, and do nothing.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the graph has processed all.")] = True,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Import an index of Microsoft GraphRAG or LightRAG with its entities and relations; no model extracts again.

    Each passage becomes a document with the id that it has there. A repeated import changes nothing, and an interrupted
    one continues. Needs graphtide[import].
    """
    from graphtide.services.cli.importing.command import run_import
    from graphtide.services.cli.importing.run import ImportOptions

    with _client(url) as client:
        run_import(client, ImportOptions(path, graph, dry_run, wait), as_json)


@app.command()
def estimate(
    files: Annotated[list[str], typer.Argument(help="Files, folders, or - for standard input.")],
    graph: Graph = GRAPH,
    data: Annotated[Path | None, typer.Option(help="The data folder, for cached answers of models.")] = None,
    config: Annotated[Path | None, typer.Option(help="A file of settings.  [default: graphtide.toml]")] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the cost of publishing documents: calls, tokens, money, and the part that is cached. Calls no model."""
    from graphtide.services.cli.commands.estimate import estimate_all, shown
    from graphtide.services.cli.sources import count_documents, find_documents

    found = find_documents(files, "stdin")
    with progress(as_json) as bar:
        advance = bar("counted", sum(map(count_documents, found.files)))
        estimated = estimate_all(graph, found, {"data": data}, config, advance)
    result(estimated.as_json(), as_json, shown)


@app.command()
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
    with _client(url) as client:
        extra: Json = ({"after": after} if after else {}) | ({"filters": {"as_of": as_of}} if as_of else {})
        extra |= ({"exact": True} if exact else {}) | ({"options": options_from(options)} if options else {})
        ask(client, graph, body | extra, as_json)


@app.command("changes")
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
    with _client(url) as client:
        changes(client, graph, given, as_json)


@app.command("mcp")
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


@app.command()
def status(url: Url = URL, as_json: AsJson = False) -> None:
    """Show whether a process is ready, the role and state of each component, and the remedy for each problem.

    A worker of a cluster answers at its metrics port: --url http://127.0.0.1:9464. Exits with 1 when it is not ready.
    """
    from graphtide.services.cli import render as show
    from graphtide.services.cli.status import explained
    from graphtide.services.doctor.running import components_of

    with _client(url) as client:
        body = client.readiness()
    result({"url": url, **body, "explained": explained(components_of(body))}, as_json, show.standing)
    if not body.get("ready"):
        raise CommandError("the service is not ready; the components above give the reasons and the remedies", FAILED)


@app.command()
def doctor(
    config: Annotated[
        Path | None, typer.Option(help="The service's file of settings.  [default: graphtide.toml]")
    ] = None,
    url: Annotated[str, typer.Option("--url", envvar="GRAPHTIDE_URL", help="The URL of the service, if it runs.")] = "",
    as_json: AsJson = False,
) -> None:
    """Find problems and their remedies: settings, data folder, ports, endpoints, cluster, the running service.

    Run it with the service's settings on its machine. Calls each endpoint once. Exits with 1 when something fails.
    """
    from graphtide.services.cli import render as show
    from graphtide.services.cli.commands.doctor import diagnose

    body = diagnose(config, url, CONNECTION)
    result(body, as_json, show.findings)
    serious = sum(1 for each in body["findings"] if each["serious"])
    if serious:
        raise CommandError(f"{serious} serious problems found; correct them as described above", FAILED)


@app.command()
def stats(graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Show the counts of a graph, and its lag."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import graph_path

    with _client(url) as client:
        result(client.get(f"{graph_path(graph)}/stats"), as_json, show.fields)


@app.command()
def document(doc_id: DocId, graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Show the state of a document, and its content in the graph."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import document_path

    with _client(url) as client:
        result(client.get(document_path(graph, doc_id)), as_json, show.document)


@app.command()
def related(
    doc_id: DocId,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=100, help="The number of documents.")] = 10,
    graph: Graph = GRAPH,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Show the documents related to one, and the entities they share."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import document_path

    with _client(url) as client:
        result(client.get(f"{document_path(graph, doc_id)}/related?count={count}"), as_json, show.related)


@app.command()
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

    with _client(url) as client:
        result(client.get(group_path(graph, entity_id, k, limit)), as_json, show_group)


@app.command()
def delete(doc_id: DocId, graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Delete a document, and everything that only it supports."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import document_path

    with _client(url) as client:
        result(client.delete(document_path(graph, doc_id)), as_json, show.fields)


@app.command()
def digest(graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Print the canonical digest of a graph: equal for equal sets of documents, in any order of arrival."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import graph_path

    with _client(url) as client:
        result(client.get(f"{graph_path(graph)}/digest"), as_json, show.fields)


@app.command()
def verify(graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Compute all derived data of a graph again and show differences. Exits with 5 when there are any."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import graph_path

    with _client(url, patient=True) as client, progress(as_json) as bar:
        bar(f"Verifying graph {graph}", 0)
        body = client.post(f"{graph_path(graph)}/verify")
    result(body, as_json, show.fields)
    if body["differences"]:
        raise CommandError(f"{len(body['differences'])} differences; graphtide rebuild builds the graph again", DIFFERS)


@app.command()
def rebuild(graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Rebuild a graph from the extractions of its documents, and replace it by the result."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import graph_path

    with _client(url, patient=True) as client, progress(as_json) as bar:
        bar(f"Rebuilding graph {graph}", 0)
        body = client.post(f"{graph_path(graph)}/rebuild")
    result(body, as_json, show.fields)
    if not body["switched"]:
        raise CommandError("the rebuilt graph did not replace the old one; the service's log has the reason", FAILED)


@app.command()
def export(
    output: Annotated[str, typer.Option("--output", "-o", help="The file, or - for standard output.")],
    graph: Graph = GRAPH,
    file_format: Annotated[
        ExportFileFormat, typer.Option("--format", "-f", help="The file format.")
    ] = ExportFileFormat.JSONL,
    data: Annotated[Path | None, typer.Option(help="The data folder.  [default: graphtide-data]")] = None,
    config: Annotated[Path | None, typer.Option(help="A file of settings.  [default: graphtide.toml]")] = None,
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


@app.command()
def worker(
    role: Annotated[Role, typer.Argument(help="The role of the process.")],
    metrics_port: Annotated[int | None, typer.Option(help="The port for health and metrics.  [default: 9464]")] = None,
    port: Annotated[int | None, typer.Option(help="gateway: the port for HTTP.  [default: 8080]")] = None,
    grpc_port: Annotated[int | None, typer.Option(help="query: the port for gRPC.  [default: 50051]")] = None,
    data: Annotated[Path | None, typer.Option(help="The folder for indexes.  [default: graphtide-data]")] = None,
    config: Annotated[Path | None, typer.Option(help="A file of settings.  [default: graphtide.toml]")] = None,
    as_json: AsJson = False,
) -> None:
    """Run one process of a cluster: extract, consolidate, summarize, query (answers by gRPC), gateway (HTTP)."""
    from graphtide.services.process.worker import work_until_stopped

    given = {"metrics_port": metrics_port, "port": port, "grpc_port": grpc_port, "data": data}
    work_until_stopped(role.value, given, config, as_json)


def _client(url: str, patient: bool = False) -> Client:
    """Return a client of the service; a patient one waits for work that grows with the graph."""
    from graphtide.services.cli.client import Client

    return Client(url, tell, timeout_s=3600.0 if patient else 60.0, connection=CONNECTION)
