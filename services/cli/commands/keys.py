"""The commands `graphtide keys create|list|revoke`: their options."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from graphtide.services.access.keys import GRAPH_PATTERN, KEY_NAME
from graphtide.services.access.policy import Action
from graphtide.services.cli.exit_codes import USAGE, CommandError
from graphtide.services.cli.parameters import AsJson
from graphtide.services.cli.terminal import result, tell

app = typer.Typer(no_args_is_help=True, help="Create, list and revoke API keys in their file, without the service.")

File = Annotated[
    Path | None,
    typer.Option("--file", envvar="GRAPHTIDE_API_KEYS_FILE", help="The key file, which the service reads too."),
]
Name = Annotated[str, typer.Argument(help="The key's name, for the log and for revoking it.")]


@app.command()
def create(  # noqa: PLR0913, PLR0917 -- the options of a command are its parameters
    name: Name,
    file: File = None,
    graph: Annotated[
        list[str] | None, typer.Option(help="A graph name or a pattern with * and ?; may be repeated.")
    ] = None,
    action: Annotated[list[Action] | None, typer.Option(help="An action to grant; may be repeated.")] = None,
    expires_days: Annotated[float | None, typer.Option(min=0, max=36500, help="Days until it expires.")] = None,
    requests_per_second: Annotated[
        float, typer.Option(min=0, help="The rate limit; 0: the limit of the settings.")
    ] = 0.0,
    max_body_bytes: Annotated[int, typer.Option(min=0, help="The largest body; 0: the limit of the settings.")] = 0,
    max_documents: Annotated[
        int, typer.Option(min=0, help="The maximum of documents in all its graphs; 0: no limit.")
    ] = 0,
    max_bytes: Annotated[
        int, typer.Option(min=0, help="The maximum of text bytes in all its graphs; 0: no limit.")
    ] = 0,
    max_graphs: Annotated[int, typer.Option(min=0, help="The maximum of non-empty graphs; 0: no limit.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it once. Without --action it may read; --graph is required."""
    from graphtide.services.cli import key_editor as keys
    from graphtide.services.cli import render as show

    if not KEY_NAME.fullmatch(name):
        raise CommandError(f"{name!r} is not a valid key name; use 1 to 64 of A-Z a-z 0-9 _ . @ -", USAGE)
    wrong = [each for each in graph or () if not GRAPH_PATTERN.fullmatch(each)]
    if wrong or not graph:
        raise CommandError(
            "--graph is missing or invalid; use --graph NAME, or a pattern such as --graph 'team-*'", USAGE
        )
    actions = tuple(each.value for each in action or (Action.READ,))
    wanted = keys.Wanted(name, tuple(graph), actions, expires_days, requests_per_second, max_body_bytes)
    wanted = replace(wanted, max_documents=max_documents, max_bytes=max_bytes, max_graphs=max_graphs)
    made = keys.create(_file(file), wanted)
    result(made, as_json, show.fields)
    tell("The key is shown only once. Set GRAPHTIDE_API_KEY to it, or send it as Authorization: Bearer …")


@app.command("list")
def list_keys(file: File = None, as_json: AsJson = False) -> None:
    """List the keys of the file."""
    from graphtide.services.cli import key_editor as keys
    from graphtide.services.cli import render as show

    result(keys.listed(_file(file)), as_json, show.keys)


@app.command()
def revoke(name: Name, file: File = None, as_json: AsJson = False) -> None:
    """Remove a key from the file: it stops working at once."""
    from graphtide.services.cli import key_editor as keys
    from graphtide.services.cli import render as show

    result(keys.revoke(_file(file), name), as_json, show.fields)


def _file(given: Path | None) -> Path:
    """Return the named file, or the one in the settings."""
    from graphtide.infra.settings import SettingsError, load_settings

    try:
        chosen = str(given or "") or load_settings().api_keys_file
    except SettingsError as error:
        raise CommandError(str(error), USAGE) from error
    if not chosen:
        raise CommandError("no key file is set; use --file keys.toml, or set GRAPHTIDE_API_KEYS_FILE", USAGE)
    return Path(chosen)
