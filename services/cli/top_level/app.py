"""The command line's application: its global options, and all commands in the order of the help.

`publish.py`, `sources.py`, `render.py` and `services/process` implement the commands, and are imported when needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

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
from graphtide.services.cli.connection import add_connection_options
from graphtide.services.cli.evaluation.command import evaluate
from graphtide.services.cli.exit_codes import EXPLAINED, FAILED, CommandError
from graphtide.services.cli.graphs import commands as graph_commands
from graphtide.services.cli.terminal import tell
from graphtide.services.cli.top_level import operating, publishing, reading
from graphtide.services.cli.top_level.usage_hints import HintingCommand

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

_COMMANDS: tuple[tuple[str, Callable[..., None]], ...] = (
    ("serve", operating.serve),
    ("ui", reading.ui),
    ("publish", publishing.publish),
    ("sync", publishing.sync_folder),
    ("import", publishing.import_index),
    ("estimate", publishing.estimate),
    ("query", reading.query),
    ("changes", reading.follow_changes),
    ("mcp", reading.serve_agents),
    ("status", operating.status),
    ("doctor", operating.doctor),
    ("stats", operating.stats),
    ("document", publishing.document),
    ("related", publishing.related),
    ("group", reading.group),
    ("delete", publishing.delete),
    ("digest", operating.digest),
    ("verify", operating.verify),
    ("rebuild", operating.rebuild),
    ("export", reading.export),
    ("worker", operating.worker),
)
for name, command in _COMMANDS:
    app.command(name, cls=HintingCommand)(command)


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
