"""Tokens, and waiting for what they stand for: how a reader comes to see its own writes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence

from graphtide.streams.errors import BudgetExceeded, DeadlineExceeded, Invalid
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DOCUMENTS
from graphtide.streams.ports import GraphStore, Ledger, Log, Position

_PAIR = r"[0-9]{1,9}:[0-9]{1,18}"
_TOKEN = re.compile(f"{_PAIR}(,{_PAIR}){{0,9999}}")


def token(positions: Sequence[Position]) -> str:
    """What a publisher gets back: the last position in each partition, as `partition:offset,…`."""
    last: dict[int, int] = {}
    for position in positions:
        last[position.partition] = max(position.offset, last.get(position.partition, -1))
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(last.items()))


def positions(token: str) -> tuple[Position, ...]:
    """The positions a token stands for. Raises Invalid for anything that `token` did not make."""
    if _TOKEN.fullmatch(token) is None:
        raise Invalid("after", f"{token[:80]!r} is not a token; pass the one that publishing returned")
    pairs = (part.split(":") for part in token.split(","))
    return tuple(Position(int(partition), int(offset)) for partition, offset in pairs)


Refusal = Callable[[str, Sequence[Position]], BudgetExceeded | None]
"""Returns the budget's refusal that holds up a revision of the graph up to the positions, None if there is none."""


def no_refusal(graph: str, until: Sequence[Position]) -> None:
    """Report no refusal, where the documents are extracted in other processes."""


class TokenWaiter:
    """Lets any number of readers wait until a graph includes a token."""

    def __init__(
        self, log: Log, ledger: Ledger, store: GraphStore, views: ViewRegistry, look_every_s: float | None = None
    ) -> None:
        """`look_every_s`: where revisions end in other processes, nobody calls `moved` for them, so waiting looks."""
        self._look_every_s = look_every_s
        self._log = log
        self._ledger = ledger
        self._store = store
        self._views = views
        self._moved = asyncio.Event()

    def moved(self) -> None:
        """Some revision came to its end, or some view to a new version: whoever waits looks again."""
        self._moved.set()
        self._moved = asyncio.Event()

    async def reach(self, graph: str, after: str, timeout_s: float, refusal: Refusal = no_refusal) -> None:
        """Return once every revision of the graph up to the token has its end, and the view shows it.

        An end and the version that has it are one commit, so what the store has, once none is pending, is enough.

        Raises Invalid for a token that was never given out, DeadlineExceeded after `timeout_s`, and Exhausted at once
        when a revision up to the token waits for a budget that leaves nothing before that.
        """
        until = asyncio.get_running_loop().time() + timeout_s
        wanted = positions(after)
        end = await self._log.end(DOCUMENTS)
        if any(position.offset >= end.get(position.partition, 0) for position in wanted):
            raise Invalid(
                "after", f"nothing was published as {after[:80]!r} yet; pass the token that publishing returned"
            )
        try:
            async with asyncio.timeout(timeout_s):
                while await self._pending(graph, wanted, lambda: _check(refusal(graph, wanted), until)):
                    pass
                stands = (await self._store.graphs()).get(graph, 0)
                while self._views.version(graph) < stands:
                    await self._wait(self._moved)
        except TimeoutError as error:
            raise DeadlineExceeded(f"the graph did not include token {after[:80]} within {timeout_s:g} s") from error

    async def _pending(self, graph: str, wanted: Sequence[Position], check: Callable[[], None]) -> bool:
        """Whether a revision up to there has no end yet; if so, returns when it is time to look again.

        `check` is called before it waits, and raises what makes waiting useless.
        """
        moved = self._moved
        for position in wanted:
            if await self._ledger.pending(graph, position):
                check()
                await self._wait(moved)
                return True
        return False

    async def _wait(self, moved: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self._look_every_s):
                await moved.wait()
        except TimeoutError:
            return


def _check(refusal: BudgetExceeded | None, until: float) -> None:
    """Raise the refusal when it lasts beyond `until`, in the event loop's time."""
    left_s = until - asyncio.get_running_loop().time()
    if refusal is not None and (refusal.retry_after_s or 0.0) > left_s:
        raise refusal
