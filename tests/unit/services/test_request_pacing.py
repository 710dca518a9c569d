"""Requests that arrive together begin a few in each pass of the event loop, and probes at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState

from graphtide.services.api.http.transport.header_limits import HeaderLimitedProtocol
from graphtide.services.api.http.transport.pacing import REQUESTS_A_PASS, RequestPacing
from tests.support.transports import Sink


class _Passes:
    """An application that notes the pass of the event loop in which each request begins."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, int]] = []
        self._pass = 0

    def count(self) -> None:
        """Count this pass and all later ones, as long as the loop runs."""
        self._pass += 1
        asyncio.get_running_loop().call_soon(self.count)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.append((scope["path"], self._pass))


async def _silent(*_: Any) -> Any:
    return {}


async def _arrive(paths: list[str]) -> list[tuple[str, int]]:
    application = _Passes()
    pacing = RequestPacing(application)
    application.count()
    requests = [pacing({"type": "http", "path": path}, _silent, _silent) for path in paths]
    await asyncio.gather(*requests)
    return application.begun


async def test_few_requests_begin_in_each_pass_in_the_order_of_arrival() -> None:
    paths = [f"/v1/{number}" for number in range(50)]
    begun = await _arrive(paths)
    assert [path for path, _ in begun] == paths
    passes = [number for _, number in begun]
    assert max(passes.count(number) for number in passes) == REQUESTS_A_PASS
    assert passes[-1] - passes[0] <= 50 // REQUESTS_A_PASS + 1


async def test_probe_does_not_queue_behind_requests() -> None:
    begun = await _arrive([*(f"/v1/{number}" for number in range(50)), "/healthz"])
    assert [path for path, _ in begun].index("/healthz") <= REQUESTS_A_PASS


async def test_cancelled_request_leaves_its_turn_to_the_next() -> None:
    """Those that wait begin although the client of one that waits hangs up."""
    application = _Passes()
    pacing = RequestPacing(application)
    waiting = [
        asyncio.ensure_future(pacing({"type": "http", "path": f"/v1/{number}"}, _silent, _silent))
        for number in range(12)
    ]
    asyncio.get_running_loop().call_soon(waiting[5].cancel)
    await asyncio.wait(waiting)
    assert [path for path, _ in application.begun] == [f"/v1/{number}" for number in range(12) if number != 5]


@pytest.mark.parametrize("trailers", [2, 5_000])
async def test_request_does_not_begin_when_it_is_refused_in_the_arrival_of_its_head(trailers: int) -> None:
    """A client that repeats such requests costs the parser's work only, so probes wait for little before them."""
    application = _Passes()
    config, state = Config(RequestPacing(application), interface="asgi3", log_config=None), ServerState()
    config.load()
    heads = {"refused": b"0\r\n" + b"x: y\r\n" * trailers, "served": b"0\r\n\r\n"}
    for path, rest in heads.items():
        protocol = HeaderLimitedProtocol(config, state, {})
        protocol.connection_made(sink := Sink())
        head = f"PUT /v1/{path} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
        protocol.data_received(head.encode() + rest)
        await asyncio.gather(*state.tasks)
        assert (b"trailers" in sink.written) == (path == "refused")
        protocol.connection_lost(None)
    assert [path for path, _ in application.begun] == ["/v1/served"]
