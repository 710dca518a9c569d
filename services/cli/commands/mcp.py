"""The command `graphtide mcp`: the tools and resources on standard input and output, as hosts start them.

The invariant: standard output carries messages of the protocol alone; everything else goes to standard error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import anyio

from graphtide.services.access.policy import UNRESTRICTED, Action, Principal
from graphtide.services.api.mcp.session import AgentSession
from graphtide.services.api.schema.errors import Forbidden
from graphtide.services.cli.connection import Connection
from graphtide.services.cli.exit_codes import FAILED, UNREACHABLE, USAGE, CommandError
from graphtide.services.sdk.remote.database import CallerRights, connect
from graphtide.services.sdk.remote.errors import Unreachable
from graphtide.streams.errors import GraphtideError, Invalid


def serve_stdio(url: str, data: Path | None, read_only: bool, connection: Connection) -> None:
    """Serve one host until it closes standard input. Raises CommandError."""
    if find_spec("mcp") is None:
        raise CommandError("graphtide mcp needs the extra mcp; install it: pip install 'graphtide[mcp]'", FAILED)
    try:
        anyio.run(_serve, url, data, read_only, connection)
    except Unreachable as error:
        remedy = "start it with graphtide serve, name another with --url, or open a folder with --data"
        raise CommandError(f"no service answers at {error.url} ({error.cause}); {remedy}", UNREACHABLE) from error
    except GraphtideError as error:
        raise CommandError(str(error), USAGE if isinstance(error, Invalid) else FAILED) from error


async def _serve(url: str, data: Path | None, read_only: bool, connection: Connection) -> None:
    from mcp.server.stdio import stdio_server

    from graphtide.services.api.mcp.server import create_server

    opened = _embedded(data) if data is not None else _remote(url, connection)
    async with opened as session, stdio_server() as (messages, replies):
        server = create_server(_restricted(session) if read_only else session)
        await server.run(messages, replies, server.create_initialization_options())


@asynccontextmanager
async def _embedded(data: Path) -> AsyncIterator[AgentSession]:
    from graphtide.services.sdk.embedded import open_database

    async with open_database(data) as database:
        yield AgentSession(database, lambda: UNRESTRICTED)


@asynccontextmanager
async def _remote(url: str, connection: Connection) -> AsyncIterator[AgentSession]:
    verify, cert = connection.ca_file or True, connection.client_cert or None
    async with connect(url, api_key=connection.api_key.strip(), verify=verify, cert=cert) as database:
        who = _principal(await database.rights())
        yield AgentSession(database, lambda: who)


def _principal(rights: CallerRights) -> Principal:
    known = {action.value for action in Action}
    actions = frozenset(Action(each) for each in rights.actions if each in known)
    return Principal(rights.name or "the caller", rights.graphs, actions)


class ReadOnlySession(AgentSession):
    """A session that refuses every action but reading, and names the option that caused it."""

    __slots__ = ()

    def permit(self, action: Action, graph: str | None) -> None:
        if action is not Action.READ:
            raise Forbidden("graphtide mcp was started with --read-only: start it without the option to change graphs")
        super().permit(action, graph)


def _restricted(session: AgentSession) -> AgentSession:
    """Return the session without the actions that change a graph."""

    def who() -> Principal:
        caller = session.who()
        return replace(caller, actions=caller.actions & {Action.READ})

    return ReadOnlySession(session.database, who)
