"""The attacks of `tests/support/hostile_clients.py` as cases: each repeated by several clients with one credential."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import grpc.aio
import httpx

from graphtide.services.cli import key_editor as keys
from tests.support.hostile_clients import ATTACKS, GRAPH, Attack, Target
from tests.support.processes import Service

CLIENTS = 3
SEED = 7
Case = Callable[[Service], Awaitable[None]]


def make_key(file: Path) -> str:
    """Create the credential of the hostile clients in a key file."""
    return str(keys.create(file, keys.Wanted("hostile", (GRAPH,), ("read", "write")))["key"])


def cases(key: str) -> dict[str, Case]:
    """Return the cases by the name of the attack."""
    return {attack.__name__: _repeated(attack, key) for attack in ATTACKS}


def _repeated(attack: Attack, key: str) -> Case:
    async def case(running: Service) -> None:
        target = Target(running.url, running.grpc, key)
        async with asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                group.create_task(_repeat(attack, target, random.Random(SEED + number)))

    return case


async def _repeat(attack: Attack, target: Target, rng: random.Random) -> None:
    while True:
        with suppress(httpx.HTTPError, OSError, grpc.aio.AioRpcError):
            await attack(target, rng)
        await asyncio.sleep(0)
