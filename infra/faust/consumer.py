"""The Consumer port on a Faust stream, so that the extract stage runs on Faust as on any log.

The agent fills a bounded inbox, and `poll` empties it: while the stage has no capacity, Faust takes nothing from the
partitions. Invariant: `_next[p]` is one past the last record of p that was delivered. After a rebalance Faust returns
to the committed offset; records in flight of a kept partition are not delivered a second time.

A rebalance that never ends cannot be resolved from outside Faust: `poll` then raises, and the worker is started again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

import faust
from faust.types import TP, EventT

from graphtide.infra.faust.app import register_agent, start, stop
from graphtide.infra.kafka.errors import DRIVER_ERRORS, failure
from graphtide.streams.errors import Broken, Retryable
from graphtide.streams.ports import ConsumedRecord, Position, Record

INBOX = 16
POLL_INTERVAL_S = 0.5
"""Interval at which a waiting poll checks whether Faust has given up."""
COMMIT_S = 10.0


class FaustConsumer:
    """See Consumer. Made in the event loop that uses it; `open` starts the application, `close` stops it."""

    def __init__(self, app: faust.App, topic: str) -> None:
        self._app = app
        self._topic = topic
        self._inbox: deque[EventT[Any]] = deque()
        self._arrived, self._room = asyncio.Event(), asyncio.Event()
        self._assigned: frozenset[int] = frozenset()
        self._shown: frozenset[int] = frozenset()
        self._rebalancing = True
        self._unsettled_since: float | None = None
        self._is_open = False
        self._next: dict[int, int] = {}
        self._to_commit: dict[int, int] = {}
        register_agent(app, topic, self._hand_over)
        signals: Any = app  # their type annotations do not match their calls
        signals.on_partitions_revoked.connect(self._on_revoked, weak=False)
        signals.on_partitions_assigned.connect(self._on_assigned, weak=False)

    async def open(self) -> None:
        """Join the group. Raises Retryable while the cluster is unreachable. The caller calls `close` in any case."""
        self._is_open = True
        try:
            await start(self._app)
        except DRIVER_ERRORS as error:
            raise failure(error, "starting the extraction worker") from error

    def assigned(self) -> frozenset[int]:
        """See Consumer.assigned."""
        return self._shown

    async def poll(
        self, limit: int, timeout_s: float, among: Collection[int] | None = None
    ) -> Sequence[ConsumedRecord]:
        """See Consumer.poll. Raises Retryable when Faust has given up: the worker must then be started again.

        A Faust worker has one stream: reading `among` some partitions only is Broken.
        """
        if among is not None:
            raise Broken("a Faust worker reads all of its partitions")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:
            if self._app.crashed:
                raise Retryable(f"the Faust worker gave up: {self._app._crash_reason!r:.300}")
            self._raise_when_stuck(loop.time())
            if self._shown != self._assigned:
                self._shown = self._assigned
                return ()
            if self._to_commit:
                await self._flush()
            taken = [] if self._rebalancing else self._take(limit)
            left_s = deadline - loop.time()
            if taken or left_s <= 0:
                return taken
            await self._something(min(left_s, POLL_INTERVAL_S))

    def _raise_when_stuck(self, now: float) -> None:
        if not (self._rebalancing or self._app.rebalancing):
            self._unsettled_since = None
            return
        self._unsettled_since = now if self._unsettled_since is None else self._unsettled_since
        # The group expels a member that does not answer within this time; other members may be expelled first.
        longest_s = 2 * float(self._app.conf.broker_rebalance_timeout)
        if now - self._unsettled_since > longest_s:
            raise Retryable(f"the group of the Faust worker did not settle in {longest_s:g} s")

    async def commit(self, position: Position) -> None:
        """See Consumer.commit. A commit that a rebalance prevents is done afterwards."""
        if position.partition not in self._assigned:
            return
        self._to_commit[position.partition] = position.offset + 1
        await self._flush()

    async def _flush(self) -> None:
        if self._rebalancing or self._app.crashed:
            return
        wanted = dict(self._to_commit)
        offsets = {TP(self._topic, number): offset for number, offset in wanted.items()}
        consumer: Any = self._app.consumer
        try:
            # Faust offers no other way to commit offsets that it does not count.
            async with asyncio.timeout(COMMIT_S):
                done = await consumer._commit_offsets(offsets)
        except TimeoutError:
            return
        if done:
            for number, offset in wanted.items():
                if self._to_commit.get(number) == offset:
                    del self._to_commit[number]

    async def seek(self, position: Position) -> None:
        """Refuse: the extract stage continues at its group's offsets and never seeks."""
        raise Broken(f"a Faust worker cannot seek to {position}: it continues at its group's offsets")

    async def close(self) -> None:
        """Leave the group; a second call does nothing. Uncommitted records are delivered to the next member."""
        self._assigned = frozenset()
        self._room.set()
        if self._is_open:
            self._is_open = False
            await stop(self._app)

    async def _hand_over(self, event: EventT[Any]) -> None:
        # During a rebalance nothing is polled, and Faust must not wait; Faust's queue bounds what arrives then.
        while len(self._inbox) >= INBOX and not self._rebalancing:
            self._room.clear()
            await self._room.wait()
        self._inbox.append(event)
        self._arrived.set()

    def _take(self, limit: int) -> list[ConsumedRecord]:
        taken: list[ConsumedRecord] = []
        while self._inbox and len(taken) < limit:
            message = self._inbox.popleft().message
            number, offset = message.partition, message.offset
            is_stale = message.generation_id != self._app.consumer_generation_id or number not in self._assigned
            if is_stale or offset < self._next.get(number, 0):
                continue
            self._next[number] = offset + 1
            taken.append(_delivered(message))
        self._room.set()
        return taken

    async def _something(self, timeout_s: float) -> None:
        """Wait for an event, at most `timeout_s`."""
        if self._rebalancing or not self._inbox:
            self._arrived.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._arrived.wait()

    async def _on_revoked(self, app: Any, *revoked: Any, signal: Any, **_: Any) -> None:
        self._rebalancing = True
        self._inbox.clear()  # all of it is delivered again
        self._room.set()

    async def _on_assigned(self, app: Any, *given: Any, signal: Any, **_: Any) -> None:
        assigned: set[TP] = given[0]
        now = frozenset(tp.partition for tp in assigned if tp.topic == self._topic)
        kept, self._assigned = now & self._assigned, now
        self._next = {number: offset for number, offset in self._next.items() if number in kept}
        self._to_commit = {number: offset for number, offset in self._to_commit.items() if number in kept}
        self._rebalancing = False
        self._arrived.set()


def _delivered(message: Any) -> ConsumedRecord:
    key = (message.key or b"").decode(errors="backslashreplace")
    headers = message.headers.items() if isinstance(message.headers, dict) else message.headers or ()
    pairs = tuple((name, value) for name, value in headers)
    timestamp_ms = round(message.timestamp * 1000)
    return ConsumedRecord(Position(message.partition, message.offset), timestamp_ms, Record(key, message.value, pairs))
