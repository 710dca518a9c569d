"""Reading of request bodies within limits of size, time and type. `services/api/schema` interprets them.

The invariants: memory never holds more of a body than the limit, with Content-Length or without, nor more of all bodies
together than theirs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

from graphtide.services.api.http.access import caller_of, receive_bytes, seat_of
from graphtide.services.api.schema.errors import MalformedRequest, SlowBody, TooLarge, UnsupportedContent
from graphtide.services.api.schema.limits import RequestLimits

T = TypeVar("T")
Check = Callable[[bytearray], None]
PARSE_ASIDE_BYTES = 64 << 10
"""Size from which bodies are parsed in a thread, so that other requests are served meanwhile."""
PARSE_ASIDE_VALUES = 500
"""Number of commas from which they are: a value costs up to 10 µs."""

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
    if len(raw) <= PARSE_ASIDE_BYTES and raw.count(b",") <= PARSE_ASIDE_VALUES:
        return read(raw)
    return await asyncio.get_running_loop().run_in_executor(_PARSERS, read, raw)


async def read_body(request: Request, max_bytes: int, limits: RequestLimits, check: Check = lambda _: None) -> bytes:
    """Return the whole body. Raises TooLarge as soon as the size is known, SlowBody, MalformedRequest, Overloaded,
    ClientDisconnect.

    The caller's own limit applies when it is lower than `max_bytes`. `check` receives the bytes so far after each
    arrival.
    """
    max_bytes = min(max_bytes, caller_of(request).who.allowance.max_body_bytes or max_bytes)
    length = request.headers.get("content-length", "0")
    if not length.isdecimal():
        raise MalformedRequest(f"the Content-Length {length[:40]!r} is not a number; send the size in bytes")
    if int(length) > max_bytes:
        raise _too_large(max_bytes)
    pace = BodyPace(limits, asyncio.get_running_loop().time())
    try:
        with seat_of(request):
            async with asyncio.timeout_at(pace.deadline(0)) as deadline:
                return await _collect(request, max_bytes, check, lambda size: deadline.reschedule(pace.deadline(size)))
    except TimeoutError as error:
        raise SlowBody(pace.refusal) from error


@dataclass(slots=True)
class BodyPace:
    """The time limits of one body, which began to arrive at `began` in the event loop's time."""

    limits: RequestLimits
    began: float
    refusal: str = ""
    """The limit that the next deadline belongs to, as an error message."""

    def deadline(self, size: int) -> float:
        """Return the time at which the next bytes must have arrived after `size` bytes."""
        limits = self.limits
        rate, max_s = limits.min_body_bytes_per_s, limits.body_timeout_s
        paced_s = limits.body_grace_s + (size + 1) / rate if rate else max_s
        if paced_s < max_s:
            self.refusal = f"the body arrived at less than {rate} bytes per second; send it again"
        else:
            self.refusal = f"the body was incomplete after {max_s:g} s; send it again"
        return self.began + min(paced_s, max_s)


async def _collect(request: Request, max_bytes: int, check: Check, progress: Callable[[int], None]) -> bytes:
    body = bytearray()
    while (message := await request.receive())["type"] == "http.request":
        piece = message.get("body", b"")
        if len(body) + len(piece) > max_bytes:
            raise _too_large(max_bytes)
        receive_bytes(request, len(piece))
        body += piece
        progress(len(body))
        check(body)
        if not message.get("more_body", False):
            return bytes(body)
    raise ClientDisconnect


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"the body has more than {max_bytes} bytes; split it, or raise the limit")
