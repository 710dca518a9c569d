"""The demonstration of `make run`: start the service, stream the sample, ask, stream corrections, ask again.

Then it publishes the notes of the sample to a graph of their own, and asks about them. It is a client of the service
that it starts: every call uses HTTP. Each start streams the sample again, which is cheap when the graph contains it
already. The service continues to run afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import FileDocument
from graphtide.infra.settings import SettingsError, load_settings
from graphtide.services.cli.client import DEFAULT_URL, Client, document_path, graph_path
from graphtide.services.cli.exit_codes import CommandError
from graphtide.services.cli.sources import source_of
from graphtide.services.cli.terminal import tell
from graphtide.services.demo.sample import (
    SampleDocument,
    SampleNote,
    first_editions,
    later_changes,
    note_questions,
    notes,
    questions,
)

GRAPH = "kittiwake"
NOTES = "kittiwake-notes"


def main() -> int:
    """Run the demonstration until Ctrl-C. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    for option in ("--port", "--grpc-port", "--data"):
        parser.add_argument(option, help="as in graphtide serve; default: the settings")
    parser.add_argument("--leave", action="store_true", help="stop after the last answer instead of staying up")
    chosen = parser.parse_args()
    console = Console()
    try:
        data = load_settings({"data": chosen.data}).data
    except SettingsError as error:
        console.print(Text(str(error), "red"))
        return 2
    process = _start(chosen, data)
    for each in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C: the service must end with its demonstration
        signal.signal(each, signal.default_int_handler)
    try:
        return _show(console, process, data, leave=chosen.leave)
    except KeyboardInterrupt:
        console.print("\nStopping …")
        return 0
    finally:
        _end(process)


def _start(chosen: argparse.Namespace, data: Path) -> subprocess.Popen[str]:
    """Start the service in its own process group, so that Ctrl-C reaches it once, from this process."""
    command = [sys.executable, "-m", "graphtide.services.cli", "serve", "--json"]
    for option, value in (("--port", chosen.port), ("--grpc-port", chosen.grpc_port), ("--data", chosen.data)):
        command += [option, value] if value is not None else []
    # S603: the command is this project's own, and the arguments are not read by a shell
    return subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=_log(data), text=True, process_group=0
    )


def _end(process: subprocess.Popen[str]) -> None:
    """Stop the service in order; a second Ctrl-C kills it."""
    process.terminate()
    try:
        process.wait()
    except KeyboardInterrupt:
        process.kill()
        process.wait()


def _log(data: Path) -> int:
    """Open the service's log in its data folder; the terminal shows the answers only."""
    data.mkdir(parents=True, exist_ok=True)
    return os.open(data / "graphtide.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _show(console: Console, process: subprocess.Popen[str], data: Path, *, leave: bool) -> int:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        last = (data / "graphtide.log").read_text().strip().splitlines()[-1:]
        console.print(Text(f"The service did not start: {''.join(last)}", "red"))
        console.print("Set other ports or another folder, as in GRAPHTIDE_PORT=8090 GRAPHTIDE_GRPC_PORT=50052 make run")
        return 1
    urls = json.loads(line)
    try:
        with Client(urls["http"], tell) as client:
            _demonstrate(console, client)
            console.print(_where(urls, client, data))
    except CommandError as error:
        console.print(Text(str(error), "red"))
        return 1
    if leave:
        return 0
    code = process.wait()
    console.print(Text(f"The service ended with code {code}; see {data / 'graphtide.log'}", "red"))
    return 1


def _demonstrate(console: Console, client: Client) -> None:
    first, later = first_editions(), later_changes()
    asked = [each.question for each in questions()]
    _ask(console, client, GRAPH, asked, _stream(console, client, first, "Streaming the sample in"))
    console.print()
    _ask(console, client, GRAPH, asked, _stream(console, client, later, "Streaming corrections and one withdrawal"))
    console.print()
    token = _stream(console, client, notes(), "Streaming minutes, a table, a runbook and an e-mail")
    _ask(console, client, NOTES, [each.question for each in note_questions()], token)


def _stream(console: Console, client: Client, lines: Sequence[SampleDocument | SampleNote], what: str) -> str:
    """Publish one document at a time; return the token of the last one."""
    token = ""
    columns = (TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(what, total=len(lines))
        for line in lines:
            sent = _send_note(client, line) if isinstance(line, SampleNote) else _send(client, line)
            token = sent or token
            progress.advance(task)
    return token


def _send(client: Client, edition: SampleDocument) -> str:
    if edition.delete:
        return str(client.delete(document_path(GRAPH, edition.id))["token"])
    body = {
        "id": edition.id,
        "title": edition.title,
        "text": edition.text,
        "source": edition.source,
        "occurred_at": edition.occurred_at,
    }
    return str(client.publish(GRAPH, json.dumps(body).encode() + b"\n")["token"])


def _send_note(client: Client, note: SampleNote) -> str:
    """Publish a file as `graphtide sync` does."""
    token = ""
    for document in read_bytes(note.content, note.name):
        if isinstance(document, FileDocument):
            line = source_of(document, note.name, f"notes/{note.name}").line
            token = str(client.publish(NOTES, line)["token"])
    return token


def _ask(console: Console, client: Client, graph: str, asked: Sequence[str], after: str) -> None:
    for question in asked:
        body = client.post(f"{graph_path(graph)}/query", {"question": question, "after": after})
        console.print(Text.assemble(("\n? ", "bold cyan"), (question, "bold")))
        console.print(Padding(Text(body["answer"]), (0, 0, 0, 2)))
        for number, passage in enumerate(body["passages"], start=1):
            if f"[{number}]" in body["answer"]:
                console.print(Text(f"  [{number}] {passage['doc_id']}", "dim"))


def _where(urls: dict[str, str], client: Client, data: Path) -> Text:
    # Another terminal does not know the address.
    address = "" if urls["http"] == DEFAULT_URL else f"  export GRAPHTIDE_URL={urls['http']}\n"
    counts = client.get(f"{graph_path(GRAPH)}/stats")["counts"]
    summary = ", ".join(f"{counts[name]} {name}" for name in ("documents", "entities", "relations", "edges"))
    return Text.assemble(
        ("\nGraphtide is running. ", "bold green"),
        f"Graph {GRAPH}: {summary}.\n\n",
        f"  page     {urls['http']}/#/{GRAPH}/ask\n",
        f"  API      {urls['docs']}\n",
        f"  stats    {urls['http']}{graph_path(GRAPH)}/stats\n",
        f"  metrics  {urls['metrics']}\n",
        f"  gRPC     {urls['grpc']}\n",
        f"  log      {data / 'graphtide.log'}\n\n",
        "Ask something yourself, in another terminal:\n",
        (f'{address}  .venv/bin/graphtide query --graph {GRAPH} "Who owns Meridian?"\n', "bold"),
        "Follow a folder of your own notes, and ask about it:\n",
        ("  .venv/bin/graphtide sync FOLDER --graph notes --watch --prune\n", "bold"),
        ('  .venv/bin/graphtide query --graph notes "…"\n\n', "bold"),
        "Ctrl-C stops the service; the graph stays in the data folder.",
    )


if __name__ == "__main__":
    sys.exit(main())
