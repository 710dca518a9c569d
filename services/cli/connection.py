"""The options that every command with `--url` has: the credential and the CA. Said once, for all.

The invariant: the key is taken from an option or the environment to the header, and is printed nowhere.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer


@dataclass(slots=True)
class Connection:
    """How the commands of this process reach the service. Filled when a command begins."""

    api_key: str = field(default="", repr=False)
    ca_file: str = ""
    client_cert: str = ""


CONNECTION = Connection()

_OPTIONS = (
    ("api_key", "GRAPHTIDE_API_KEY", "The key or token to call with; better in the environment than here."),
    ("ca_file", "GRAPHTIDE_CA_FILE", "The CA of the service's certificate, where it is not a public one."),
    ("client_cert", "GRAPHTIDE_CLIENT_CERT", "Certificate and key in one PEM file, where the service wants one."),
)


def add_connection_options(app: typer.Typer) -> None:
    """Give the options above to every command of `app` that has `--url`. Once, before the command line is read."""
    for command in app.registered_commands:
        if command.callback is not None and "url" in inspect.signature(command.callback).parameters:
            command.callback = _connected(command.callback)


def _connected(callback: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def connected(**given: Any) -> Any:
        for name, _, _ in _OPTIONS:
            setattr(CONNECTION, name, given.pop(name))
        return callback(**given)

    said = inspect.signature(callback, eval_str=True)
    added = [_parameter(*option) for option in _OPTIONS]
    connected.__signature__ = said.replace(parameters=[*said.parameters.values(), *added])  # type: ignore[attr-defined]
    return connected


def _parameter(name: str, variable: str, told: str) -> inspect.Parameter:
    option = typer.Option(f"--{name.replace('_', '-')}", envvar=variable, help=told, show_default=False)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default="", annotation=Annotated[str, option])
