"""The connection of the command line to a service: the client of `graphtide.connect`, with JSON bodies for programs.

The invariants: every failure becomes a `CommandError` with a remedy, and requests that the service defers are repeated
after the requested delay, at most MAX_TRIES times.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar, cast

import httpx
from anyio.from_thread import start_blocking_portal

from graphtide.services.api.schema.errors import Unauthenticated, status_of
from graphtide.services.cli.connection import Connection
from graphtide.services.cli.exit_codes import FAILED, NOT_FOUND, UNREACHABLE, USAGE, CommandError
from graphtide.services.sdk.remote.bulk import all_rejected
from graphtide.services.sdk.remote.errors import Unreachable, json_body
from graphtide.services.sdk.remote.events import ServerEvent
from graphtide.services.sdk.remote.graph import segment
from graphtide.services.sdk.remote.retries import RetryPolicy
from graphtide.services.sdk.remote.transport import EVENTS, JSON, NDJSON, HttpCall, Transport
from graphtide.streams.errors import GraphtideError, Invalid

DEFAULT_URL = "http://127.0.0.1:8080"
MAX_TRIES = 8
HTML = "text/html"
MAX_WAIT_S = 30.0
RECONNECT_S = 1.0

Json = dict[str, Any]
Result = TypeVar("Result")

_POLICY = RetryPolicy(MAX_TRIES - 1, max_retry_after_s=MAX_WAIT_S, unreachable=False)
_VARIABLES = {
    "api_key": "GRAPHTIDE_API_KEY",
    "verify": "GRAPHTIDE_CA_FILE or GRAPHTIDE_CLIENT_CERT",
    "cert": "GRAPHTIDE_CA_FILE or GRAPHTIDE_CLIENT_CERT",
}
"""The environment variable of each option that the client refuses."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The readiness of a service, and its clock as an HTTP date."""

    body: Json
    date: str


_LISTED = 1_000


class Client:
    """Client of one service. `tell` receives a message when a call has to wait."""

    def __init__(
        self, url: str, tell: Callable[[str], None], timeout_s: float = 60.0, connection: Connection | None = None
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise CommandError(f"{url} is not a URL; use one such as {DEFAULT_URL}", USAGE)
        self.url = url.rstrip("/")
        self.tell = tell
        self._resources = ExitStack()
        self._portal = self._resources.enter_context(start_blocking_portal())
        try:
            self._transport = self._connected(connection or Connection(), timeout_s)
        except BaseException:
            self._resources.close()
            raise

    def _connected(self, connection: Connection, timeout_s: float) -> Transport:
        try:
            return Transport(
                self.url,
                api_key=connection.api_key.strip(),
                verify=connection.ca_file or True,
                cert=connection.client_cert or None,
                timeout_s=timeout_s,
                policy=_POLICY,
                on_wait=lambda wait_s, _: self.tell(f"the service is busy; waiting {wait_s:g} s before the next try"),
            )
        except Invalid as error:
            raise CommandError(f"{_VARIABLES.get(error.field, '--url')} {error.message}", USAGE) from error

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._resources.callback(self._portal.call, self._transport.aclose)
        self._resources.__exit__(kind, error, at)

    def get(self, path: str) -> Json:
        return self._json(HttpCall("GET", path))

    def post(self, path: str, body: Json | None = None) -> Json:
        content = b"" if body is None else json.dumps(body).encode()
        return self._json(HttpCall("POST", path, content, JSON))

    def send(self, method: str, path: str, content: bytes, kind: str) -> Json:
        """Send a body of that media type unchanged; return the response."""
        return self._json(HttpCall(method, path, content, kind))

    def delete(self, path: str) -> Json:
        return self._json(HttpCall("DELETE", path))

    def remove(self, path: str) -> None:
        """Send a DELETE whose response has no body."""
        with self._failing():
            self._portal.call(self._transport.send, HttpCall("DELETE", path))

    def follow(self, path: str, after: str) -> Iterator[Json]:
        """Yield the data of a long-lived stream of events; continue after the last event when the connection ends."""
        begun = False
        while True:
            stream = self._transport.events(
                HttpCall("GET", path, params={"after": after} if after else None, accept=EVENTS)
            )
            try:
                while (event := self._called(_next_of, stream)) is not None:
                    data = json.loads(event.data)
                    if event.name == "error":
                        raise CommandError(str(data["error"]["message"]))
                    begun, after = True, event.id
                    yield data
                begun = True
            except CommandError as error:
                if begun and error.code == NOT_FOUND:
                    return
                if not begun or error.code != UNREACHABLE:
                    raise
                self.tell("the connection ended; trying again")
            finally:
                self._portal.call(stream.aclose)
            time.sleep(RECONNECT_S)

    def publish(self, graph: str, lines: bytes) -> Json:
        """Return the receipt of an NDJSON batch; without any valid document the receipt has no token."""
        call = HttpCall("POST", f"{graph_path(graph)}/documents", lines, NDJSON)
        with self._failing():
            response = self._portal.call(self._transport.send, call, all_rejected)
            body = _parsed(response)
        return body if response.is_success else {"token": "", "accepted": 0, "rejected": body["rejected"]}

    def readiness(self) -> Json:
        """Return the body of /readyz, ready or not."""
        return self.probe().body

    def probe(self) -> Probe:
        """Return the body of /readyz with the service's clock."""
        with self._failing():
            response = self._portal.call(self._transport.once, HttpCall("GET", "/readyz"))
            return Probe(_parsed(response), response.headers.get("date", ""))

    def has_page(self) -> bool:
        """Return True when the service shows a page to browsers."""
        with self._failing():
            response = self._portal.call(self._transport.once, HttpCall("GET", "/", accept=HTML))
            return bool(response.is_success)

    def events(self, path: str, body: Json) -> Iterator[tuple[str, Json]]:
        """Yield the server-sent events of a streamed answer as (name, data)."""
        call = HttpCall("POST", path, json.dumps(body).encode(), JSON, accept=EVENTS)
        stream = self._transport.events(call)
        try:
            while (event := self._called(_next_of, stream)) is not None:
                yield event.name, json.loads(event.data)
        finally:
            self._portal.call(stream.aclose)

    def feed(self, path: str, params: dict[str, str]) -> Iterator[tuple[str, str, Json]]:
        """Yield the server-sent events of a feed as (name, id, data)."""
        stream = self._transport.events(HttpCall("GET", path, params=params, accept=EVENTS))
        try:
            while (event := self._called(_next_of, stream)) is not None:
                yield event.name, event.id, json.loads(event.data)
        finally:
            self._portal.call(stream.aclose)

    def _json(self, call: HttpCall) -> Json:
        with self._failing():
            return _parsed(self._portal.call(self._transport.send, call))

    def _called(
        self, function: Callable[[AsyncGenerator[ServerEvent, None]], Awaitable[Result]], stream: Any
    ) -> Result:
        with self._failing():
            return self._portal.call(function, stream)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Turn errors of the block into a `CommandError` with its exit code."""
        try:
            yield
        except Unreachable as error:
            remedy = "start it with graphtide serve, or name another with --url"
            raise CommandError(f"no service answers at {self.url} ({error.cause}); {remedy}", UNREACHABLE) from error
        except Unauthenticated as error:
            raise CommandError(f"{error}; set GRAPHTIDE_API_KEY to a key of the service") from error
        except GraphtideError as error:
            raise CommandError(str(error), _exit_code(error)) from error


async def _next_of(stream: AsyncGenerator[ServerEvent, None]) -> ServerEvent | None:
    return await anext(stream, None)


def _exit_code(error: GraphtideError) -> int:
    status = status_of(error).http
    return NOT_FOUND if status == 404 else USAGE if status in (400, 422) else FAILED


def _parsed(response: httpx.Response) -> Json:
    return cast(Json, json_body(response))


def graph_path(graph: str) -> str:
    return f"/v1/graphs/{segment(graph)}"


def document_path(graph: str, doc_id: str) -> str:
    return f"{graph_path(graph)}/documents/{segment(doc_id)}"


def listed_documents(client: Client, graph: str) -> Iterator[Json]:
    """Yield the documents of the graph that are not deleted. Raises CommandError."""
    path, cursor = f"{graph_path(graph)}/documents?limit={_LISTED}", ""
    while True:
        page = client.get(f"{path}&cursor={cursor}" if cursor else path)
        yield from page["documents"]
        cursor = page.get("next") or ""
        if not cursor:
            return
