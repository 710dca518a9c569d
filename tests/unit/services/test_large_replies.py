"""A large reply leaves in slices, and arrives as it was."""

from __future__ import annotations

import random

import pytest
from starlette.types import Message

from graphtide.services.api.http.documentation.openapi import SENT_BYTES, encoded_reply


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


@pytest.mark.parametrize("size", [0, 1, SENT_BYTES, SENT_BYTES + 1, 3 * SENT_BYTES])
async def test_no_step_sends_more_than_a_slice_of_a_reply(size: int) -> None:
    """The server copies what it is given in one step of the event loop."""
    body, sent = random.Random(size).randbytes(size), list[Message]()

    async def send(message: Message) -> None:
        sent.append(message)

    await encoded_reply(body, 203)({"type": "http"}, _nothing, send)
    start, *parts = sent
    assert (start["status"], dict(start["headers"])[b"content-length"]) == (203, str(size).encode())
    assert b"".join(part["body"] for part in parts) == body
    assert max(len(part["body"]) for part in parts) <= SENT_BYTES
    assert [part.get("more_body", False) for part in parts] == [True] * (len(parts) - 1) + [False]
