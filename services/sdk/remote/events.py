"""Parser of server-sent events: bytes in any portions in, events out.

Only line feeds and carriage returns end a line, as the standard says: a text may contain any other separator.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from graphtide.streams.errors import Broken

MAX_EVENT_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event: its name, its data, and the last id of the stream."""

    name: str
    data: str
    id: str = ""


async def parse_events(portions: AsyncIterator[bytes]) -> AsyncGenerator[ServerEvent, None]:
    """Yield the events of a stream; an incomplete one at its end is dropped. Raises Broken for an unbounded one."""
    name, data, last_id = "", list[str](), ""
    async for line in _lines(portions):
        if not line:
            if data:
                yield ServerEvent(name or "message", "\n".join(data), last_id)
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
        elif field == "id" and "\0" not in value:
            last_id = value


async def _lines(portions: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = bytearray()
    async for portion in portions:
        rest += portion
        if len(rest) > MAX_EVENT_BYTES:
            raise Broken(f"the stream contains a line of more than {MAX_EVENT_BYTES} bytes; check the URL")
        if b"\n" not in portion:
            continue
        *lines, last = bytes(rest).split(b"\n")
        rest = bytearray(last)
        for line in lines:
            yield line.removesuffix(b"\r").decode(errors="replace")
