"""The HTTP client of the command line; not a client library.

The invariants: every failure becomes a `CommandError` with a remedy, and requests that the service defers are repeated
after the requested delay, at most MAX_TRIES times.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, cast
from urllib.parse import quote

import httpx

from graphtide.services.cli.connection import Connection
from graphtide.services.cli.exit_codes import FAILED, NOT_FOUND, UNREACHABLE, USAGE, CommandError

DEFAULT_URL = "http://127.0.0.1:8080"
MAX_TRIES = 8
MAX_WAIT_S = 30.0

Json = dict[str, Any]

_LATER = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Probe:
    """The readiness of a service, and its clock as an HTTP date."""

    body: Json
    date: str


class Client:
    """Client of one service. `tell` receives a message when a call has to wait."""

    def __init__(
        self, url: str, tell: Callable[[str], None], timeout_s: float = 60.0, connection: Connection | None = None
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise CommandError(f"{url} is not a URL; use one such as {DEFAULT_URL}", USAGE)
        self.url = url.rstrip("/")
        self.tell = tell
        connection = connection or Connection()
        self._http = httpx.Client(
            base_url=self.url,
            timeout=httpx.Timeout(timeout_s, connect=5.0),
            headers=_credential(connection.api_key),
            verify=_trusted(connection),
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def get(self, path: str) -> Json:
        return self._json("GET", path)

    def post(self, path: str, body: Json | None = None) -> Json:
        content = b"" if body is None else json.dumps(body).encode()
        return self._json("POST", path, content, "application/json")

    def send(self, method: str, path: str, content: bytes, kind: str) -> Json:
        """Send a body of that media type unchanged; return the response."""
        return self._json(method, path, content, kind)

    def delete(self, path: str) -> Json:
        return self._json("DELETE", path)

    def publish(self, graph: str, lines: bytes) -> Json:
        """Return the receipt of an NDJSON batch; without any valid document the receipt has no token."""
        path = f"{graph_path(graph)}/documents"
        response = self._patiently("POST", path, lines, "application/x-ndjson")
        body = _parsed(response)
        if response.status_code == 422 and isinstance(body.get("rejected"), list):
            return {"token": "", "accepted": 0, "rejected": body["rejected"]}
        return self._checked(response)

    def readiness(self) -> Json:
        """Return the body of /readyz, ready or not."""
        return self.probe().body

    def probe(self) -> Probe:
        """Return the body of /readyz with the service's clock."""
        response = self._once("GET", "/readyz")
        return Probe(_parsed(response), response.headers.get("date", ""))

    def events(self, path: str, body: Json) -> Iterator[tuple[str, Json]]:
        """Yield the server-sent events of a streamed answer as (name, data)."""
        headers = {"accept": "text/event-stream"}
        try:
            with self._http.stream("POST", path, json=body, headers=headers) as response:
                if response.status_code != 200:
                    response.read()
                    self._checked(response)
                yield from _events(response.iter_lines())
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error

    def _json(self, method: str, path: str, content: bytes = b"", kind: str = "") -> Json:
        return self._checked(self._patiently(method, path, content, kind))

    def _patiently(self, method: str, path: str, content: bytes, kind: str) -> httpx.Response:
        """Return the response; repeat the request while the service defers it with Retry-After, at most MAX_TRIES
        times.
        """
        for _ in range(MAX_TRIES - 1):
            response = self._once(method, path, content, kind)
            if response.status_code not in _LATER or "retry-after" not in response.headers:
                return response
            wait_s = min(_seconds(response.headers["retry-after"]), MAX_WAIT_S)
            self.tell(f"the service is busy; waiting {wait_s:g} s before the next try")
            time.sleep(wait_s)
        return self._once(method, path, content, kind)

    def _once(self, method: str, path: str, content: bytes = b"", kind: str = "") -> httpx.Response:
        try:
            return self._http.request(method, path, content=content, headers={"content-type": kind} if kind else {})
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreachable(error) from error

    def _checked(self, response: httpx.Response) -> Json:
        if response.is_success:
            return _parsed(response)
        raise _refused(response)

    def _unreachable(self, error: Exception) -> CommandError:
        if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
            return CommandError(f"{self.url} did not answer in time; see graphtide status", FAILED)
        cause = str(error) or type(error).__name__
        remedy = "start it with graphtide serve, or name another with --url"
        return CommandError(f"no service answers at {self.url} ({cause}); {remedy}", UNREACHABLE)


def _credential(api_key: str) -> dict[str, str]:
    if not (api_key.isascii() and api_key.isprintable()):
        raise CommandError("GRAPHTIDE_API_KEY contains characters that no key has; copy the key again", USAGE)
    return {"authorization": f"Bearer {api_key.strip()}"} if api_key else {}


def _trusted(connection: Connection) -> ssl.SSLContext | bool:
    """Return the TLS trust and client certificate: the system's CAs, or the named CA file."""
    if not (connection.ca_file or connection.client_cert):
        return True
    try:
        context = ssl.create_default_context(cafile=connection.ca_file or None)
        if connection.client_cert:
            context.load_cert_chain(connection.client_cert)
    except OSError as error:  # ssl.SSLError is one
        reason = error.strerror or str(error)
        raise CommandError(f"GRAPHTIDE_CA_FILE or GRAPHTIDE_CLIENT_CERT cannot be used: {reason}", USAGE) from error
    return context


def graph_path(graph: str) -> str:
    return f"/v1/graphs/{quote(graph, safe='')}"


def document_path(graph: str, doc_id: str) -> str:
    return f"{graph_path(graph)}/documents/{quote(doc_id, safe='')}"


def _refused(response: httpx.Response) -> CommandError:
    error = _parsed(response).get("error")
    detail: Mapping[str, Any] = error if isinstance(error, dict) else {}
    message = str(detail.get("message") or f"the service responded with status {response.status_code}")
    if response.status_code == 401:
        message += "; set GRAPHTIDE_API_KEY to a key of the service"
    if detail.get("field"):
        message = f"{detail['field']}: {message}"
    code = NOT_FOUND if response.status_code == 404 else USAGE if response.status_code in (400, 422) else FAILED
    return CommandError(message, code)


def _parsed(response: httpx.Response) -> Json:
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        cause = f"{response.request.url} responded with status {response.status_code} without JSON"
        raise CommandError(f"{cause}; check that a Graphtide service listens at this URL")
    return cast(Json, body)


def _seconds(header: str) -> float:
    try:
        return max(0.0, float(header))
    except ValueError:
        return 1.0


def _events(lines: Iterator[str]) -> Iterator[tuple[str, Json]]:
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))
