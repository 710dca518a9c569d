"""Slots for questions, shared among callers."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphtide.infra.settings import Settings
from graphtide.services.access.credentials import CALLER, Caller
from graphtide.services.access.policy import Action, Principal
from graphtide.services.application import QueryRequest
from graphtide.services.runtime import RuntimeLimits
from graphtide.services.wiring import open_application
from graphtide.streams.errors import Overloaded
from graphtide.streams.messages import DocumentMessage

PLACES = RuntimeLimits().running_queries


async def test_streams_of_one_caller_leave_places_to_the_others(tmp_path: Path) -> None:
    """One caller gets at most half of the slots, and a closed stream releases its slot."""
    greedy, other = (Caller(Principal(name, ("*",), frozenset(Action))) for name in ("greedy", "other"))
    async with open_application(Settings(data=tmp_path)) as application:
        token = (await application.publish([DocumentMessage("g", "a", "Ida Moreau founded Halden Station.")])).token
        ask = QueryRequest("Who?", generate=False)
        await application.query("g", QueryRequest("Who?", generate=False, after=token))
        CALLER.set(greedy)
        streams = [application.stream("g", ask) for _ in range(PLACES // 2)]
        for stream in streams:
            await anext(stream)
        with pytest.raises(Overloaded, match="of greedy are in progress"):
            await application.query("g", ask)
        CALLER.set(other)
        assert (await application.query("g", ask)).passages
        CALLER.set(greedy)
        for stream in streams:
            async for _ in stream:
                pass
        assert (await application.query("g", ask)).passages
