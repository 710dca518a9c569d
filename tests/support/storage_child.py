"""A process that writes to a data folder until it is killed, and prints each acknowledged write on standard output.

Run as `python -m tests.support.storage_child FOLDER SEED [MOMENT COUNT]`. With a moment it kills itself: when the
writer is about to run its COUNT-th statement that begins with that text, or, for the moment `settle`, when its COUNT-th
transaction is durable but not yet acknowledged.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from pathlib import Path
from random import Random

import graphtide.infra.sqlite.database
from graphtide.infra.sqlite import SqliteBackend
from graphtide.streams.messages import DOCUMENTS
from graphtide.streams.ports import Commit, Record, RevisionOutcome, RevisionState, Watermark
from tests.support.records import Walk

NOISE = "noise"
ENOUGH = 2_000
"""The number of commits after which the test no longer kills this process."""


def commit_of(walk: Walk, watermark: Watermark) -> Commit:
    """Return the next commit of the walk: version v consumes offset v - 1 and ends revision v - 1."""
    at = walk.version
    outcome = RevisionOutcome("g", f"doc {at}", at, RevisionState.APPLIED)
    return Commit(0, watermark, at + 1, (walk.commit(at),), (outcome,), (Record("g", b"%d" % (at + 1)),))


def say(what: str, number: int) -> None:
    sys.stdout.write(f"{what} {number}\n")  # in one piece, so that a kill cannot cut it
    sys.stdout.flush()


async def noise(backend: SqliteBackend) -> None:
    """Append two records at a time, so that the writer has something to group."""
    while True:
        positions = await backend.log.append(NOISE, [Record("n", b"first"), Record("n", b"second")])
        say("noise", positions[-1].offset)


async def work(folder: Path, seed: int, moment: str, count: int) -> None:
    backend = await SqliteBackend.open(folder)
    walk = Walk(Random(seed))
    for _ in range((await backend.store.graphs()).get("g", 0)):
        walk.commit(walk.version)
    watermark = await backend.store.claim(0)
    if moment:
        await arm(backend, moment, count)
    tasks = [asyncio.create_task(noise(backend)) for _ in range(3)]
    while not tasks[0].done() and walk.version < ENOUGH:
        at = walk.version
        if (await backend.log.end(DOCUMENTS))[0] <= at:
            [position] = await backend.ledger.accept([Record(f"g|doc {at}", b"text")])
            say("accepted", position.offset)
        await backend.store.commit(commit_of(walk, watermark))
        say("committed", walk.version)
        watermark = Watermark(watermark.epoch, walk.version)


async def arm(backend: SqliteBackend, moment: str, count: int) -> None:
    left = count

    def die(*_: object) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if moment == "settle":
        graphtide.infra.sqlite.database._settle = _dying(die)  # type: ignore[assignment]
        return

    def trace(connection: sqlite3.Connection) -> None:
        connection.set_trace_callback(lambda statement: die() if statement.startswith(moment) else None)

    await backend.database.write(trace)


def _dying(die: object) -> object:
    settle = graphtide.infra.sqlite.database._settle

    def settled(writes: object) -> None:
        die()  # type: ignore[operator]
        settle(writes)  # type: ignore[arg-type]

    return settled


if __name__ == "__main__":
    moment, count = (sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 3 else ("", 0)
    asyncio.run(work(Path(sys.argv[1]), int(sys.argv[2]), moment, count))
