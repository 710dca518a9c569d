"""Errors of a call over HTTP: the service's own ones by their code, and those of the connection.

The invariants: every failure becomes an error of the tree (`streams/errors.py`), and no message contains a credential.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from graphtide.services.api.schema.errors import error_of
from graphtide.services.sdk.remote.retries import retry_after_s
from graphtide.streams.errors import Broken, DeadlineExceeded, GraphtideError, Retryable

_PROXY_STATUSES = frozenset({502, 503, 504})
"""Statuses of a proxy before the service, whose bodies are not the service's."""


class Unreachable(Retryable):
    """No service answers at the URL, or the connection ended before the response."""

    def __init__(self, url: str, cause: str) -> None:
        super().__init__(f"no service answers at {url} ({cause}); start it, or correct the URL")
        self.url = url
        self.cause = cause


def response_error(response: httpx.Response) -> GraphtideError:
    """Return the error of a response with an unsuccessful status. Its body has been read."""
    wait_s = retry_after_s(response.headers.get("retry-after"))
    url, status = url_of(response), response.status_code
    if 300 <= status < 400:
        target = response.headers.get("location", "")[:200]
        return Broken(f"{url} redirects to {target!r}, and redirects are not followed; connect to that URL")
    if has_detail(response):
        return error_of(response.content, wait_s)
    cause = f"{url} responded with status {status} without JSON"
    if status in _PROXY_STATUSES:
        return Retryable(f"{cause}; a proxy reports that the service is unreachable", wait_s)
    return Broken(f"{cause}; check that a Graphtide service listens at this URL")


def has_detail(response: httpx.Response) -> bool:
    """Return True if the body is an error of a Graphtide service."""
    try:
        body = response.json()
    except ValueError:
        return False
    return isinstance(body, dict) and isinstance(body.get("error"), dict)


def json_body(response: httpx.Response) -> Mapping[str, Any]:
    """Return the JSON object of a response. Raises Broken for any other body."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        cause = f"{url_of(response)} responded with status {response.status_code} without JSON"
        raise Broken(f"{cause}; check that a Graphtide service listens at this URL")
    return body


def connection_error(error: httpx.HTTPError | httpx.InvalidURL, url: str) -> GraphtideError:
    """Return the error of the tree for a failed connection to the service at `url`."""
    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        return DeadlineExceeded(f"{url} did not answer in time; see graphtide status")
    return Unreachable(url, str(error) or type(error).__name__)


def was_sent(error: httpx.HTTPError | httpx.InvalidURL) -> bool:
    """Return True if the service may have received the request."""
    return not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.InvalidURL)


def url_of(response: httpx.Response) -> str:
    """Return the URL of the request, without its query."""
    return str(response.request.url.copy_with(query=None))
