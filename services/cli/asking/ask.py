"""The command `graphtide query`: streams the answer on a terminal, prints it whole otherwise."""

from __future__ import annotations

import sys

from graphtide.services.cli import render as show
from graphtide.services.cli.client import Client, Json, graph_path
from graphtide.services.cli.exit_codes import CommandError
from graphtide.services.cli.terminal import console, result


def ask(client: Client, graph: str, body: Json, as_json: bool) -> None:
    """Print the answer to `body`, a question in the shape of the contract. Raises CommandError."""
    path = f"{graph_path(graph)}/query"
    if as_json or not sys.stdout.isatty():
        result(client.post(path, body), as_json, lambda screen, answer: show.answer(screen, answer, with_text=True))
        return
    show.answer(console(), _streamed(client, path, body), with_text=False)


def _streamed(client: Client, path: str, body: Json) -> Json:
    """Write the pieces of the answer as they arrive; return the whole."""
    for name, data in client.events(path, body):
        if name == "token":
            sys.stdout.write(data["text"])
            sys.stdout.flush()
        elif name == "answer":
            sys.stdout.write("\n")
            return data
        elif name == "error":
            sys.stdout.write("\n")
            raise CommandError(str(data["error"]["message"]))
    raise CommandError("the service ended the stream before the end of the answer; see its log, and ask again")
