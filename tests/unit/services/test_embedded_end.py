"""The end of an embedded database: everything that it started has ended, too."""

from __future__ import annotations

import asyncio
from pathlib import Path

import graphtide

TURNS = 1_000
"""Passes of the event loop in which the stages of an empty database come to wait for documents."""


async def test_closed_database_leaves_no_task(tmp_path: Path) -> None:
    """A task that is left waiting is reported on stderr when it is freed."""
    before = asyncio.all_tasks()
    async with graphtide.open(tmp_path):
        for _ in range(TURNS):
            await asyncio.sleep(0)
    await asyncio.sleep(0)  # a cancelled task ends in the next pass
    assert asyncio.all_tasks() == before
