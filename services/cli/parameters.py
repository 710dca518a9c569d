"""The parameters that several commands share, and the client that they give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphtide.services.cli.connection import CONNECTION
from graphtide.services.cli.terminal import tell

if TYPE_CHECKING:
    from graphtide.services.cli.client import Client


Url = Annotated[str, typer.Option("--url", envvar="GRAPHTIDE_URL", help="The URL of the service.")]
Graph = Annotated[str, typer.Option("--graph", "-g", help="The graph's name.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Config = Annotated[Path | None, typer.Option(help="A file of settings.  [default: graphtide.toml]")]
Data = Annotated[Path | None, typer.Option(help="The data folder.  [default: graphtide-data]")]
DocId = Annotated[str, typer.Argument(metavar="ID", help="The document's id.")]

URL = "http://127.0.0.1:8080"
GRAPH = "default"


LONG_TIMEOUT_S = 3600.0
"""Maximum waiting time for an operation whose duration grows with the graph."""


def client_of(url: str, timeout_s: float = 60.0) -> Client:
    """Return a client of the service at a URL, with the connection options of the running command."""
    from graphtide.services.cli.client import Client

    return Client(url, tell, timeout_s=timeout_s, connection=CONNECTION)
