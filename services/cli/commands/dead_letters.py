"""The commands `graphtide dlq list|show|retry|drop`: what could not be processed, and what is to become of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote, urlencode

import typer

from graphtide.services.cli.connection import CONNECTION
from graphtide.services.cli.exit_codes import USAGE, CommandError
from graphtide.services.cli.terminal import result, tell

if TYPE_CHECKING:
    from graphtide.services.cli.client import Client

app = typer.Typer(
    no_args_is_help=True, help="Dead letters: look at what could not be processed, publish it again, or drop it."
)

URL = "http://127.0.0.1:8080"
GRAPH = "default"

Url = Annotated[str, typer.Option("--url", envvar="GRAPHTIDE_URL", help="Where the service is.")]
Graph = Annotated[str, typer.Option("--graph", "-g", help="The graph's name; '*': records whose key names none.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
LetterId = Annotated[str, typer.Argument(metavar="ID", help="The dead letter's id, such as 0-12.")]
Correction = Annotated[
    Path | None, typer.Option("--file", "-f", help="The corrected document: JSON, as for PUT, or - for standard input.")
]


@app.command("list")
def list_letters(
    graph: Graph = GRAPH,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many at most.")] = 50,
    after: Annotated[str, typer.Option(help="The `next` of the page in front.")] = "",
    settled: Annotated[bool, typer.Option("--settled", help="Those that are dealt with, too.")] = False,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """List the dead letters that nobody has dealt with, oldest first."""
    from graphtide.services.cli import render as show

    asked = urlencode({"limit": limit, "after": after, "settled": str(settled).lower()})
    with _client(url) as client:
        result(client.get(f"{_letters(graph)}?{asked}"), as_json, show.letters)


@app.command("show")
def show_letter(letter: LetterId, graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Show a dead letter: why it is one, and what it holds, with what is not printable escaped."""
    from graphtide.services.cli import render as show

    with _client(url) as client:
        result(client.get(_letter(graph, letter)), as_json, show.letter)


@app.command()
def retry(
    letter: LetterId, graph: Graph = GRAPH, file: Correction = None, url: Url = URL, as_json: AsJson = False
) -> None:
    """Publish a dead letter's document again, as it was or as corrected in a file. It is a new revision."""
    from graphtide.services.cli import render as show

    body = b"" if file is None else _read(file)
    with _client(url) as client:
        said = client.send("POST", f"{_letter(graph, letter)}/retry", body, "application/json" if body else "")
    result(said, as_json, show.fields)


@app.command()
def drop(letter: LetterId, graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Say that a dead letter is dealt with: it is listed no more, and the topic keeps it."""
    from graphtide.services.cli import render as show

    with _client(url) as client:
        result(client.delete(_letter(graph, letter)), as_json, show.letter)


def _client(url: str) -> Client:
    from graphtide.services.cli.client import Client

    return Client(url, tell, connection=CONNECTION)


def _letters(graph: str) -> str:
    from graphtide.services.cli.client import graph_path

    return f"{graph_path(graph)}/dead-letters"


def _letter(graph: str, letter: str) -> str:
    return f"{_letters(graph)}/{quote(letter, safe='')}"


def _read(file: Path) -> bytes:
    try:
        body = typer.get_binary_stream("stdin").read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}", USAGE) from error
    if not body:
        raise CommandError(f"{file} is empty; it must hold the corrected document", USAGE)
    return body
