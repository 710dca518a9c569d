"""`graphtide.connect`: the graphs of a running service, or of a cluster through its gateway, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from graphtide.services.api.schema.envelope import graph_name
from graphtide.services.api.schema.requests.browsing import MAX_WAIT_S
from graphtide.services.application import DeletedGraph
from graphtide.services.browsing import GraphSummary
from graphtide.services.sdk.calls.arguments import checked
from graphtide.services.sdk.calls.open_calls import OpenCalls, calls_of_database
from graphtide.services.sdk.interface import Graph
from graphtide.services.sdk.read_your_writes import ReadYourWrites
from graphtide.services.sdk.remote.connection import Certificate, TokenSource, Verify
from graphtide.services.sdk.remote.decoding import decode
from graphtide.services.sdk.remote.graph import MARGIN_S, RemoteGraph, segment
from graphtide.services.sdk.remote.retries import RetryPolicy
from graphtide.services.sdk.remote.transport import HttpCall, Transport
from graphtide.streams.errors import DeadlineExceeded, NotFound

GRAPHS_LIMIT = 1000


@checked
@asynccontextmanager
async def connect(
    url: str,
    *,
    api_key: str = "",
    token: TokenSource | None = None,
    verify: Verify = True,
    cert: Certificate | None = None,
    timeout: float = 60.0,  # noqa: ASYNC109 - the name that HTTP clients give it; each request has this limit
    retries: int = 5,
) -> AsyncIterator[RemoteDatabase]:
    """Connect to the service at `url` until the block ends; connections are made when they are first used.

    The credential is `api_key`, or the JWT that `token` returns: a function or a coroutine function, called again when
    the service refuses the token. `verify` and `cert` are those of TLS: a file of CAs, a client certificate. `timeout`
    is the longest wait for a response in seconds; calls with a `timeout_s` of their own use that.

    A call that the service defers (429, 503), or that finds no service, is repeated at most `retries` times, after
    Retry-After or a growing random wait. Leaving the block ends calls of other tasks with Broken. Raises Invalid for
    wrong arguments.
    """
    policy = RetryPolicy(retries)
    transport = Transport(url, api_key=api_key, token=token, verify=verify, cert=cert, timeout_s=timeout, policy=policy)
    calls = OpenCalls()
    try:
        yield RemoteDatabase(transport, calls)
    finally:
        calls.close()
        await transport.aclose()


@calls_of_database
class RemoteDatabase:
    """See `graphtide.services.sdk.interface.Database`."""

    def __init__(self, transport: Transport, calls: OpenCalls | None = None) -> None:
        self._transport = transport
        self._calls = calls or OpenCalls()

    def graph(self, name: str, *, read_your_writes: bool = False) -> Graph:
        """See Database.graph."""
        graph = RemoteGraph(graph_name(name), self._transport, self._calls)
        return ReadYourWrites(graph) if read_your_writes else graph

    async def delete_graph(self, name: str, timeout_s: float = 60.0) -> None:
        """See Database.delete_graph. At most a minute is waited for."""
        wait_s = min(timeout_s, MAX_WAIT_S)
        path, params = f"/v1/graphs/{segment(graph_name(name))}", {"wait_s": f"{wait_s:.3f}"}
        call = HttpCall("DELETE", path, params=params, timeout_s=wait_s + MARGIN_S, repeatable=False)
        found = decode(DeletedGraph, await self._transport.json(call))
        if not found.deleted:
            raise DeadlineExceeded(f"graph {name!r} was not deleted within {wait_s:g} s; the deletion continues")

    async def graphs(self) -> Mapping[str, int]:
        """See Database.graphs."""
        found: dict[str, int] = {}
        cursor = ""
        while True:
            params = {"limit": str(GRAPHS_LIMIT), **({"cursor": cursor} if cursor else {})}
            page = decode(_Graphs, await self._transport.json(HttpCall("GET", "/v1/graphs", params=params)))
            found |= {each.graph: each.version for each in page.graphs}
            cursor = page.next
            if not cursor:
                return found

    async def rights(self) -> CallerRights:
        """Return what the credential grants; a service of an earlier release grants all, and refuses each call."""
        try:
            return decode(CallerRights, await self._transport.json(HttpCall("GET", "/v1/caller")))
        except NotFound:
            return CallerRights("", ("read", "write", "admin", "metrics"), ("*",))


@dataclass(frozen=True, slots=True)
class CallerRights:
    """The name, the actions and the graphs (names or patterns) of a credential."""

    name: str
    actions: tuple[str, ...]
    graphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Graphs:
    graphs: tuple[GraphSummary, ...]
    next: str = ""
