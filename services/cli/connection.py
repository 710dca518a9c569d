"""The options shared by all commands with `--url`: the credential, the CA and the client certificate.

The invariant: the key passes from an option or the environment to the header, and is never printed.
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
    """The connection options of the running command. Set when the command begins."""

    api_key: str = field(default="", repr=False)
    ca_file: str = ""
    client_cert: str = ""


CONNECTION = Connection()

_OPTIONS = (
    ("api_key", "GRAPHTIDE_API_KEY", "The API key or token; prefer the environment variable."),
    ("ca_file", "GRAPHTIDE_CA_FILE", "The CA of the service's certificate, unless it is a public one."),
    (
        "client_cert",
        "GRAPHTIDE_CLIENT_CERT",
        "Client certificate and key in one PEM file, if the service requires them.",
    ),
)


def add_connection_options(app: typer.Typer) -> None:
    """Add the options above to every command of `app` with `--url`. Call this once, before parsing the command line."""
    for command in app.registered_commands:
        if command.callback is not None and "url" in inspect.signature(command.callback).parameters:
            command.callback = _connected(command.callback)
    group = app.registered_callback
    if group is not None and group.callback is not None and "url" in inspect.signature(group.callback).parameters:
        group.callback = _connected(group.callback)


def _connected(callback: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def connected(**given: Any) -> Any:
        for name, _, _ in _OPTIONS:
            setattr(CONNECTION, name, given.pop(name))
        return callback(**given)

    signature = inspect.signature(callback, eval_str=True)
    added = [_parameter(*option) for option in _OPTIONS]
    parameters = [*signature.parameters.values(), *added]
    connected.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return connected


def _parameter(name: str, variable: str, text: str) -> inspect.Parameter:
    option = typer.Option(f"--{name.replace('_', '-')}", envvar=variable, help=text, show_default=False)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default="", annotation=Annotated[str, option])
