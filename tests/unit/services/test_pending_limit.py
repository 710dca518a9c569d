"""The limit of pending revisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from graphtide.services.access.limits.pending import PendingRevisions
from graphtide.services.sources import bounded_accept
from graphtide.streams.errors import Overloaded, Retryable
from graphtide.streams.ports import Ledger, Record


class _Counted:
    """A ledger that counts how often it is asked."""

    def __init__(self, pending: int) -> None:
        self.revisions = pending
        self.asked = 0

    async def pending(self, graph: str) -> int:
        self.asked += 1
        return self.revisions


async def test_limit_refuses_at_once_and_admits_again_when_revisions_end() -> None:
    """Accepted revisions count although the ledger is not asked; it is asked again before a refusal."""
    ledger = _Counted(2)
    limit = PendingRevisions(cast(Ledger, ledger), 5)
    for _ in range(3):
        await limit.admit("g")
    assert ledger.asked == 1
    ledger.revisions = 5
    with pytest.raises(Overloaded, match="5 revisions of graph 'g' are waiting"):
        await limit.admit("g")
    with pytest.raises(Overloaded):
        await limit.admit("g")
    ledger.revisions = 1
    await limit.admit("g", 2)
    await limit.admit("other")


async def test_source_waits_at_the_limit_and_continues_below_it() -> None:
    """A topic of another system is no way around the limit: its records wait, and none is rejected."""
    ledger, accepted = _Counted(5), list[Record]()

    async def keep(records: Sequence[Record]) -> None:
        accepted.extend(records)

    accept = bounded_accept(keep, PendingRevisions(cast(Ledger, ledger), 5))
    with pytest.raises(Retryable, match="5 revisions of graph 'g' are waiting") as caught:
        await accept([Record("g|a", b"1")])
    assert caught.value.retry_after_s
    ledger.revisions = 0
    await accept([Record("g|a", b"1"), Record("g|b", None)])
    assert [record.key for record in accepted] == ["g|a", "g|b"]
