"""Tokens of published positions, and waiting for them: read-your-writes consistency."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from graphtide.streams.changes.changed_document import token_version
from graphtide.streams.errors import BudgetExceeded, DeadlineExceeded, Invalid
from graphtide.streams.ports import GraphDeletion, GraphStore, Ledger, Position

if TYPE_CHECKING:
    from graphtide.streams.follow.view_registry import ViewRegistry

_PAIR = r"[0-9]{1,9}:[0-9]{1,18}"
_TOKEN = re.compile(f"{_PAIR}(,{_PAIR}){{0,9999}}")
TOKEN_FORM = f"{_PAIR}(,{_PAIR})*"
"""The form of a token of publishing, for descriptions."""


ERASURE_LOOK_S = 0.05
"""Poll interval of a wait for the end of an erasure, which no event announces."""


def token(positions: Sequence[Position]) -> str:
    """Return the token for a publisher: the last position in each partition, as `partition:offset,…`."""
    last: dict[int, int] = {}
    for position in positions:
        last[position.partition] = max(position.offset, last.get(position.partition, -1))
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(last.items()))


def positions(token: str) -> tuple[Position, ...]:
    """Return the positions in a token. Raises Invalid for a malformed token."""
    if _TOKEN.fullmatch(token) is None:
        raise Invalid("after", f"{token[:80]!r} is not a token; pass the one that publishing returned")
    pairs = (part.split(":") for part in token.split(","))
    return tuple(Position(int(partition), int(offset)) for partition, offset in pairs)


Refusal = Callable[[str, Sequence[Position]], BudgetExceeded | None]
"""Returns the budget's refusal for which a revision of the graph up to the positions waits, None without one."""


RECORD_READ_S = 5.0
"""The longest wait for an extractor to read the record of an unknown token."""


def no_refusal(graph: str, until: Sequence[Position]) -> None:
    """Report no refusal, for a process that does not extract the documents."""


class TokenWaiter:
    """Waits, for any number of readers, until a graph includes a token."""

    def __init__(
        self, ledger: Ledger, store: GraphStore, views: ViewRegistry, look_every_s: float | None = None
    ) -> None:
        """Create a waiter. `look_every_s` makes it poll, where revisions end in processes that do not call `moved`."""
        self._look_every_s = look_every_s
        self._ledger = ledger
        self._store = store
        self._views = views
        self._moved = asyncio.Event()

    def moved(self) -> None:
        """Wake the waiters: a revision reached its final state, or a view a new version."""
        self._moved.set()
        self._moved = asyncio.Event()

    async def reach(self, graph: str, after: str, timeout_s: float, refusal: Refusal = no_refusal) -> None:
        """Return once every revision of the graph up to the token has its final state, and the view shows it.

        A final state and the version that includes it are one commit, so the stored version at the time when no
        revision is pending is enough.

        Raises Invalid for a token that was never issued for this graph (see `read`), DeadlineExceeded after
        `timeout_s`, and BudgetExceeded at once when a revision up to the token waits for a budget that is not renewed
        before that.
        """
        if not await self.reached(graph, after, timeout_s, refusal):
            raise DeadlineExceeded(f"the graph did not include token {after[:80]} within {timeout_s:g} s")

    async def reached(self, graph: str, after: str, timeout_s: float, refusal: Refusal = no_refusal) -> bool:
        """Return True as soon as the graph includes the token as `reach` defines it, False after `timeout_s`.

        With 0 s it looks once. Otherwise raises as `reach`. Cost: one read of the ledger, another one after each move
        until the revisions have ended, and one read of the stored version.
        """
        moved = self._moved
        version = token_version(after)
        wanted, ended = await self._issued(graph, after, timeout_s) if version is None else ((), True)
        until = asyncio.get_running_loop().time() + timeout_s
        try:
            async with asyncio.timeout_at(until if timeout_s else None):
                version = await (self._shown_from(graph, ended) if version is None else self._stored(graph, version))
                while version is None and timeout_s:
                    _check(refusal(graph, wanted), until)
                    await self._wait(moved)
                    moved = self._moved
                    version = await self._shown_from(graph, await self._ledger.have_ended(graph, wanted) is not False)
                while version is not None and timeout_s and self._views.version(graph) < version:
                    await self._wait(self._moved)
        except TimeoutError:
            return False
        return version is not None and self._views.version(graph) >= version

    async def _shown_from(self, graph: str, ended: bool) -> int | None:
        """Return the version of the graph that includes every revision that has ended; None while one is pending."""
        return await self._store.version(graph) if ended else None

    async def _stored(self, graph: str, version: int) -> int:
        """Return the version. Raises Invalid for one that is neither shown nor stored."""
        if self._views.version(graph) < version > (stored := await self._store.version(graph)):
            raise Invalid("after", f"graph {graph!r} has no version {version}; its newest is {stored}")
        return version

    async def revisions(
        self, graph: str, token: str, timeout_s: float, refusal: Refusal = no_refusal
    ) -> Mapping[int, int]:
        """Return the numbers of the revisions at a publisher's token, by partition, once the graph includes it.

        Raises as `reach`.
        """
        await self.reach(graph, token, timeout_s, refusal)
        numbers = await self._ledger.numbers(graph, positions(token))
        return {position.partition: number for position, number in numbers.items()}

    async def deleted(self, wanted: GraphDeletion, timeout_s: float) -> bool:
        """Return True once the graph's deletion is done and its view is closed, False after `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                while not await self._is_deleted(wanted):
                    await self._wait(self._moved, ERASURE_LOOK_S)
        except TimeoutError:
            return False
        return True

    async def _is_deleted(self, wanted: GraphDeletion) -> bool:
        known = (await self._store.deletions([wanted.graph])).get(wanted.graph)
        if known is None or not known.erased or not known.includes(wanted):
            return False
        return not 0 < self._views.version(wanted.graph) <= known.version

    async def read(self, graph: str, after: str, timeout_s: float) -> bool:
        """Return whether the ledger knows the token, after the wait of `_ended`. Raises Invalid for a malformed one."""
        return token_version(after) is not None or await self._ended(graph, positions(after), timeout_s) is not None

    async def _ended(self, graph: str, wanted: Sequence[Position], timeout_s: float) -> bool | None:
        """Return whether every revision up to there has ended; None for positions that the ledger does not know.

        The ledger knows a token before its publisher does (`Ledger.accept`), so there is nothing to wait for, except in
        a cluster, where other programs write to Kafka: such a record is waited for until an extractor has read it, at
        most `RECORD_READ_S`. The log's end is not asked: an answer must not depend on what other graphs accepted.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + min(timeout_s, RECORD_READ_S)
        while (ended := await self._ledger.have_ended(graph, wanted)) is None:
            if self._look_every_s is None or loop.time() >= until:
                return None
            await asyncio.sleep(self._look_every_s)
        return ended

    async def _issued(self, graph: str, after: str, timeout_s: float) -> tuple[tuple[Position, ...], bool]:
        """Return the positions in the token, and whether the revisions up to there have ended.

        Raises Invalid for a token that was never issued for this graph.
        """
        wanted = positions(after)
        ended = await self._ended(graph, wanted, timeout_s)
        if ended is None:
            known = f"{after[:80]!r} is not a token of graph {graph!r}"
            raise Invalid("after", f"{known}; pass the token that publishing to this graph returned")
        return wanted, ended

    async def _wait(self, moved: asyncio.Event, look_every_s: float | None = None) -> None:
        try:
            async with asyncio.timeout(look_every_s or self._look_every_s):
                await moved.wait()
        except TimeoutError:
            return


def _check(refusal: BudgetExceeded | None, until: float) -> None:
    """Raise the refusal when it lasts beyond `until`, in the event loop's time."""
    left_s = until - asyncio.get_running_loop().time()
    if refusal is not None and (refusal.retry_after_s or 0.0) > left_s:
        raise refusal
