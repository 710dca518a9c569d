"""Reading of request bodies within limits of size, time and type. `services/api/schema` interprets them.

The invariant: memory never holds more of a body than the limit, with Content-Length or without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

from graphtide.services.api.http.access import caller_of, seat_of
from graphtide.services.api.schema.errors import MalformedRequest, SlowBody, TooLarge, UnsupportedContent

T = TypeVar("T")
Check = Callable[[bytearray], None]
PARSE_ASIDE_BYTES = 64 << 10
"""Size from which bodies are parsed in a thread, so that other requests are served meanwhile."""

_PARSERS = ThreadPoolExecutor(2, "graphtide-parse")
"""A separate pool: large bodies wait for each other, and nothing else waits for them."""

JSON = "application/json"
NDJSON = "application/x-ndjson"


def content_type(request: Request, *allowed: str) -> str:
    """Return the body's media type, one of `allowed`. Raises UnsupportedContent, for encodings other than UTF-8 too."""
    kind, _, parameters = request.headers.get("content-type", "").lower().partition(";")
    if kind.strip() not in allowed:
        given = f"is {kind.strip()[:80]}" if kind.strip() else "is missing"
        raise UnsupportedContent(f"the Content-Type {given}; send {' or '.join(allowed)}")
    name, _, charset = parameters.partition("=")
    if name.strip() == "charset" and charset.strip(' "') not in ("utf-8", "utf8"):
        raise UnsupportedContent(f"the charset is {charset.strip()[:40]}; send UTF-8")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise UnsupportedContent(f"the Content-Encoding is {encoding[:40]}; send the body uncompressed")
    return kind.strip()


async def parse(read: Callable[[bytes], T], raw: bytes) -> T:
    """Return `read` of the body; a large body is parsed in a thread."""
    if len(raw) <= PARSE_ASIDE_BYTES:
        return read(raw)
    return await asyncio.get_running_loop().run_in_executor(_PARSERS, read, raw)


async def read_body(request: Request, max_bytes: int, timeout_s: float, check: Check = lambda _: None) -> bytes:
    """Return the whole body. Raises TooLarge as soon as the size is known, SlowBody, MalformedRequest,
    ClientDisconnect.

    The caller's own limit applies when it is lower. `check` receives the bytes so far after each arrival.
    """
    max_bytes = min(max_bytes, caller_of(request).who.allowance.max_body_bytes or max_bytes)
    length = request.headers.get("content-length", "0")
    if not length.isdecimal():
        raise MalformedRequest(f"the Content-Length {length[:40]!r} is not a number; send the size in bytes")
    if int(length) > max_bytes:
        raise _too_large(max_bytes)
    try:
        with seat_of(request):
            async with asyncio.timeout(timeout_s):
                body = await _collect(request, max_bytes, check)
        return body
    except TimeoutError as error:
        raise SlowBody(f"the body was incomplete after {timeout_s:g} s; send it again") from error


async def _collect(request: Request, max_bytes: int, check: Check) -> bytes:
    body = bytearray()
    while (message := await request.receive())["type"] == "http.request":
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
        check(body)
        if not message.get("more_body", False):
            return bytes(body)
    raise ClientDisconnect


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"the body has more than {max_bytes} bytes; split it, or raise the limit")
