"""The commands `graphtide dlq list|show|retry|discard` on records that could not be processed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote, urlencode

import typer

from graphtide.services.cli.exit_codes import USAGE, CommandError
from graphtide.services.cli.parameters import GRAPH, URL, AsJson, Url, client_of
from graphtide.services.cli.terminal import deprecated, result

if TYPE_CHECKING:
    pass

app = typer.Typer(
    no_args_is_help=True,
    help="Dead letters: list records that could not be processed, publish them again, or discard them.",
)


Graph = Annotated[str, typer.Option("--graph", "-g", help="The graph's name; '*': records whose key names no graph.")]
LetterId = Annotated[str, typer.Argument(metavar="ID", help="The dead letter's id, such as 0-12.")]
Correction = Annotated[
    Path | None, typer.Option("--file", "-f", help="The corrected document: JSON, as for PUT, or - for standard input.")
]


@app.command("list")
def list_letters(
    graph: Graph = GRAPH,
    limit: Annotated[int, typer.Option(min=1, max=500, help="The maximum number of dead letters.")] = 50,
    after: Annotated[str, typer.Option(help="The `next` of the previous page.")] = "",
    resolved: Annotated[bool, typer.Option("--resolved", help="Include resolved dead letters.")] = False,
    settled: Annotated[bool, typer.Option("--settled", hidden=True)] = False,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """List the unresolved dead letters, oldest first."""
    from graphtide.services.cli import render as show

    if settled and resolved:
        raise CommandError("--settled is the old name of --resolved, which is given, too; remove --settled", USAGE)
    if settled:
        deprecated("--settled", "--resolved")
    asked = urlencode({"limit": limit, "after": after, "resolved": str(resolved or settled).lower()})
    with client_of(url) as client:
        result(client.get(f"{_letters(graph)}?{asked}"), as_json, show.letters)


@app.command("show")
def show_letter(letter: LetterId, graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Show a dead letter: its reason and its content, with unprintable characters escaped."""
    from graphtide.services.cli import render as show

    with client_of(url) as client:
        result(client.get(_letter(graph, letter)), as_json, show.letter)


@app.command()
def retry(
    letter: LetterId, graph: Graph = GRAPH, file: Correction = None, url: Url = URL, as_json: AsJson = False
) -> None:
    """Publish a dead letter's document again as a new revision, unchanged or corrected in a file."""
    from graphtide.services.cli import render as show

    body = b"" if file is None else _read(file)
    with client_of(url) as client:
        receipt = client.send("POST", f"{_letter(graph, letter)}/retry", body, "application/json" if body else "")
    result(receipt, as_json, show.fields)


@app.command()
def discard(letter: LetterId, graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Mark a dead letter as resolved: it is no longer listed; the topic keeps the record."""
    from graphtide.services.cli import render as show

    with client_of(url) as client:
        result(client.delete(_letter(graph, letter)), as_json, show.letter)


@app.command("drop", hidden=True)
def drop(letter: LetterId, graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Mark a dead letter as resolved: the old name of `discard`."""
    deprecated("dlq drop", "dlq discard")
    discard(letter, graph, url, as_json)


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
        raise CommandError(f"{file} is empty; it must contain the corrected document", USAGE)
    return body
