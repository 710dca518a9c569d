"""The commands that run processes, show their state, and verify or rebuild graphs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphtide.services.cli.connection import CONNECTION
from graphtide.services.cli.exit_codes import DIFFERS, FAILED, CommandError
from graphtide.services.cli.parameters import GRAPH, LONG_TIMEOUT_S, URL, AsJson, Config, Data, Graph, Url, client_of
from graphtide.services.cli.terminal import progress, result

if TYPE_CHECKING:
    pass


class Role(StrEnum):
    """The roles of a cluster's processes."""

    EXTRACT = "extract"
    CONSOLIDATE = "consolidate"
    SUMMARIZE = "summarize"
    QUERY = "query"
    GATEWAY = "gateway"


def serve(  # noqa: PLR0913, PLR0917 -- the options of a command are its parameters
    host: Annotated[str | None, typer.Option(help="The address to listen on.  [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="The port for HTTP, 0 for any.  [default: 8080]")] = None,
    grpc_port: Annotated[int | None, typer.Option(help="The port for gRPC, 0 for any.  [default: 50051]")] = None,
    data: Data = None,
    config: Config = None,
    embedding_model: Annotated[str | None, typer.Option(help="The embedding model.  [default: wordllama]")] = None,
    reembed: Annotated[
        bool | None, typer.Option("--reembed", help="Embed a folder of another model again while serving.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the service: HTTP, gRPC and all stages, in this process. Options override settings."""
    from graphtide.services.process.serve import serve_until_stopped

    given = {"host": host, "port": port, "grpc_port": grpc_port, "data": data}
    models = {"embedding_model": embedding_model, "reembed": reembed}
    serve_until_stopped({**given, **models}, config, as_json)


def status(url: Url = URL, as_json: AsJson = False) -> None:
    """Show whether a process is ready, the role and state of each component, and the remedy for each problem.

    A worker of a cluster answers at its metrics port: --url http://127.0.0.1:9464. Exits with 1 when it is not ready.
    """
    from graphtide.services.cli import render as show
    from graphtide.services.cli.status import explained
    from graphtide.services.doctor.running import components_of

    with client_of(url) as client:
        body = client.readiness()
    result({"url": url, **body, "explained": explained(components_of(body))}, as_json, show.standing)
    if not body.get("ready"):
        raise CommandError("the service is not ready; the components above give the reasons and the remedies", FAILED)


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


def stats(graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Show the counts of a graph, and its lag."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import graph_path

    with client_of(url) as client:
        result(client.get(f"{graph_path(graph)}/stats"), as_json, show.fields)


def digest(graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Print the canonical digest of a graph: equal for equal sets of documents, in any order of arrival."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import graph_path

    with client_of(url) as client:
        result(client.get(f"{graph_path(graph)}/digest"), as_json, show.fields)


def verify(graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Compute all derived data of a graph again and show differences. Exits with 5 when there are any."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import graph_path

    with client_of(url, LONG_TIMEOUT_S) as client, progress(as_json) as bar:
        bar(f"Verifying graph {graph}", 0)
        body = client.post(f"{graph_path(graph)}/verify")
    result(body, as_json, show.fields)
    if body["differences"]:
        raise CommandError(f"{len(body['differences'])} differences; graphtide rebuild builds the graph again", DIFFERS)


def rebuild(graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Rebuild a graph from the extractions of its documents, and replace it by the result."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import graph_path

    with client_of(url, LONG_TIMEOUT_S) as client, progress(as_json) as bar:
        bar(f"Rebuilding graph {graph}", 0)
        body = client.post(f"{graph_path(graph)}/rebuild")
    result(body, as_json, show.fields)
    if not body["switched"]:
        raise CommandError("the rebuilt graph did not replace the old one; the service's log has the reason", FAILED)


def worker(
    role: Annotated[Role, typer.Argument(help="The role of the process.")],
    metrics_port: Annotated[int | None, typer.Option(help="The port for health and metrics.  [default: 9464]")] = None,
    port: Annotated[int | None, typer.Option(help="gateway: the port for HTTP.  [default: 8080]")] = None,
    grpc_port: Annotated[int | None, typer.Option(help="query: the port for gRPC.  [default: 50051]")] = None,
    data: Annotated[Path | None, typer.Option(help="The folder for indexes.  [default: graphtide-data]")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Run one process of a cluster: extract, consolidate, summarize, query (answers by gRPC), gateway (HTTP)."""
    from graphtide.services.process.worker import work_until_stopped

    given = {"metrics_port": metrics_port, "port": port, "grpc_port": grpc_port, "data": data}
    work_until_stopped(role.value, given, config, as_json)
