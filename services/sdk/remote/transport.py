"""Transport of the client: requests and streams of events over HTTP, with credentials and retries.

The invariants: redirects are never followed, so a credential reaches the host of the URL alone; a stream that has begun
is not repeated; a cancelled call closes its connection.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import httpx

from graphtide.services.sdk.remote.connection import (
    Certificate,
    TokenSource,
    Verify,
    base_url,
    credential,
    tls_trust,
)
from graphtide.services.sdk.remote.errors import connection_error, json_body, response_error, was_sent
from graphtide.services.sdk.remote.events import ServerEvent, parse_events
from graphtide.services.sdk.remote.retries import RetryPolicy
from graphtide.streams.errors import Broken, GraphtideError, Overloaded, Retryable

CONNECT_TIMEOUT_S = 5.0
EVENTS = "text/event-stream"
JSON = "application/json"
NDJSON = "application/x-ndjson"

Waiting = Callable[[float, GraphtideError], object]
"""Called before the wait for a retry, with the seconds and the reason."""


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A request. `repeatable` False: it is not repeated when its outcome is unknown. `timeout_s` None: the default.

    `budget_s` bounds the call with its retries: a wait beyond it is not begun, and the error is raised instead.
    """

    method: str
    path: str
    content: bytes = b""
    kind: str = ""
    params: Mapping[str, str] | None = None
    accept: str = ""
    timeout_s: float | None = None
    repeatable: bool = True
    headers: Mapping[str, str] | None = None
    budget_s: float = math.inf


class Transport:
    """The connections to one service. Belongs to one event loop; close it with `aclose`."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str = "",
        token: TokenSource | None = None,
        verify: Verify = True,
        cert: Certificate | None = None,
        timeout_s: float = 60.0,
        policy: RetryPolicy | None = None,
        on_wait: Waiting | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.url = base_url(url)
        self._timeout_s = timeout_s
        self._policy = policy or RetryPolicy()
        self._on_wait = on_wait
        self._sleep = sleep
        self._http = httpx.AsyncClient(
            base_url=self.url,
            auth=credential(api_key, token),
            verify=tls_trust(verify, cert),
            timeout=_timeout(timeout_s),
            follow_redirects=False,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def json(self, call: HttpCall) -> Mapping[str, Any]:
        """Return the JSON object of the response. Raises the error of an unsuccessful one."""
        return json_body(await self.send(call))

    async def send(self, call: HttpCall, accepted: Callable[[httpx.Response], bool] | None = None) -> httpx.Response:
        """Return the response, of a successful status or one that `accepted` takes. Retries by the policy."""
        attempt, began = 0, asyncio.get_running_loop().time()
        while True:
            try:
                response = await self._sent(call)
                if response.is_success or (accepted is not None and accepted(response)):
                    return response
                raise response_error(response)
            except GraphtideError as error:
                await self._wait_or_raise(error, attempt, call, began)
            attempt += 1

    async def once(self, call: HttpCall) -> httpx.Response:
        """Return the response of any status, without a retry. Raises Unreachable and DeadlineExceeded."""
        try:
            return await self._sent(call)
        except _UnansweredError as error:
            raise error.error from error.__cause__

    async def _sent(self, call: HttpCall) -> httpx.Response:
        try:
            return await self._http.send(self._request(call))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _UnansweredError.of(error, self.url) from error

    async def events(self, call: HttpCall) -> AsyncGenerator[ServerEvent, None]:
        """Yield the server-sent events of the response. Retries until the response begins.

        Raises Unreachable when the connection ends before the response does.
        """
        response = await self._opened(call)
        try:
            if EVENTS not in response.headers.get("content-type", ""):
                raise Broken(f"{self.url} responded without a stream of events; check that the URL is the service's")
            async with aclosing(parse_events(response.aiter_bytes())) as events:
                async for event in events:
                    yield event
        except httpx.HTTPError as error:
            raise connection_error(error, self.url) from error
        finally:
            await response.aclose()

    async def pause(self, seconds: float) -> None:
        """Wait before a call is made again."""
        await self._sleep(seconds)

    async def _opened(self, call: HttpCall) -> httpx.Response:
        attempt, began = 0, asyncio.get_running_loop().time()
        while True:
            try:
                return await self._opened_once(call)
            except GraphtideError as error:
                await self._wait_or_raise(error, attempt, call, began)
            attempt += 1

    async def _opened_once(self, call: HttpCall) -> httpx.Response:
        try:
            response = await self._http.send(self._request(call), stream=True)
            if response.status_code == 200:
                return response
            try:
                await response.aread()
            finally:
                await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _UnansweredError.of(error, self.url) from error
        raise response_error(response)

    async def _wait_or_raise(self, error: GraphtideError, attempt: int, call: HttpCall, began: float) -> None:
        """Wait as long as the policy says; raise the error when it allows no retry."""
        failure = error.error if isinstance(error, _UnansweredError) else error
        asked_s = failure.retry_after_s if isinstance(failure, Retryable | Overloaded) else None
        wait_s = self._policy.wait_s(attempt, asked_s) if self._may_repeat(error, call) else None
        if wait_s is None or asyncio.get_running_loop().time() + wait_s > began + call.budget_s:
            raise failure from (error.__cause__ if failure is not error else None)
        if self._on_wait is not None:
            self._on_wait(wait_s if asked_s is None else asked_s, failure)
        await self._sleep(wait_s)

    def _may_repeat(self, error: GraphtideError, call: HttpCall) -> bool:
        if isinstance(error, _UnansweredError):
            repeatable = call.repeatable or not error.sent
            return isinstance(error.error, Retryable) and repeatable and self._policy.unreachable
        return isinstance(error, Overloaded) or (isinstance(error, Retryable) and call.repeatable)

    def _request(self, call: HttpCall) -> httpx.Request:
        headers = {"content-type": call.kind} if call.kind else {}
        if call.accept:
            headers["accept"] = call.accept
        timeout = _timeout(self._timeout_s if call.timeout_s is None else call.timeout_s)
        return self._http.build_request(
            call.method,
            call.path,
            content=call.content or None,
            params=call.params or None,
            headers={**headers, **(call.headers or {})},
            timeout=timeout,
        )


class _UnansweredError(Retryable):
    """A request without a response. `sent`: the service may have received it. Never leaves this module."""

    def __init__(self, error: GraphtideError, sent: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.sent = sent

    @classmethod
    def of(cls, error: httpx.HTTPError | httpx.InvalidURL, url: str) -> _UnansweredError:
        return cls(connection_error(error, url), was_sent(error))


def body_of(value: object) -> bytes:
    """Return the value as JSON. Raises TypeError and ValueError for one that JSON cannot express."""
    return json.dumps(value, allow_nan=False).encode()


def _timeout(timeout_s: float) -> httpx.Timeout:
    return httpx.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s))
